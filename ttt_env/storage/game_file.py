"""Games as dictionaries and as files: JSON that can be written by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ttt_env.errors import GameError, brief
from ttt_env.rules import CATALOGUE, Game, check_names, checked_rules, checked_value, get_game
from ttt_env.rules.catalogue import stem_of
from ttt_env.storage.files import open_regular, reason, write_atomically
from ttt_env.storage.parsing import parse_json

FORMAT = "ttt_env game 1"
_MOST_BYTES = 1 << 25
_KEYS = dict.fromkeys(("format", "name", "shape", "winning_sets", "misere", "coordinates", "supports"))


def game_to_dict(game: Game) -> dict[str, Any]:
    """The name of a game, with its rules and its drawing unless it is of this package."""
    return {"name": game.name} if stem_of(game.name) in CATALOGUE else _game_facts(game)


def _game_facts(game: Game) -> dict[str, Any]:
    described = {
        "name": game.name,
        "shape": game.shape,
        "winning_sets": game.winning_sets,
        "misere": game.misere,
    }
    if game.coordinates is not None:
        described["coordinates"] = game.coordinates
    if game.has_gravity:
        described["supports"] = game.supports
    return described


def game_from_dict(data: Mapping[str, Any]) -> Game:
    """The game from what `game_to_dict` returned, by the rule of `checked_rules` about its name.

    May raise any error for other data.
    """
    if "winning_sets" not in data:
        return get_game(data["name"])
    return checked_rules(
        Game(
            data["name"],
            tuple(data["shape"]),
            [tuple(cells) for cells in data["winning_sets"]],
            misere=checked_value("a game", "misere", data.get("misere", False), bool),
            coordinates=data.get("coordinates"),
            supports=data.get("supports"),
        )
    )


def save_game(game: Game, path: str | Path) -> None:
    """Write a game as a JSON file, which `load_game` reads. Raises `OSError` if it cannot be written."""
    text = json.dumps({"format": FORMAT, **_game_facts(game)})
    write_atomically(path, text.encode())


def load_game(path: str | Path) -> Game:
    """The game of a file that `save_game` or a person wrote.

    Its entries are the parameters of `Game`: `name`, `shape`, `winning_sets`, and optionally `misere`,
    `coordinates`, `supports` and the `format`.

    Raises `GameError` if there is no such file, if it is not that of a game, or if its name is that of a game
    with other rules.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise GameError(f"it has more than {_MOST_BYTES:,} bytes")
        data = parse_json(content)
        if not isinstance(data, dict) or not {"name", "shape", "winning_sets"} <= data.keys():
            raise GameError("expected name, shape and winning_sets")
        if data.get("format", FORMAT) != FORMAT:
            raise GameError(f"its format is {brief(data['format'])}, expected {FORMAT!r}")
        check_names("a game file", data, _KEYS)
        return game_from_dict(data)
    except OSError as error:
        raise GameError(f"{path} cannot be read: {reason(error)}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise GameError(f"{path} is not a game file: {error}") from error
