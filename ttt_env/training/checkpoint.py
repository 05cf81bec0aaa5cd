"""A training as one file, from which it goes on as if nothing had happened.

Loading such a file runs code, as loading any pickled object does: go on only with trainings that you trust.
"""

import hashlib
import io
import pickle
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_env.errors import PolicyFileError
from ttt_env.storage.files import opened, reason, write_atomically

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

_HEAD = b"ttt_env checkpoint 2\n"  # the SHA-256 of what follows is next
_CHECKSUM = 32  # bytes


def checkpoint_of(out: str | Path) -> Path:
    """The file of the checkpoint from which the training of the model file `out` goes on."""
    return Path(f"{out}.checkpoint")


def save_checkpoint(path: str | Path, model: "BaseAlgorithm", callback: object) -> None:
    """Write all that is needed to go on with a training.

    That is the model, optimizer, replay buffer, environments in the middle of their games, the callback, and
    the state of all random generators.
    """
    import cloudpickle  # comes with Stable-Baselines3; opponents and starts may be functions

    state = {
        "algorithm": type(model),
        "model": _saved(model),
        "replay_buffer": getattr(model, "replay_buffer", None),
        "envs": model.get_env(),
        "callback": callback,
        "random": _random_state(),
    }

    _write(path, cloudpickle.dumps(state))


def write_state(path: str | Path, state: object) -> None:
    """Write an object that can be pickled, from which a training goes on."""
    _write(path, pickle.dumps(state))


def read_state(path: str | Path) -> Any:
    """The object in such a file, which runs code: load only files that you trust. Damage is found before.

    Raises `PolicyFileError` for a file that is no whole checkpoint, or one of another version.
    """
    content = _checked_content(path)
    try:
        return pickle.loads(content)
    except Exception as error:  # whatever the objects do while they are made
        raise _of_another_version(path, error) from error


def _of_another_version(path: str | Path, error: Exception) -> PolicyFileError:
    return PolicyFileError(
        f"{path} is a checkpoint of another version of this package or of what it uses: {reason(error)}"
    )


def _write(path: str | Path, content: bytes) -> None:
    def write(file: io.BufferedWriter) -> None:
        file.write(_HEAD)
        file.write(hashlib.sha256(content).digest())
        file.write(content)

    write_atomically(path, write)


def load_checkpoint(path: str | Path) -> tuple["BaseAlgorithm", Any]:
    """The model and the callback of a training, for `learn(..., reset_num_timesteps=False)`.

    Also sets the random generators of torch, NumPy and Python to where they were. The file holds
    pickled objects: loading one runs code, so load only files that you trust. Damage is found before that.

    Raises `PolicyFileError` for a file that is no whole checkpoint, or one of another version.
    """
    content = _checked_content(path)
    try:
        state = pickle.loads(content)
        model = state["algorithm"].load(
            io.BytesIO(state["model"]), env=state["envs"], device="cpu", force_reset=False
        )
        if state["replay_buffer"] is not None:
            model.replay_buffer = state["replay_buffer"]
        _set_random_state(state["random"])
        callback = state["callback"]
    except Exception as error:  # whatever the objects do while they are made
        raise _of_another_version(path, error) from error
    return model, callback


def _checked_content(path: str | Path) -> bytes:
    """The pickled state, once it is checked to be as it was written."""
    try:
        with opened(path) as file:
            head, checksum, content = file.read(len(_HEAD)), file.read(_CHECKSUM), file.read()
    except OSError as error:
        raise PolicyFileError(f"there is no checkpoint {path} to go on from: {reason(error)}") from error
    if head != _HEAD:
        raise PolicyFileError(f"{path} is no checkpoint of a training of this version")
    if hashlib.sha256(content).digest() != checksum:
        raise PolicyFileError(f"{path} is no whole checkpoint: it is damaged")
    return content


def _saved(model: "BaseAlgorithm") -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def _random_state() -> tuple[Any, ...]:
    import torch

    return torch.get_rng_state(), np.random.get_state(), random.getstate()


def _set_random_state(state: tuple[Any, ...]) -> None:
    import torch

    torch.set_rng_state(state[0])
    np.random.set_state(state[1])
    random.setstate(state[2])
