"""The games that a page offers, within bounds."""

from collections.abc import Mapping

from ttt_env.errors import GameError, ParameterError
from ttt_env.rules import INTERACTIVE_CELLS, Game, game_names, get_game, is_enumerable, split_spec

MAX_SIDE = 15
MAX_SETS = 1000

KINDS = {"tictactoe-v0": "Tic-tac-toe", "square-v0": "Square", "mnk-v0": "k in a row", "qubic-v0": "Qubic"}
SIDES: dict[str, dict[str, tuple[str, int]]] = {
    "square-v0": {"n": ("side", 4)},
    "mnk-v0": {"m": ("columns", 5), "n": ("rows", 5), "k": ("in a row", 4)},
}
"""The numbers that a kind of game takes, by parameter: label and default."""


def kinds() -> dict[str, str]:
    """The names of the games on offer: this package's, installed ones and registered ones."""
    return {name: KINDS.get(name, name) for name in game_names()}


def parse_game(text: str) -> Game:
    """The game of an id.

    Raises as `get_game` does, and `ParameterError` or `GameError` for a board out of the page's bounds.
    """
    for key, value in split_spec(text).keywords.items():
        try:
            number = int(value)
        except ValueError:
            continue
        if len(value) > 3 or number > MAX_SIDE:
            raise ParameterError(f"{key}={value[:12]} of {text[:40]!r}: numbers up to {MAX_SIDE} are allowed")
    game = get_game(text)
    if max(game.shape) > MAX_SIDE:
        raise GameError(f"{game.name} has a side of {max(game.shape)}; {MAX_SIDE} are allowed here")
    if len(game.winning_sets) > MAX_SETS:
        raise GameError(f"{game.name} has {len(game.winning_sets)} winning sets; {MAX_SETS} are allowed here")
    if is_enumerable(game) and game.n_cells > INTERACTIVE_CELLS:
        raise GameError(
            f"{game.name} has {game.n_cells} cells: boards of up to {INTERACTIVE_CELLS} cells, which can be "
            "solved while you wait, and those that are too large to be solved at all are allowed here"
        )
    return game


def title_of(name: str) -> str:
    """The title of the game of an id, such as "4 in a row on 7×7"."""
    game = parse_game(name)
    return rule_of(game).partition(":")[0] + (", misère" if game.misere else "")


def rule_of(game: Game) -> str:
    """The name of the game and who wins it, in a sentence."""
    spec = split_spec(game.name)
    sides, length = "×".join(map(str, game.shape[::-1])), len(game.winning_sets[0])
    kinds = "upright" if "tilted" in spec.keywords else "upright or tilted"
    name, feat = {
        "square-v0": (f"Square on {sides}", f"has four stones on the corners of a square, {kinds},"),
        "mnk-v0": (f"{length} in a row on {sides}", f"has {length} stones in a row"),
        "qubic-v0": (f"Qubic, tic-tac-toe in a {sides} cube", "has four stones in a row in any direction"),
        "tictactoe-v0": ("Tic-tac-toe", "has three stones in a row"),
    }.get(spec.name, (game.name, f"owns one of {len(game.winning_sets)} winning sets"))
    return f"{name}: whoever {feat} first {'loses' if game.misere else 'wins'}."


def game_of_form(fields: Mapping[str, str], shown: Game) -> str:
    """The id of the game that a form's fields `kind`, its numbers, `tilted` and `misere` describe.

    The form's numbers and `tilted` belong to the game that was `shown`, so they are ignored for a game of
    another kind.
    """
    kind = fields.get("kind", "")
    names = [*SIDES.get(kind, {}), "tilted"] if kind == split_spec(shown.name).name else []
    items = [f"{name}={fields[name]}" for name in names if fields.get(name, "").strip()]
    items += ["misere=true"] if fields.get("misere") else []
    return f"{kind}:{','.join(items)}" if items else kind


def form_of_game(game: Game) -> dict[str, str]:
    """The fields from which `game_of_form` makes this game's id."""
    spec = split_spec(game.name)
    sides = {name: str(default) for name, (_, default) in SIDES.get(spec.name, {}).items()}
    return {"kind": spec.name} | sides | spec.keywords
