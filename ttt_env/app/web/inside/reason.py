"""The reason for a move that an agent has made or would make: the agent, and the board with its figures."""

from dataclasses import dataclass, replace

from ttt_env.agent import Explanation
from ttt_env.app.web.board import DrawnBoard, Tile, board_of
from ttt_env.app.web.roster import PERSON, Roster
from ttt_env.app.web.table import PlayTable, short_name
from ttt_env.errors import IllegalMoveError
from ttt_env.rules import SEATS, Position, Seat


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
        return f"{name} is to move" if self.cell is None else f"{name} has played {self.cell}"


def last_move_of_an_agent(table: PlayTable) -> AgentMove:
    """The last move on the board that an agent has made; before the first one, the move that it will make.

    Raises `IllegalMoveError` if there is none.
    """
    for at in range(table.at - 1, -1, -1):
        if (player := table.player(SEATS[at % 2])) != PERSON:
            return AgentMove(table.at_move(at), player, table.cells[at])
    if table.mover == PERSON or table.position.is_over:
        raise IllegalMoveError("No agent has moved here: its last move is explained once it has.")
    return AgentMove(table, table.mover)


def explained(roster: Roster, player: str, position: Position, edition: int = 0) -> Explanation:
    """The agent's reasons for its move there. `edition` is `Roster.edition`, by which answers get stale."""
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
