"""The address of the page `Look inside`: the table, the view, its settings, and the move that it explains."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ttt_env.agent import Explanation
from ttt_env.errors import IllegalMoveError, ParameterError
from ttt_env.rules import SEATS, Position, Seat, get_game
from ttt_env.web.board import DrawnBoard, Tile, board_of
from ttt_env.web.controls import BOUNDS, Control, controls_of
from ttt_env.web.inside.trees import MAX_SIMULATIONS, end_of
from ttt_env.web.roster import PERSON, Roster
from ttt_env.web.table import PlayTable, read_table, short_name

VIEWS = {"move": "Last move", "tree": "Game tree", "mcts": "Monte Carlo", "weights": "Weights"}
PACES = {"slow": 1600, "steady": 600, "fast": 150}
"""Milliseconds between two simulations."""

_SEARCH = controls_of("mcts")
SETTINGS = {
    "view": Control("view", "view", choices=tuple(VIEWS), default="tree"),
    "tree.agent": Control("agent", "both move by", choices=("softmax", "minimax"), default="softmax"),
    "x.temperature": replace(BOUNDS["temperature"], label="temperature of X", default="1"),
    "o.temperature": replace(BOUNDS["temperature"], label="temperature of O", default="1"),
    "tree.plies": Control("plies", "moves ahead", 1, 6, 1, ("1", "6"), default="2"),
    "mcts.done": Control("done", "simulations done", 0, MAX_SIMULATIONS, default="20"),
    "mcts.pace": Control("pace", "speed", choices=tuple(PACES), default="steady"),
    "mcts.run": Control("run", "runs", choices=("yes", "no"), default="no"),
    "mcts.c": _SEARCH["c"],
    "mcts.draw": _SEARCH["draw"],
    "mcts.playout": _SEARCH["playout"],
    "mcts.seed": replace(_SEARCH["seed"], default="0"),
    "mcts.simulations": replace(_SEARCH["simulations"], most=MAX_SIMULATIONS, default=f"{MAX_SIMULATIONS}"),
    "mcts.early_stop": _SEARCH["early_stop"],
    "mcts.tolerance": _SEARCH["tolerance"],
}
"""The control of each setting, by the setting's name in the address."""


@dataclass(frozen=True)
class InsideLook:
    """A table and the settings that are not at their defaults."""

    table: PlayTable
    settings: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.settings.get(name, SETTINGS[name].default)

    @property
    def fields(self) -> dict[str, str]:
        """The table and the settings as the fields of an address."""
        return {name: text for name, text in (self.table.fields() | self.settings).items() if text}

    def url(
        self,
        changes: Mapping[str, object] | None = None,
        table: PlayTable | None = None,
        path: str = "/inside",
    ) -> str:
        """The address of the same look with changed settings, or with another table."""
        settings = self.settings | {name: str(value) for name, value in (changes or {}).items()}
        more = {name: text for name, text in settings.items() if text != SETTINGS[name].default}
        return f"{path}?{(table or self.table).query(**more)}"

    @property
    def done(self) -> int:
        """The simulations that are done, at most the budget."""
        return min(int(self["mcts.done"]), int(self["mcts.simulations"]))

    @property
    def status(self) -> str:
        """The position in a few words."""
        position = self.table.position
        return end_of(position).capitalize() if position.is_over else f"{position.to_move} to move"


EXAMPLE = InsideLook(
    PlayTable(get_game("tictactoe-v0"), cells=(0, 3, 1, 4, 6, 7), at=6), {"x.temperature": "0.2"}
)
"""`XX./OO./XO.`, the example of Lachlan Gibson, "Making tic-tac-toe interesting with AI"."""


def read_look(fields: Mapping[str, str], roster: Roster) -> tuple[InsideLook, list[str]]:
    """The look that an address asks for, and the errors in the address; wrong parts are left out."""
    table, complaints = read_table(fields, roster)
    settings: dict[str, str] = {}
    for name, control in SETTINGS.items():
        try:
            text = fields.get(name) or control.default
            text = control.checked(text) if text else ""
        except ParameterError as error:
            complaints.append(str(error))
        else:
            settings |= {name: text} if text != control.default else {}
    return InsideLook(table, settings), complaints


@dataclass(frozen=True)
class AgentMove:
    """A move of an agent: the table before it, who moves, and the cell; None if it is still to be played."""

    table: PlayTable
    player: str
    cell: int | None = None

    @property
    def seat(self) -> Seat:
        """The seat of who moves."""
        return self.table.position.to_move

    @property
    def headline(self) -> str:
        """The last move, or the player to move, in a few words."""
        name = f"{short_name(self.player)} ({self.seat})"
        if self.cell is not None:
            return f"{name} has played {self.cell}"
        return f"{name} is to move" if self.player == self.table.mover else f"{name} in your place"


def last_move_of_an_agent(table: PlayTable) -> AgentMove:
    """The last move on the board that an agent has made; before the first one, the move that it would make.

    Raises `IllegalMoveError` if no agent plays.
    """
    for at in range(table.at - 1, -1, -1):
        if (player := table.player(SEATS[at % 2])) != PERSON:
            return AgentMove(table.at_move(at), player, table.cells[at])
    agents = [player for player in (table.mover, table.x, table.o) if player != PERSON]
    if not agents or table.position.is_over:
        raise IllegalMoveError("No agent plays here: there is no move of one to explain.")
    return AgentMove(table, agents[0])


def explained(roster: Roster, player: str, position: Position) -> Explanation:
    """The agent's reasons for its move there."""
    return roster.make(player, position.game).explain(position)


def board_of_reason(move: AgentMove, why: Explanation) -> DrawnBoard:
    """The board before the move: the winning sets that decide stand out, cells say all that is known."""
    lit = {cell for cells in why.sets for cell in cells}

    def told(tile: Tile) -> Tile:
        words = why.label(tile.cell) if tile.is_free else ""
        words += ", played" if tile.cell == move.cell else ""
        return replace(tile, told=words, is_lit=tile.cell in lit)

    board = board_of(move.table.position, move.table.last)
    return replace(board, layers=tuple(tuple(map(told, layer)) for layer in board.layers))
