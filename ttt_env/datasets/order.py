"""The order of a data set: its contents, and the command that makes it."""

import shlex
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Literal, get_args

from ttt_env.datasets.chat import Ties
from ttt_env.datasets.positions import PositionTable
from ttt_env.errors import ParameterError, shown
from ttt_env.rules import Game, as_integer, one_of
from ttt_env.storage import game_to_dict
from ttt_env.text.wording import BoardStyle

DataKind = Literal["positions", "games", "chat", "minari"]
KINDS: tuple[DataKind, ...] = get_args(DataKind)


def as_kinds(kinds: object) -> tuple[DataKind, ...] | None:
    """The kinds, each once, or None. Raises `ParameterError` unless they are a list of some of `KINDS`."""
    if kinds is None:
        return None
    if not isinstance(kinds, list | tuple) or not kinds:
        raise ParameterError(f"kinds={shown(kinds)}: a list of some of {', '.join(KINDS)} is needed")
    return tuple(dict.fromkeys(one_of("kind", kind, KINDS) for kind in kinds))


@dataclass(frozen=True)
class DatasetOrder:
    """The contents of a data set, with the parameters of `write_dataset`, whose errors it raises."""

    game: Game
    kinds: tuple[DataKind, ...] | None = None
    one_per_class: bool = False
    finished: bool = False
    prompts: bool | None = None
    board: BoardStyle = "grid"
    answer: str = "[{cell}]"
    ties: Ties = "all"
    games: int = 1000
    seed: int = 0
    published: date | None = None

    def __post_init__(self) -> None:
        self.positions  # noqa: B018 - checks its parameters
        one_of("ties", self.ties, get_args(Ties))
        as_integer("games", self.games, "a data set", 1)
        if self.published is not None and type(self.published) is not date:
            raise ParameterError(f"published={shown(self.published)}: a datetime.date is needed")
        if "minari" in (self.kinds or ()) and not self.has_id:
            raise ParameterError(
                f"{self.game!r} is not in the catalogue: Minari makes games again by their id"
            )

    @property
    def has_id(self) -> bool:
        """True if the game is in the catalogue."""
        return "winning_sets" not in game_to_dict(self.game)

    @property
    def positions(self) -> PositionTable:
        """The table of the positions."""
        return PositionTable(
            self.game, self.one_per_class, self.finished, self.prompts, self.board, self.answer, self.seed
        )

    @property
    def chosen_kinds(self) -> tuple[DataKind, ...]:
        """The kinds of data that are asked for; by default, all that the game can have."""
        if self.kinds is not None:
            return self.kinds
        is_left_out = {"chat": not self.positions.has_texts, "minari": not self.has_id}
        return tuple(kind for kind in KINDS if not is_left_out.get(kind))

    def settings(self) -> dict[str, Any]:
        """The parameters, other than the game, that differ from their defaults."""
        asked = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value for name, (value, default) in asked.items() if name != "game" and value != default
        }

    @property
    def made_by(self) -> str:
        """The command that makes this data; for a game that is not in the catalogue, the code."""
        settings = self.settings()
        if not self.has_id:
            given = "".join(f", {name}={value!r}" for name, value in settings.items())
            return f"ttt_env.datasets.write_dataset(game, 'DIR'{given})"
        words = ["ttt", "dataset", self.game.name, "--out", "DIR"]
        for name, value in settings.items():
            option = name.replace("_", "-")
            if name == "kinds":
                words += [word for kind in value for word in ("--kind", kind)]
            elif isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", str(value)]
        return shlex.join(words)
