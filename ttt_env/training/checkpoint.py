"""A training as one file, from which it goes on as if nothing had happened.

Loading such a file runs code, as loading any pickled object does: go on only with trainings that you trust.
"""

import hashlib
import io
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ttt_env.errors import PolicyFileError
from ttt_env.rules import Game
from ttt_env.storage import opened, reason, write_atomically
from ttt_env.training.evaluation import Evaluation

_HEAD = b"ttt_env checkpoint 3\n"  # followed by the SHA-256 of the rest
_CHECKSUM = 32  # bytes


@dataclass
class TrainingProgress:
    """The progress of a training: seconds used, last and best evaluation, and the best agent."""

    seconds: float = 0.0
    evaluation: Evaluation | None = None
    best: Evaluation | None = None
    rank: tuple[float, ...] = ()
    kept: Any = None


@dataclass
class TrainingCheckpoint:
    """The task of a training, its progress, and the state of its learner."""

    algo: str
    game: Game
    seed: int
    hyperparameters: dict[str, Any]
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    state: Any = None


def checkpoint_of(out: str | Path) -> Path:
    """The file of the checkpoint from which the training of the model file `out` goes on."""
    return Path(f"{out}.checkpoint")


def write_checkpoint(path: str | Path, checkpoint: TrainingCheckpoint) -> None:
    """Write all that is needed to go on with a training."""
    try:
        import cloudpickle as pickler  # comes with Stable-Baselines3; opponents and starts may be functions
    except ImportError:
        pickler = pickle
    content: bytes = pickler.dumps(checkpoint)

    def write(file: io.BufferedWriter) -> None:
        file.write(_HEAD)
        file.write(hashlib.sha256(content).digest())
        file.write(content)

    write_atomically(path, write)


def read_checkpoint(path: str | Path) -> TrainingCheckpoint:
    """The training in such a file, which runs code: load only files that you trust. Damage is found before.

    Raises `PolicyFileError` for a file that is no whole checkpoint, or one of another version.
    """
    try:
        with opened(path) as file:
            head, checksum, content = file.read(len(_HEAD)), file.read(_CHECKSUM), file.read()
    except OSError as error:
        raise PolicyFileError(f"there is no checkpoint {path} to go on from: {reason(error)}") from error
    if head != _HEAD:
        raise PolicyFileError(f"{path} is no checkpoint of a training of this version")
    if hashlib.sha256(content).digest() != checksum:
        raise PolicyFileError(f"{path} is no whole checkpoint: it is damaged")
    try:
        checkpoint = pickle.loads(content)
        if not isinstance(checkpoint, TrainingCheckpoint):
            raise TypeError(f"it holds a {type(checkpoint).__name__}")
    except Exception as error:  # whatever the objects do while they are made
        raise of_another_version(path, error) from error
    return checkpoint


def of_another_version(path: str | Path, error: Exception) -> PolicyFileError:
    """The error of a checkpoint whose objects cannot be made here."""
    return PolicyFileError(
        f"{path} is a checkpoint of another version of this package or of what it uses: {reason(error)}"
    )
