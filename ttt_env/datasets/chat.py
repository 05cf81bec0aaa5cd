"""Conversations for supervised fine-tuning: what `TextEnv` says, with perfect moves as the answers."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, get_args

import numpy as np

from ttt_env.agent import chosen_cell, make_agent
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.solution import distances
from ttt_env.datasets.players import EXPERT, Level, drawn, numbers_of, players_of
from ttt_env.rules import (
    SEATS,
    Game,
    Seat,
    as_bool,
    as_integer,
    canonical_boards,
    get_game,
    one_of,
    same_boards,
)
from ttt_env.storage import write_atomically
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.env import TextEnv, cell_at
from ttt_env.text.wording import BoardStyle, prompt_text

Ties = Literal["all", "draw"]
"""The treatment of several perfect moves: a conversation for each of them, or for one drawn at random."""


class Message(TypedDict):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class Chat(TypedDict):
    """A conversation, as `messages` from the user's first to the assistant's last.

    The other entries are what `TextEnv.reset(**chat)` takes to begin it again: the `position` that it begins
    with or, for a whole game, the `seed` and the `opponent`.
    """

    messages: list[Message]
    play_as: Seat
    position: NotRequired[str]
    seed: NotRequired[int]
    opponent: NotRequired[str]


def position_chats(
    game: Game | str = "tictactoe-v0",
    *,
    ties: Ties = "all",
    one_per_class: bool = False,
    board: BoardStyle = "grid",
    answer: str = "[{cell}]",
    seed: int = 0,
) -> Iterator[Chat]:
    """Conversations of one question and one answer: each position to be played, and a perfect move there.

    With the `ties` "all" there is one for each perfect move of a position, so that what learns from them is
    taught no preference among equals. With "draw" there is one for each position; its move is drawn by the
    seed and the position, as in the column `answer` of the table of positions. With `one_per_class` one
    position represents all that rotations and reflections of the board map to it. `board` and `answer` are
    as in `TextEnv`.

    Raises `ParameterError` for values that are not allowed, `GameTooLargeError` for a game of too many
    positions.

    >>> from ttt_env.datasets import position_chats
    >>> chat = next(position_chats("tictactoe-v0"))
    >>> chat["position"], chat["messages"][-1]["content"]
    ('.../.../...', '[0]')
    """
    game, form = get_game(game), AnswerFormat(answer)
    one_of("ties", ties, get_args(Ties))
    one_of("board", board, get_args(BoardStyle))
    as_bool("one_per_class", one_per_class, "a data set")
    seed = as_integer("seed", seed, "a data set", 0)
    batches = (moves.boards for layer in reachable(game) for moves in layer.moves())
    if one_per_class:
        batches = (boards[same_boards(canonical_boards(boards)[0], boards)] for boards in batches)
    return (
        {
            "messages": [*_exchange(prompt_text(position, board, answer), form.text_of(cell))],
            "play_as": position.to_move,
            "position": str(position),
        }
        for boards in batches
        for position, perfect in zip(boards, distances(game).perfect(boards), strict=True)
        for cells in [np.flatnonzero(perfect).tolist()]
        for cell in (cells if ties == "all" else [cell_at(cells, seed, position.mine, position.theirs)])
    )


def _exchange(text: str, reply: str) -> tuple[Message, Message]:
    return {"role": "user", "content": text}, {"role": "assistant", "content": reply}


def game_chats(
    game: Game | str = "tictactoe-v0",
    level: Level = "mixed",
    games: int = 1000,
    *,
    board: BoardStyle = "grid",
    answer: str = "[{cell}]",
    seed: int = 0,
) -> Iterator[Chat]:
    """Whole games as conversations: the assistant makes perfect moves against players of this level.

    Seat, opponent and each of the assistant's moves among the perfect ones are drawn by the seed. A
    conversation ends with the assistant's last move. `board` and `answer` are as in `TextEnv`.

    Raises the errors of `play_games` and `TextEnv`.

    >>> from ttt_env.datasets import game_chats
    >>> chat = next(game_chats("tictactoe-v0", games=1))
    >>> chat["opponent"], [message["content"] for message in chat["messages"][1::2]]
    ('minimax:prefer=fast', ['[1]', '[0]', '[6]', '[4]', '[5]'])
    """
    game = get_game(game)
    games, seed = as_integer("games", games, "a data set", 1), as_integer("seed", seed, "a data set", 0)
    env = TextEnv(game, illegal="raise", board=board, answer=answer)
    opponents, expert = players_of(level, game), make_agent(EXPERT, game)

    def chat(number: int) -> Chat:
        rng = numbers_of(seed, level, number)
        opponent = drawn(opponents, rng)
        seat, own_seed = SEATS[int(rng.random() * 2)], int(rng.random() * 2**32)
        text = env.reset(seed=own_seed, play_as=seat, opponent=opponent.agent)
        messages: list[Message] = []
        while not env.done:
            reply = env.answer.text_of(chosen_cell(expert, env.position, rng))
            messages += _exchange(text, reply)
            text = env.reply(reply)
        return {"messages": messages, "play_as": seat, "seed": own_seed, "opponent": opponent.spec}

    return map(chat, range(games))


def write_chats(path: str | Path, chats: Iterable[Chat]) -> None:
    """Write conversations as JSON Lines, one a line in UTF-8.

    Raises `OSError` if the file cannot be written; there is then no part of it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from ttt_env.datasets import position_chats, write_chats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "chats.jsonl"
    ...     write_chats(path, position_chats("tictactoe-v0", one_per_class=True))
    ...     print(len(path.read_text().splitlines()))
    1022
    """
    lines = (f"{json.dumps(chat, ensure_ascii=False)}\n".encode() for chat in chats)
    write_atomically(path, lambda file: file.writelines(lines))
