"""Damaged and hostile files: each is read correctly, or refused by an error that names it.

Each reader gets many mutations of a good file, drawn from a seeded generator, so that every run has the same
ones; the slow variants draw more.
"""

import hashlib
import io
import json
import os
import pickle
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.layers import reachable
from ttt_env.errors import (
    FileError,
    NotationError,
    ParameterError,
    PolicyError,
    TttEnvError,
)
from ttt_env.storage.game_log import GameLog, read_records
from ttt_env.training.recipe import read_recipe

BOARDS = ttt_env.Boards.joined(
    TICTACTOE, [layer.boards(layer.open_slots[::7]) for layer in reachable(TICTACTOE)]
)
SHORT, LONG = 30, 10_000  # mutations
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)


# Mutations: each takes the bytes of a file and a random generator.


def flip_bits(content, rng):
    """Flip a few bits."""
    changed = bytearray(content)
    for at in rng.integers(len(content) * 8, size=rng.integers(1, 9)):
        changed[at // 8] ^= 1 << (at % 8)
    return bytes(changed)


def overwrite(content, rng):
    """Overwrite a few bytes with values that often break parsers."""
    begin, length = int(rng.integers(len(content))), int(rng.integers(1, 9))
    new = bytes(int(rng.choice(INTERESTING)) for _ in range(length))
    return content[:begin] + new + content[begin + length :]


def truncate(content, rng):
    return content[: int(rng.integers(len(content)))]


def splice(content, rng):
    """Move a part of the content."""
    begin, end, to = sorted(map(int, rng.integers(len(content) + 1, size=3)))
    return content[:begin] + content[end:to] + content[begin:end] + content[to:]


RAW = [flip_bits, overwrite, truncate, splice]


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zip_parts(parts, compression=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", compression) as file:
        warnings.simplefilter("ignore")  # A name may occur twice.
        for name, part in parts:
            file.writestr(name, part)
    return made.getvalue()


def mutate_member(content, rng):
    """Mutate a part of an archive and give it a matching checksum."""
    parts = members(content)
    name = str(rng.choice(list(parts)))
    parts[name] = RAW[rng.integers(len(RAW))](parts[name], rng)
    return zip_parts(parts.items())


def mutate_member_head(content, rng):
    """Mutate the first bytes of a part, which hold the header of an array."""
    parts = members(content)
    name = str(rng.choice(list(parts)))
    parts[name] = flip_bits(parts[name][:128], rng) + parts[name][128:]
    return zip_parts(parts.items())


def swap_members(content, rng):
    """Swap the names of two parts, remove one or duplicate one."""
    parts = list(members(content).items())
    one, other = (int(at) for at in rng.integers(len(parts), size=2))
    (name, part), (other_name, other_part) = parts[one], parts[other]
    kind = int(rng.integers(3))
    if kind == 0:
        parts[one], parts[other] = (name, other_part), (other_name, part)
    elif kind == 1:
        del parts[one]
    else:
        parts.append((name, other_part))
    return zip_parts(parts)


def change_directory(content, rng):
    """Let the directory claim encryption, another compression or another size."""
    changed = bytearray(content)
    field, form = [(8, "<H"), (10, "<H"), (20, "<I"), (24, "<I"), (42, "<I")][rng.integers(5)]
    value = int(rng.choice([1, 8, 9, 12, 14, 95, 0x0841, 0xFFFF]))
    at = -1
    while (at := content.find(b"PK\1\2", at + 1)) >= 0:
        if rng.random() < 0.5:
            struct.pack_into(form, changed, at + field, value)
    return bytes(changed)


def replace_header(content, rng):
    """Let an array claim another type or size."""
    parts = members(content)
    name = str(rng.choice([name for name in parts if name.endswith(".npy")]))
    kinds = ["<u8", "<f4", "<f8", "|b1", "|O", "<U5", "<U1", "|V8", "<M8", "|S9", "<c16", "<u3", "a5", ">u8"]
    shapes = [
        "()",
        "(9,)",
        "(9, 9)",
        "(1000000000000,)",
        "(-1,)",
        f"({10**30},)",
        "(0,)",
        "(2, 0)",
        "(9, 1e9)",
    ]
    text = f"{{'descr': '{rng.choice(kinds)}', 'fortran_order': {rng.choice(['True', 'False', '0'])}, "
    text += f"'shape': {rng.choice(shapes)}, }}\n"
    old = int.from_bytes(parts[name][8:10], "little") + 10
    parts[name] = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + parts[name][old:]
    return zip_parts(parts.items())


ARCHIVE = [*RAW, mutate_member, mutate_member_head, swap_members, change_directory]
ARRAYS = [*ARCHIVE, replace_header, mutate_member]


def mutations(content, kinds, number):
    rng = np.random.default_rng(0)
    for _ in range(number):
        yield kinds[rng.integers(len(kinds))](content, rng)


def attack(path, content, kinds, number, read, errors):
    """Check that each mutation is read or refused by one of `errors` that names the file."""
    n_refused = 0
    for index, mutation in enumerate(mutations(content, kinds, number)):
        path.write_bytes(mutation)
        try:
            read(path)
        except errors as error:
            assert path.name in str(error), f"mutation {index} is not named: {error}"
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"mutation {index} ends in {error!r}") from error
    assert n_refused > number // 4


numbers = pytest.mark.parametrize("number", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])


# Kinds of files and their readers.


class FileKind(NamedTuple):
    """A kind of file: its writer, its reader and the errors that refuse invalid files."""

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    errors: type[Exception] | tuple[type[Exception], ...]
    kinds: list[Callable[..., bytes]]
    share: int = 1  # One of `share` mutations is tried.
    accepts: frozenset[str] = frozenset()  # Kinds of strange files that are accepted.


def read_agent(name):
    """A reader that loads the agent of a file and evaluates its policies."""

    def read(path):
        agent = ttt_env.make_agent(f"{name}:{path}")
        try:
            policies = agent.policies(BOARDS)
        except PolicyError as error:
            assert "has no entry for" in str(error)  # Positions are missing in this table.
            return
        assert np.allclose(policies.sum(axis=1), 1) and not policies[~BOARDS.legal].any()

    return read


def save_agent(name):
    return lambda path: ttt_env.make_agent(name).save(path)


def save_proof(path):
    ttt_env.prove(TICTACTOE).save(path)


def save_certificate(path):
    ttt_env.certify("block", TICTACTOE).save(path)


def write_records(path):
    path.write_text("\n".join(RECORDS) + "\n\n")


def save_model(path):
    contrib = pytest.importorskip("sb3_contrib")
    env = ttt_env.make("tictactoe-v0", opponent="random")
    options = {"n_steps": 16, "batch_size": 16, "policy_kwargs": {"net_arch": [4]}}
    contrib.MaskablePPO("MlpPolicy", env, device="cpu", seed=0, **options).save(path)


def read_model(path):
    pytest.importorskip("stable_baselines3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Stable-Baselines3 warns about objects that it cannot load.
        read_agent("sb3")(path)


def mutate_model(content, rng):
    """Mutate the JSON in the file of a model or its pickled objects."""
    parts = members(content)
    data = json.loads(parts["data"])
    pickled = ("policy_class", "observation_space", "action_space")
    key = str(rng.choice([key for key in data if key in pickled]))
    kind = int(rng.integers(4))
    if kind == 0:
        del data[key]
    elif kind == 1:
        data[key] = rng.choice([None, 3, "text"])
    else:
        data[key][":serialized:"] = truncate(data[key][":serialized:"].encode(), rng).decode()
    return zip_parts({**parts, "data": json.dumps(data, default=int).encode()}.items(), zipfile.ZIP_STORED)


RECORDS = [
    "tictactoe-v0: 4 0 8 2 6",
    "tictactoe-v0:",
    "mnk-v0:m=4,n=3,k=3: 5 0 1",
    "square-v0:misere=true: 0 15",
]


def write_log(path):
    with GameLog(path) as log:
        for text in RECORDS:
            log.add(ttt_env.GameRecord.parse(text), x="person", o="minimax", source="here")


def read_log(path):
    for suffix in ("-wal", "-shm", "-journal"):  # Files of the previous mutation.
        if isinstance(path, Path):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    with GameLog(path) as log:
        assert len(log) >= 0
        assert len(log.counts()) >= 0
        for record in RECORDS:
            log.games(record.rpartition(":")[0])
        log.export_text(path.with_suffix(".txt"))
        log.add(ttt_env.GameRecord.parse(RECORDS[0]))


RECIPE = """
algorithm = "stable_baselines3:PPO"
seconds = 60.0
random_starts = 0.3
blunder_starts = 0.5
[pool]
scripted = ["random", "minimax"]
[envs]
n_envs = 64
[hyperparameters]
policy = "MlpPolicy"
n_steps = 32
"""
LOG_ERRORS = FileError, NotationError
MISSING, EMPTY = frozenset({"missing", "empty"}), frozenset({"empty"})
# Only the last kinds of mutations reach the pickled objects; the others are found earlier.
MODEL_MUTATIONS = [*RAW, swap_members, change_directory, mutate_model, mutate_model]
FILE_KINDS = {
    **{
        name: FileKind(f"{name}.npz", save_agent(name), read_agent(name), FileError, ARRAYS)
        for name in ("lookup", "ppo", "q-learning", "value-network")
    },
    "strategy": FileKind("strategy.npz", save_proof, read_agent("strategy"), FileError, ARRAYS),
    "proof": FileKind("proof.npz", save_proof, ttt_env.Proof.load, FileError, ARRAYS),
    "game log": FileKind("log.sqlite", write_log, read_log, LOG_ERRORS, RAW, 2, MISSING),
    "records": FileKind("records.txt", write_records, read_records, LOG_ERRORS, RAW, accepts=EMPTY),
    "recipe": FileKind("recipe.toml", lambda path: path.write_text(RECIPE), read_recipe, ParameterError, RAW),
    "certificate": FileKind("c.json", save_certificate, ttt_env.Certificate.load, FileError, RAW),
    "model": FileKind("model.zip", save_model, read_model, FileError, MODEL_MUTATIONS, 4),
}


def good_content(name, folder):
    """The bytes of a good file of a kind."""
    path = folder / f"good {FILE_KINDS[name].file}"
    FILE_KINDS[name].write(path)
    return path.read_bytes()


@numbers
@pytest.mark.parametrize("name", FILE_KINDS)
def test_mutations_are_read_or_refused(name, number, tmp_path):
    file_kind = FILE_KINDS[name]
    path = tmp_path / f"mutated {file_kind.file}"
    attack(
        path,
        good_content(name, tmp_path),
        file_kind.kinds,
        number // file_kind.share,
        file_kind.read,
        file_kind.errors,
    )


STRANGE = ["folder", "missing", "empty", "pipe", "null byte", "text", "array", "pickle"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name, file_kind in FILE_KINDS.items()
        for kind in STRANGE
        if kind not in file_kind.accepts
    ],
)
def test_other_kinds_of_files_are_refused(name, kind, tmp_path):
    path = make_strange_path(kind, tmp_path)
    with pytest.raises(FILE_KINDS[name].errors, match="strange"):
        FILE_KINDS[name].read(path)


def make_strange_path(kind, folder):
    """Create a path without a good file."""
    path = folder / "strange"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes here")
        os.mkfifo(path)
    elif kind == "null byte":
        return f"{path}\0"
    elif kind == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif kind != "missing":
        path.write_bytes({"empty": b"", "text": b"policy\n", "pickle": pickle.dumps(3)}[kind])
    return path


# Files with false claims.


def npy(descr, shape, numbers=b""):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + numbers


@pytest.mark.parametrize(
    ("name", "array", "content"),
    [
        ("lookup", "codes", ("<u8", (10**15,))),
        ("lookup", "policies", ("<f4", (10**15, 9))),
        ("q-learning", "values", ("<f8", (10**9,))),
        ("value-network", "layer_1", ("<f8", (10**6, 10**6))),
    ],
)
def test_false_size_of_array_is_refused(name, array, content, tmp_path):
    parts = members(good_content(name, tmp_path))
    (tmp_path / "huge.npz").write_bytes(zip_parts({**parts, f"{array}.npy": npy(*content)}.items()))
    with pytest.raises(FileError, match=r"huge\.npz"):
        FILE_KINDS[name].read(tmp_path / "huge.npz")


def test_total_size_of_arrays_is_limited(tmp_path, monkeypatch):
    FILE_KINDS["lookup"].write(tmp_path / "good.npz")
    monkeypatch.setattr("ttt_env.storage.archive.MOST_BYTES", 1000)
    with pytest.raises(FileError, match=r"good\.npz .*of at most 1,000"):
        ttt_env.make_agent(f"lookup:{tmp_path}/good.npz")


@pytest.mark.parametrize("name", ["to the terminal", "long", "none", "beyond Unicode"])
def test_unprintable_game_name_is_refused(name, tmp_path):
    """The name is read only if the file is of another game."""
    parts = members(good_content("lookup", tmp_path))
    parts["game.npy"] = {
        "to the terminal": npy("<U4", (), "\x1b[2J".encode("utf-32-le")),
        "long": npy("<U2000000000", ()),
        "none": npy("<i8", (), bytes(8)),
        "beyond Unicode": npy("<U1", (), b"\xff" * 4),
    }[name]
    parts["misere.npy"] = npy("|b1", (), b"\1")
    (tmp_path / "evil.npz").write_bytes(zip_parts(parts.items()))
    with pytest.raises(FileError, match=r"evil\.npz is not a policy table") as caught:
        ttt_env.make_agent(f"lookup:{tmp_path}/evil.npz")
    assert str(caught.value).isprintable()


def test_too_large_game_is_refused_for_any_file(tmp_path):
    path = tmp_path / "table.npz"
    Lookup(TICTACTOE).save(path)
    for name in ("lookup", "q-learning", "value-network"):
        with pytest.raises(TttEnvError):
            ttt_env.make_agent(f"{name}:{path}", "qubic-v0")


def test_record_with_long_number_is_refused(tmp_path):
    (tmp_path / "long.txt").write_bytes(b"tictactoe-v0: " + b"9" * 10_000)
    with pytest.raises(NotationError, match=r"long\.txt, line 1"):
        read_records(tmp_path / "long.txt")


INVALID_RECIPES = {
    "empty": b"",
    "no text": b"\xff",
    "deep": b"x = " + b"[" * 5000,
    "a long number": b"x = " + b"9" * 5000,
    "no seconds": RECIPE.replace("60.0", "nan").encode(),
    "no share": RECIPE.replace("0.3", "1.5").encode(),
    "no table": RECIPE.replace("[pool]\nscripted", "pool").encode(),
    "more than is known": RECIPE.encode() + b"x = 1\n[more]\n",
    **{
        f"of {name}": RECIPE.replace("stable_baselines3:PPO", name).encode()
        for name in ("os", ":", ".os:system")
    },
}


@pytest.mark.parametrize("content", INVALID_RECIPES.values(), ids=INVALID_RECIPES)
def test_invalid_recipes_are_refused(content, tmp_path):
    (tmp_path / "hostile.toml").write_bytes(content)
    with pytest.raises(ParameterError, match=r"hostile\.toml"):
        read_recipe(tmp_path / "hostile.toml")


def test_recipe_of_missing_class_is_refused(tmp_path):
    (tmp_path / "other.toml").write_text(RECIPE.replace("stable_baselines3:PPO", "math:PPO"))
    with pytest.raises(ParameterError, match="other is of math:PPO"):
        read_recipe(tmp_path / "other.toml").algorithm_class()


@numbers
@pytest.mark.slow
def test_mutated_checkpoints_are_refused(number, tmp_path):
    pytest.importorskip("sb3_contrib")
    from ttt_env.training.loop import read_checkpoint

    ttt_env.train(algo="a2c", steps=10, out=tmp_path / "model.zip", until="budget")
    content = next(tmp_path.glob("*.checkpoint")).read_bytes()
    path = tmp_path / "mutated.checkpoint"
    attack(path, content, RAW, number // 4, read_checkpoint, FileError)
    head, state = content[:21], content[53:]
    for kept in np.random.default_rng(0).integers(len(state), size=20):  # The checksum matches the part.
        path.write_bytes(head + hashlib.sha256(state[:kept]).digest() + state[:kept])
        with pytest.raises(FileError, match=r"mutated\.checkpoint"):
            read_checkpoint(path)
