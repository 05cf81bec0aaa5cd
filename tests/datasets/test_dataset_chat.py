"""Conversations for supervised fine-tuning are what the environment says, with perfect answers."""

import json
from collections import defaultdict
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.refusals import all_raise
from ttt_env.datasets.chat import game_chats, position_chats, write_chats
from ttt_env.datasets.players import EXPERT, NOVICES
from ttt_env.errors import GameTooLargeError, ParameterError
from ttt_env.rules.symmetry import canonical
from ttt_env.text import AnswerFormat, TextEnv

FORM = AnswerFormat()


@cache
def perfect_cells() -> dict[str, list[int]]:
    """The perfect cells of every position to be played, found by naive recursion."""
    twin = naive.twin(TICTACTOE)
    return {
        str(ttt_env.Position(TICTACTOE, *naive.masks(board))): twin.perfect_cells(board)
        for board in twin.boards()
        if twin.moves(board)
    }


def answers_of(chats: Any) -> dict[str, list[int]]:
    """The cells that are answered in each position."""
    cells = defaultdict(list)
    for chat in chats:
        _, answer = chat["messages"]
        cells[chat["position"]].append(FORM.read(answer["content"], TICTACTOE).cell)
    return dict(cells)


class TestPositions:
    def test_have_a_conversation_for_each_perfect_move(self) -> None:
        answers = answers_of(position_chats())
        assert answers == perfect_cells() and len(answers) == reference.TO_BE_PLAYED

    @pytest.mark.parametrize(
        "settings", [{}, {"board": "line", "answer": "<move>{cell}</move>"}, {"board": "coordinates"}]
    )
    def test_say_what_the_environment_says(self, settings: dict[str, Any]) -> None:
        env = TextEnv(illegal="raise", **settings)
        for chat in islice(position_chats(ties="draw", one_per_class=True, **settings), 0, None, 7):
            question, answer = chat["messages"]
            assert question == {"role": "user", "content": env.reset(**chat)}
            assert answer["role"] == "assistant"
            env.reply(answer["content"])
            assert env.info["regret"] == [0]

    def test_draws_answer_one_perfect_move_and_have_no_habit(self) -> None:
        perfect = perfect_cells()
        drawn = answers_of(position_chats(ties="draw"))
        assert drawn.keys() == perfect.keys()
        assert all(len(cells) == 1 and cells[0] in perfect[position] for position, cells in drawn.items())
        ties = {position: cells for position, cells in perfect.items() if len(cells) > 1}
        for habit in (0, -1):  # the first of equals, or the last: no more often than the others
            chances = np.array([1 / len(cells) for cells in ties.values()])
            count = sum(drawn[position] == [cells[habit]] for position, cells in ties.items())
            assert abs(count - chances.sum()) < 4 * np.sqrt((chances * (1 - chances)).sum())
        openings = {
            next(position_chats(ties="draw", seed=seed))["messages"][1]["content"] for seed in range(40)
        }
        assert openings == {f"[{cell}]" for cell in range(9)}

    def test_one_for_each_symmetry_class(self) -> None:
        chats = list(position_chats(ties="draw", one_per_class=True))
        classes = {str(canonical(ttt_env.Position.parse(position))) for position in perfect_cells()}
        assert sorted(chat["position"] for chat in chats) == sorted(classes)


class TestGames:
    @pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3"])
    def test_are_played_again_by_their_entries(self, game: str) -> None:
        env, seats, opponents = TextEnv(game, illegal="raise", opponent="block"), set(), set()
        for chat in game_chats(game, games=30):
            text = env.reset(**chat)
            assert env.seat == chat["play_as"]
            for question, answer in zip(chat["messages"][::2], chat["messages"][1::2], strict=True):
                assert question == {"role": "user", "content": text} and answer["role"] == "assistant"
                text = env.reply(answer["content"])
            assert env.done and not any(env.info["regret"])
            seats.add(chat["play_as"])
            opponents.add(chat["opponent"])
        assert seats == {"X", "O"} and opponents == {EXPERT, *NOVICES}

    def test_the_assistant_draws_among_perfect_moves(self) -> None:
        openings = {
            chat["messages"][1]["content"] for chat in game_chats(games=100) if chat["play_as"] == "X"
        }
        assert openings == {f"[{cell}]" for cell in range(9)}

    def test_the_same_seed_gives_the_same_games_and_more_begin_with_these(self) -> None:
        chats = list(game_chats(games=10, seed=3))
        assert list(game_chats(games=20, seed=3))[:10] == chats != list(game_chats(games=10, seed=4))


def test_bad_values_are_named_at_once() -> None:
    of_positions = [
        {"ties": "first"},
        {"board": "square"},
        {"answer": "[]"},
        {"seed": -1},
        {"one_per_class": "no"},
    ]
    of_games = [{"level": "good"}, {"games": 0}, {"answer": "[]"}]
    for chats, bad in ((position_chats, of_positions), (game_chats, of_games)):
        all_raise(ParameterError, "", lambda settings, chats=chats: chats(**settings), bad)
        all_raise(GameTooLargeError, "", chats, ["qubic-v0"])


def test_files_hold_a_conversation_a_line_and_are_whole_or_as_they_were(tmp_path: Any) -> None:
    path, chats = tmp_path / "new" / "games.jsonl", list(game_chats(games=5, answer="→{cell}←"))
    write_chats(path, chats)
    before = path.read_bytes()
    lines = before.decode().splitlines()
    assert [json.loads(line) for line in lines] == chats and "→" in lines[0]

    def interrupted() -> Any:
        yield from game_chats(games=3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_chats(path, interrupted())
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]
