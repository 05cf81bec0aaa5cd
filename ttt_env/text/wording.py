"""The texts of a conversation: the rules of a game from its data, the board, and what has happened."""

from __future__ import annotations

from functools import lru_cache
from textwrap import fill
from typing import Literal

from ttt_env.agent import Forfeit, Outcome
from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.solution import Solution, solve
from ttt_env.errors import ParameterError
from ttt_env.render.layout import layers_of, mark_at
from ttt_env.render.words import cell_name
from ttt_env.rules import Game, Position, Seat, cells_of
from ttt_env.rules.shapes import supports_along

BoardStyle = Literal["grid", "coordinates", "line"]
_LINE = 106  # letters
_MOST_SETS = 200  # listed one by one; of more, the first ones and the number of the others


@lru_cache(maxsize=64)
def rules_text(game: Game) -> str:
    """The rules of a game in a few sentences, generated from its data.

    >>> from ttt_env.rules.catalogue import get_game
    >>> print(rules_text(get_game("tictactoe-v0")))
    Two players, X and O, take turns; X moves first. A move puts the player's mark on a free cell. The board
    has 3 rows and 3 columns, and its cells are numbered from 0 (top left) to 8 (bottom right), row by row.
    The first player whose marks fill 3 cells in a row, horizontally, vertically or diagonally, wins. If the
    board is full and nobody has won, the game is a draw.
    """
    neither = "lost" if game.misere else "won"
    return fill(
        "Two players, X and O, take turns; X moves first. "
        f"A move puts the player's mark on {_move_words(game)}. {_board_words(game)} "
        f"The first player whose marks fill {_end_words(game)}. "
        f"If the board is full and nobody has {neither}, the game is a draw.",
        _LINE,
    )


def _move_words(game: Game) -> str:
    """The cells on which a mark may be put."""
    if not game.has_gravity:
        return "a free cell"
    if len(game.shape) == 2 and list(game.supports) == supports_along(game.shape, 0):
        return "the lowest free cell of a column"
    pairs = [f"{cell} after {below}" for cell, below in enumerate(game.supports) if below is not None]
    return f"a free cell; some cells may be taken only after another one: {', '.join(pairs)}"


def _board_words(game: Game) -> str:
    layers, rows, columns = layers_of(game.shape)
    parts = [_count(layers, "layer")] if layers > 1 else []
    parts += [_count(rows, "row"), _count(columns, "column")]
    sizes = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    order, first, last = "row by row", "top left", "bottom right"
    if layers > 1:
        order, first, last = f"layer by layer and {order}", f"layer 0, {first}", f"layer {layers - 1}, {last}"
    return (
        f"The board has {sizes}, and its cells are numbered from 0 ({first}) to {game.n_cells - 1} ({last}), "
        f"{order}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _end_words(game: Game) -> str:
    """The winning sets in words, as a known pattern or as lists of cells, and "wins" or "loses"."""
    end = "loses" if game.misere else "wins"
    sets = set(game.winning_sets)
    sizes = {len(cells) for cells in sets}
    if len(sizes) == 1 and sets == _as_sets(Game.runs(game.shape, k := sizes.pop())) and k > 1:
        directions = "horizontally, vertically or diagonally"
        if len(game.shape) > 2:
            directions = "in any direction, also across the layers"
        return f"{k} cells in a row, {directions}, {end}"
    if len(game.shape) == 2 and len(set(game.shape)) == 1:
        for tilted, kinds in (True, "also of a tilted one"), (False, "but not of a tilted one"):
            if sets == _as_sets(Game.squares(game.shape[0], tilted)):
                return f"the four corners of a square of any size, {kinds}, {end}"
    listed = [" ".join(map(str, cells)) for cells in game.winning_sets[:_MOST_SETS]]
    rest = len(game.winning_sets) - len(listed)
    more = f"; and {_count(rest, 'more set')} not listed here" if rest else ""
    return f"all cells of one of these sets {end}: {'; '.join(listed)}{more}"


def _as_sets(cells: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    return {tuple(sorted(each)) for each in cells}


def board_text(position: Position, style: BoardStyle = "grid") -> str:
    """The board of a position as text.

    Args:
        position: The position.
        style: "grid" draws the board with the numbers of its free cells, "coordinates" lists the cells of X
            and O and the free ones, "line" is the text of the position.

    Example:
        >>> position = Position.parse("X../.O./...")
        >>> print(board_text(position))
         X | 1 | 2
        ---+---+---
         3 | O | 5
        ---+---+---
         6 | 7 | 8
        >>> print(board_text(position, "coordinates"))
        X: 0 (a1). O: 4 (b2). Free: 1 (b1), 2 (c1), 3 (a2), 5 (c2), 6 (a3), 7 (b3), 8 (c3).
        >>> print(board_text(position, "line"))
        X../.O./...

    """
    if style == "line":
        return str(position)
    if style == "coordinates":
        game, free = position.game, position.game.full_mask ^ position.occupied_mask
        masks = {"X": position.x_mask, "O": position.o_mask, "Free": free}
        names = {
            kind: ", ".join(f"{cell} ({cell_name(cell, game)})" for cell in cells_of(mask))
            for kind, mask in masks.items()
        }
        return " ".join(f"{kind}: {cells or 'none'}." for kind, cells in names.items())
    return _grid(position)


@lru_cache(maxsize=1 << 14)
def _grid(position: Position) -> str:
    game = position.game
    layers, rows, columns = layers_of(game.shape)
    width = len(str(game.n_cells - 1))
    marks = [f" {mark_at(position, cell) or cell!s:>{width}} " for cell in range(game.n_cells)]
    rule = "\n" + "+".join(["-" * (width + 2)] * columns) + "\n"
    lines = ["|".join(marks[at : at + columns]).rstrip() for at in range(0, game.n_cells, columns)]
    boards = [rule.join(lines[at : at + rows]) for at in range(0, len(lines), rows)]
    if layers == 1:
        return boards[0]
    return "\n\n".join(f"Layer {layer}:\n{board}" for layer, board in enumerate(boards))


@lru_cache(maxsize=64)
def places(game: Game) -> tuple[dict[str, str], ...]:
    """The values of the placeholders of an answer for each cell, by name (see `AnswerFormat`).

    >>> from ttt_env.rules.catalogue import get_game
    >>> places(get_game("tictactoe-v0"))[5]
    {'cell': '5', 'name': 'c2', 'row': '2', 'column': '3'}
    """
    _, rows, columns = layers_of(game.shape)
    at = [divmod(cell % (rows * columns), columns) for cell in range(game.n_cells)]
    return tuple(
        {"cell": f"{cell}", "name": cell_name(cell, game), "row": f"{row + 1}", "column": f"{column + 1}"}
        for cell, (row, column) in enumerate(at)
    )


def answer_text(answer: str, cell: int, game: Game) -> str:
    """An answer of this form that names a cell; `AnswerFormat` reads it.

    Raises `ParameterError` for rows and columns on a board of layers.
    """
    if "{row}" in answer and layers_of(game.shape)[0] > 1:
        raise ParameterError(f"answer={answer!r}: {game.name} has layers; write {{name}} or {{cell}} instead")
    for place, text in places(game)[cell].items():
        answer = answer.replace(f"{{{place}}}", text)
    return answer


@lru_cache(maxsize=1 << 14)
def turn_text(position: Position, style: BoardStyle, answer: str) -> str:
    """The board, the free cells, and how to name one in the form `answer` of an `AnswerFormat`."""
    free, game = position.legal_cells, position.game
    kind, listed, form = "{cell}", "", "number"
    if "{name}" in answer:
        layer = "layer 1, 2, ..., " * (layers_of(game.shape)[0] > 1)
        form = f"name ({layer}column a, b, ... from the left, row 1, 2, ... from the top)"
        kind, listed = "{name}", " by name"
    elif "{column}" in answer and "{row}" not in answer:
        form, kind, listed = "column (1, 2, ... from the left)", "{column}", " by column"
    elif "{row}" in answer:
        form = "row (1, 2, ... from the top) and column (1, 2, ... from the left)"
        kind, listed = "{row},{column}", " by row and column"
    names = " ".join(answer_text(kind, cell, game) for cell in free)
    return (
        f"{board_text(position, style)}\n\nIt is your turn. Free cells{listed}: {names}. "
        f"Answer with the {form} of a free cell in the form {answer_text(answer, free[0], game)}."
    )


@lru_cache(maxsize=64)
def intro_text(game: Game, seat: Seat) -> str:
    """The introduction for a player before its first turn: the rules and its mark."""
    return f"{rules_text(game)}\n\nYou are {seat}."


def prompt_text(
    position: Position, style: BoardStyle = "grid", answer: str = "[{cell}]", last: int | None = None
) -> str:
    """The first prompt of the player to move, with the rules, its mark, and its turn.

    `TextEnv.reset(position=…)` returns this text.

    Args:
        position: The position.
        style: The drawing of the board, as in `board_text`.
        answer: The template of an `AnswerFormat`.
        last: The cell that the other player has just played, if the prompt should name it.

    Example:
        >>> from ttt_env.rules.catalogue import get_game
        >>> print(prompt_text(Position.parse("X../.O./..."), "line").partition("draw.")[2].strip())
        You are X.
        <BLANKLINE>
        X../.O./...
        <BLANKLINE>
        It is your turn. Free cells: 1 2 3 5 6 7 8. Answer with the number of a free cell in the form [1].

    """
    seat = position.to_move
    moved = "" if last is None else f" {'O' if seat == 'X' else 'X'} has played {last}."
    return f"{intro_text(position.game, seat)}{moved}\n\n{turn_text(position, style, answer)}"


_FAULTS: dict[Outcome, str] = {
    "unreadable": "the reply names no cell in the form {form}",
    "several": "the reply names more than one cell",
    "no cell": "the board has no such cell",
    "taken": "this cell is {taken}",
}


def fault_text(outcome: Outcome, example: str, game: Game) -> str:
    """The reason why a reply is not a move, as half a sentence with an example of an answer.

    >>> from ttt_env.rules.catalogue import get_game
    >>> fault_text("unreadable", "[0]", get_game("tictactoe-v0"))
    'the reply names no cell in the form [0]'
    """
    return _FAULTS[outcome].format(form=example, taken=_not_playable(game))


def _not_playable(game: Game) -> str:
    return "taken or rests on a free one" if game.has_gravity else "taken"


def end_text(winner: Seat | None, seat: Seat) -> str:
    """The end of a game in words, for the player on `seat`."""
    if winner is None:
        return "The game is over: it is a draw."
    return f"The game is over: {winner} has won, and you have {'won' if winner == seat else 'lost'}."


_VALUES = {1: "a win for you", 0: "a draw", -1: "a loss for you"}
_RESULT_NOUNS = {1: "the win", 0: "the draw"}
_FORFEIT_TEXTS: dict[Outcome, str] = {
    "unreadable": "You answered {said}, which names no cell in the agreed form.",
    "several": "You answered {said}, which names more than one cell.",
    "no cell": "You answered {said}, and the board has no such cell.",
    "taken": "You answered {said}, and this cell is {taken}.",
    "raised": "Your code raised an error: {said}.",
    "crashed": "You ended without an answer: {said}.",
    "timed out": "You gave no answer in time.",
}
_QUOTED_LENGTH = 200  # letters of an answer that are quoted


def refutation_text(certificate: Certificate, board: BoardStyle = "grid") -> str:
    """The shortest refutation of a player as feedback to that player, or a sentence that none exists.

    It gives the cells played; for each blunder the board, the player's answer, and the cells that would have
    kept the value; and the end of the game.

    Args:
        certificate: The certificate of the player.
        board: The drawing of the boards, as in `board_text`.

    Example:
        >>> from ttt_env import certify
        >>> print(refutation_text(certify("minimax")).partition(".")[0])
        No game of tictactoe-v0 refutes you

    """
    record, seat = certificate.shortest_refutation, certificate.refuted_as
    if record is None or seat is None:
        text = (
            f"No game of {certificate.game.name} refutes you. In every game that your answers allow, as X "
            "and as O, you get at least the result of best play by both sides."
        )
        if certificate.n_blunders:
            count = f"{certificate.n_blunders:,} of the positions that you can reach"
            text += f" In {count} you still give a part of your advantage away."
        return text
    solution, forfeit = solve(certificate.game), certificate.forfeit_after(record)
    *before, end = record.positions()
    turns = [
        _blunder_text(position, position.play(cell), cell, solution, board)
        for position, cell in zip(before, record.cells, strict=True)
        if position.to_move == seat
    ]
    ending = (
        f"The game ends so:\n\n{board_text(end, board)}\n\n{end_text(end.winner, seat)}"
        if forfeit is None
        else _forfeit_text(forfeit, solution, board)
    )
    value = solution.value if seat == "X" else -solution.value
    moves = f"The cells played were {' '.join(map(str, record.cells))}." if record.cells else ""
    opening = (
        f"You can be beaten at {certificate.game.name}. With best play by both sides the game is "
        f"{_VALUES[value]} when you play {seat}. Here is a shortest game in which you get less. {moves}"
    )
    return "\n\n".join([opening.rstrip(), *filter(None, turns), ending])


def _blunder_text(
    position: Position, after: Position, cell: int, solution: Solution, board: BoardStyle
) -> str:
    """A blunder of the player in words; empty if the move is not one."""
    old, new = solution.value_of(position), -solution.value_of(after)
    if new == old:
        return ""
    return (
        f"{_board_shown_text(position, board)}\n\nYou answered {cell}. With best play the game was "
        f"{_VALUES[old]}; your move made it {_VALUES[new]}. {_best_cells_text(position, solution)}"
    )


def _forfeit_text(forfeit: Forfeit, solution: Solution, board: BoardStyle) -> str:
    position, outcome, reply = forfeit
    quoted = repr(reply[:_QUOTED_LENGTH]) + "…" * (len(reply) > _QUOTED_LENGTH)
    failed = _FORFEIT_TEXTS[outcome].format(said=quoted, taken=_not_playable(position.game))
    return (
        f"{_board_shown_text(position, board)}\n\n{failed} That lost the game, which with "
        f"best play was {_VALUES[solution.value_of(position)]}. {_best_cells_text(position, solution)}"
    ).rstrip()


def _board_shown_text(position: Position, board: BoardStyle) -> str:
    return (
        f"You were shown this board, on which {position.to_move} is to move:\n\n{board_text(position, board)}"
    )


def _best_cells_text(position: Position, solution: Solution) -> str:
    """The cells that keep the value of a position, in words; empty if it is lost anyway."""
    cells, value = solution.best_cells(position), solution.value_of(position)
    return f"Cells that keep {_RESULT_NOUNS[value]}: {' '.join(map(str, cells))}." if value >= 0 else ""
