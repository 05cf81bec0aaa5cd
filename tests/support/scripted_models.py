"""Stand-ins for language models and for bots in other languages, which answer in words on 3×3 boards.

`MODELS` holds them as functions `prompt -> reply`. As a program, `python scripted_models.py NAME [FILE]`
answers the questions on its standard input, one per line, and writes each position into the file, if given.
Nothing of the package is used: the program starts fast and computes its own solution.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_ROW = re.compile(r"^ *(?:X|O|\d) \| (?:X|O|\d) \| (?:X|O|\d)$", re.M)
_LINE = re.compile(r"[XO.]{3}/[XO.]{3}/[XO.]{3}")


def board_in(text: str) -> str:
    """The last board in a text, as nine letters X, O and `.`; drawn as a grid or in one line."""
    rows = _ROW.findall(text)[-3:]
    if rows:
        return re.sub(r"\d", ".", re.sub(r"[ |]", "", "".join(rows)))
    return _LINE.findall(text)[-1].replace("/", "")


def played(board: str, cell: int) -> str:
    return board[:cell] + mover(board) + board[cell + 1 :]


def mover(board: str) -> str:
    return "XO"[(9 - board.count(".")) % 2]


def free(board: str) -> list[int]:
    return [cell for cell, mark in enumerate(board) if mark == "."]


def is_won(board: str) -> bool:
    return any(board[a] == board[b] == board[c] != "." for a, b, c in LINES)


@cache
def score(board: str) -> int:
    """The mover's score under best play: 0 for a draw; wins score higher if sooner, losses if later."""
    if is_won(board):
        return -1 - board.count(".")
    return max((-score(played(board, cell)) for cell in free(board)), default=0)


def value(board: str) -> int:
    return (score(board) > 0) - (score(board) < 0)


def best(board: str) -> list[int]:
    """The cells that keep the value, ascending."""
    return [cell for cell in free(board) if value(played(board, cell)) == -value(board)]


def perfect(board: str) -> int:
    return max(free(board), key=lambda cell: -score(played(board, cell)))


def winning(board: str, mark: str) -> list[int]:
    return [cell for cell in free(board) if is_won(board[:cell] + mark + board[cell + 1 :])]


def greedy(board: str) -> int:
    """Win if possible, else block, else take the lowest cell."""
    own = mover(board)
    return [*winning(board, own), *winning(board, "XO".replace(own, "")), *free(board)][0]


@cache
def memorised() -> dict[str, int]:
    """A best cell of each board that occurs against a minimax that plays its lowest best cell."""
    answers: dict[str, int] = {}
    boards = ["." * 9, played("." * 9, best("." * 9)[0])]
    while boards:
        board = boards.pop()
        if board in answers or is_won(board) or "." not in board:
            continue
        answers[board] = perfect(board)
        for after in (played(board, cell) for cell in free(board)):
            if not is_won(after) and "." in after:
                boards.append(played(after, best(after)[0]))
    return answers


def memoriser(board: str) -> int:
    return memorised().get(board, free(board)[0])


def _crashing(board: str) -> str:
    if board[4] != "." and board.count(".") == 7:
        raise RuntimeError("out of memory")
    return f"[{perfect(board)}]"


def _slow(board: str) -> str:
    time.sleep(0.002)
    return f"[{perfect(board)}]"


OF_BOARD: dict[str, Callable[[str], str]] = {
    "perfect": lambda board: f"I have thought about it. [{perfect(board)}]",
    "greedy": lambda board: f"[{greedy(board)}]",
    "memoriser": lambda board: f"[{memoriser(board)}]",
    "rubbish": lambda board: "As a language model\x1b[2J, I love games! 日本\x00",
    "slow": _slow,
    "crashing": _crashing,
}


def _reading(name: str) -> Callable[[str], str]:
    def reply(prompt: str) -> str:
        return OF_BOARD[name](board_in(prompt))

    reply.__qualname__ = reply.__name__ = name
    return reply


MODELS: dict[str, Callable[[str], str]] = {name: _reading(name) for name in OF_BOARD}


def main(name: str, *files: str) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        position = asked["position"]
        for file in files:
            with Path(file).open("a", encoding="utf-8") as log:
                log.write(f"{position}\n")
        try:
            reply = MODELS[name](position)
            cell = re.search(r"\[(\d)\]", reply)
            answer = {"cell": int(cell[1])} if cell else {"error": reply}
        except RuntimeError as error:
            answer = {"raised": f"RuntimeError: {error}"}
        print(json.dumps({"id": asked["id"], **answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
