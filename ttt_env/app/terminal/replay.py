"""`ttt replay`: a recorded game, move by move, with its blunders."""

import os

from rich.console import Console
from rich.text import Text

from ttt_env.analysis.known import judge
from ttt_env.app.terminal.board import STYLES, board
from ttt_env.app.terminal.play import Ask
from ttt_env.errors import NotationError
from ttt_env.render.words import cells_text
from ttt_env.rules import SEATS, GameRecord
from ttt_env.storage.game_log import read_records

_STEP = "Enter: next, b: back, q: quit> "


def records_of(text: str) -> list[GameRecord]:
    """The records in the file of this name, one per line, or the record that the text is.

    Raises the errors of `read_records`, and `NotationError` for text that is neither.
    """
    if os.path.isfile(text):
        return read_records(text)
    if ":" not in text:  # every record begins with the id of its game
        raise NotationError(
            f"{text[:60]!r} is neither a game record, such as 'tictactoe-v0: 4 0 8 2 6', nor a file"
        )
    return [GameRecord.parse(text)]


def replay_all(records: list[GameRecord], console: Console, ask: Ask | None) -> None:
    """Show the games one after another, step by step if there is a person to `ask`."""
    try:
        for record in records:
            console.print(Text(str(record), "bold"), soft_wrap=True)
            ply = 0
            while ply <= len(record.cells):
                lines = [Text(), *_move_lines(record, ply)]
                last = record.cells[ply - 1] if ply else None
                lines += [board(record.positions()[ply], last, numbers=False, width=console.width)]
                if ply == len(record.cells):
                    ending = "A draw." if record.winner is None else f"{record.winner} wins."
                    if not record.is_over:
                        ending = f"Unfinished: {record.positions()[-1].to_move} is to move."
                    lines.append(Text(ending, "bold"))
                console.print(Text("\n").join(lines), soft_wrap=True)
                ply = max(0, ply + (1 if ask is None else _asked_step(ask)))
    except EOFError:
        console.print()


def _asked_step(ask: Ask) -> int:
    """One move forward or back. Raises `EOFError` if the person leaves."""
    while True:
        answer = ask(_STEP).strip().lower()
        if answer in {"q", "quit", "exit"}:
            raise EOFError
        if answer in {"", "n", "b"}:
            return -1 if answer == "b" else 1


def _move_lines(record: GameRecord, ply: int) -> list[Text]:
    """The move that led here, with the value that it gave away."""
    if ply == 0:
        return []
    seat = SEATS[(ply - 1) % 2]
    move = Text.assemble(
        f"{ply}. ", (seat, STYLES[seat]), f" {cells_text([record.cells[ply - 1]], record.game)}"
    )
    blunder = judge(record.positions()[ply - 1], record.cells[ply - 1]).sentence
    return [move, Text(blunder, "yellow")] if blunder else [move]
