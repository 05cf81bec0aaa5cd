"""The shortest game that refutes a player in words, ready to be shown to it."""

from ttt_env.agent import Forfeit, Outcome
from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.solution import Solution, solve
from ttt_env.rules import GameRecord, Position, Seat
from ttt_env.text.wording import BoardStyle, board_text, end_text

_VALUES = {1: "a win for you", 0: "a draw", -1: "a loss for you"}
_KEPT = {1: "the win", 0: "the draw"}
_FAILED: dict[Outcome, str] = {
    "unreadable": "You answered {said}, which names no cell in the agreed form.",
    "several": "You answered {said}, which names more than one cell.",
    "no cell": "You answered {said}, and the board has no such cell.",
    "taken": "You answered {said}, and this cell is taken.",
    "crashed": "You failed without an answer: {said}.",
    "timed out": "You gave no answer in time.",
    "flooded": "You wrote far too much: {said}.",
}
_SAID = 200  # letters of an answer that are quoted


def refutation_text(certificate: Certificate, board: BoardStyle = "grid") -> str:
    """The shortest game that refutes the player, told to the player, or the words that none exists.

    It says what the game shows; for each move that gives value away what the board was, what the player
    answered, and which cells would have kept the value; and how the game ends. The boards are drawn as
    `board_text` draws them.

    >>> from ttt_env import certify
    >>> print(refutation_text(certify("minimax")).partition(".")[0])
    No game of tictactoe-v0 refutes you
    """
    record, seat = certificate.shortest_refutation, certificate.refuted_as
    if record is None or seat is None:
        return _praise(certificate)
    solution, forfeit = solve(certificate.game), certificate.forfeit_after(record)
    *before, end = record.positions()
    turns = [
        _mistake(position, position.play(cell), cell, solution, board)
        for position, cell in zip(before, record.cells, strict=True)
        if position.to_move == seat
    ]
    ending = (
        f"The game ends so:\n\n{board_text(end, board)}\n\n{end_text(end.winner, seat)}"
        if forfeit is None
        else _lost_by(forfeit, solution, board)
    )
    return "\n\n".join([_opening(certificate, record, seat), *filter(None, turns), ending])


def _praise(certificate: Certificate) -> str:
    text = (
        f"No game of {certificate.game.name} refutes you. In every game that can come up, as X and as O, you "
        "get at least what best play of both players gives."
    )
    if certificate.n_blunders:
        count = f"{certificate.n_blunders:,} of the positions that can come up"
        text += f" In {count} you still give a part of your advantage away."
    return text


def _opening(certificate: Certificate, record: GameRecord, seat: Seat) -> str:
    value = certificate.game_value if seat == "X" else -certificate.game_value
    moves = f"The cells played were {' '.join(map(str, record.cells))}." if record.cells else ""
    return (
        f"You can be beaten at {certificate.game.name}. With best play of both players the game is "
        f"{_VALUES[value]} as {seat}; here is a shortest game in which you got less. {moves}"
    ).rstrip()


def _mistake(position: Position, after: Position, cell: int, solution: Solution, board: BoardStyle) -> str:
    """The value that a move of the player has given away, in words; empty if none."""
    old, new = solution.value_of(position), -solution.value_of(after)
    if new == old:
        return ""
    return (
        f"{_shown(position, board)}\n\nYou answered {cell}. With best play the game was {_VALUES[old]}; your "
        f"move made it {_VALUES[new]}. {_better(position, solution)}"
    )


def _lost_by(forfeit: Forfeit, solution: Solution, board: BoardStyle) -> str:
    position, outcome, said = forfeit
    quoted = repr(said[:_SAID]) + "…" * (len(said) > _SAID)
    return (
        f"{_shown(position, board)}\n\n{_FAILED[outcome].format(said=quoted)} That lost the game, which with "
        f"best play was {_VALUES[solution.value_of(position)]}. {_better(position, solution)}"
    ).rstrip()


def _shown(position: Position, board: BoardStyle) -> str:
    return (
        f"You were shown this board, on which {position.to_move} is to move:\n\n{board_text(position, board)}"
    )


def _better(position: Position, solution: Solution) -> str:
    """The cells that keep the value of a position, in words; empty if it is lost anyway."""
    cells, value = solution.best_cells(position), solution.value_of(position)
    return f"Cells that keep {_KEPT[value]}: {' '.join(map(str, cells))}." if value >= 0 else ""
