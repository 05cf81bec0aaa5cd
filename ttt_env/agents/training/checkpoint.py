"""A training as one file, from which it goes on as if nothing had happened."""

import io
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_env.errors import PolicyFileError

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

_HEAD = b"ttt_env checkpoint 1\n"


def write_atomically(path: str | Path, write: Callable[[io.BufferedWriter], object]) -> None:
    """Let `write` fill a file that takes this path only when it is complete and on the disk.

    Whenever the process is killed, the path holds what it held before, or all of the new file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def checkpoint_of(out: str | Path) -> Path:
    """Where the training of the model `out` keeps what it goes on from."""
    return Path(f"{out}.checkpoint")


def save_checkpoint(path: str | Path, model: "BaseAlgorithm", callback: object) -> None:
    """Write all that a training goes on from.

    Model, optimizer, replay buffer, environments in the middle of their games, the callback, and the state of
    all random generators.
    """
    import cloudpickle  # of Stable-Baselines3: opponents and starts may be functions

    state = {
        "algorithm": type(model),
        "model": _saved(model),
        "replay_buffer": getattr(model, "replay_buffer", None),
        "envs": model.get_env(),
        "callback": callback,
        "random": _random_state(),
    }

    def write(file: io.BufferedWriter) -> None:
        file.write(_HEAD)
        cloudpickle.dump(state, file)

    write_atomically(path, write)


def load_checkpoint(path: str | Path) -> tuple["BaseAlgorithm", Any]:
    """The model and the callback of a training, for `learn(..., reset_num_timesteps=False)`.

    Also sets the random generators of torch, NumPy and Python to where they were. The file holds
    pickled objects: loading one runs code, so load only files that you trust.

    Raises `PolicyFileError` for a file that is no whole checkpoint.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise PolicyFileError(f"there is no checkpoint {path} to go on from: {error}") from error
    if not content.startswith(_HEAD):
        raise PolicyFileError(f"{path} is no checkpoint of a training")
    try:
        state = pickle.loads(content[len(_HEAD) :])
    except (EOFError, pickle.UnpicklingError) as error:
        raise PolicyFileError(f"{path} is no whole checkpoint: {error}") from error
    except (AttributeError, ImportError) as error:
        raise PolicyFileError(
            f"{path} is a checkpoint of another version of this package: {error}"
        ) from error
    model = state["algorithm"].load(
        io.BytesIO(state["model"]), env=state["envs"], device="cpu", force_reset=False
    )
    if state["replay_buffer"] is not None:
        model.replay_buffer = state["replay_buffer"]
    _set_random_state(state["random"])
    return model, state["callback"]


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
