"""Games as environments of TRL, tested without TRL; scripts/frameworks/trl_grpo.py trains with it."""

import inspect
import json
import pickle
from functools import partial
from typing import Any, get_type_hints

import pytest

import ttt_env
from tests.support.games import TICTACTOE, lowest, open_boards
from ttt_env.integrations.trl import INSTRUCTION, GameEnvironment, rows, start_rows
from ttt_env.text import TextEnv


def new_environment(**settings: Any) -> GameEnvironment:
    environment = GameEnvironment(**{"opponent": lowest, **settings})
    environment.reset(play_as="X", seed=0)
    return environment


class TestTools:
    def test_move_is_only_tool(self) -> None:
        """TRL uses all public functions of the class as tools, except `reset` and `get_reward`."""
        names = [name for name, _ in inspect.getmembers(GameEnvironment, inspect.isfunction)]
        assert [name for name in names if not name.startswith("_")] == ["get_reward", "move", "reset"]

    def test_schema_of_move_is_readable(self) -> None:
        assert get_type_hints(GameEnvironment.move) == {"cell": int, "return": str}
        assert "Args:\n    cell: " in (inspect.getdoc(GameEnvironment.move) or "")

    def test_prompt_asks_for_tool_call(self) -> None:
        environment = GameEnvironment(opponent=lowest)
        row = rows(start_rows(TICTACTOE))[0]
        prompt = environment.reset(**row)
        assert prompt.endswith(
            "Answer with the number of a free cell in the form of a tool call: move(cell=0)."
        )
        assert row["prompt"] == [{"role": "user", "content": INSTRUCTION}]

    def test_texts_equal_text_env(self) -> None:
        environment = new_environment()
        text_env = TextEnv(opponent=lowest, answer=environment.text_env.answer)
        text_env.reset(play_as="X", seed=0)
        assert [environment.move(cell) for cell in (4, 2, 6)] == [text_env.move(cell) for cell in (4, 2, 6)]
        assert environment.get_reward() == text_env.total_reward == 1.0

    def test_move_after_end_is_error(self) -> None:
        environment = new_environment()
        for cell in (4, 2, 6):
            environment.move(cell)
        with pytest.raises(ttt_env.errors.EpisodeOrderError, match="The game is over"):
            environment.move(8)
        assert environment.get_reward() == 1.0


class TestIllegal:
    def test_game_continues_after_raised_move(self) -> None:
        environment = new_environment(illegal="raise")
        environment.move(4)
        for bad_cell in (4, 9, -1, "8"):
            with pytest.raises(ttt_env.IllegalMoveError, match="free cells of"):
                environment.move(bad_cell)  # type: ignore[arg-type]
        environment.move(2)
        environment.move(6)
        assert environment.get_reward() == 1.0


class TestRewards:
    def test_stopping_loses_value_of_position(self) -> None:
        solution = ttt_env.solve(TICTACTOE)
        environment = GameEnvironment(opponent=lowest, reward="regret")
        for position in open_boards()[::7]:
            (row,) = rows([{"position": str(position), "play_as": position.to_move, "seed": 0}])
            environment.reset(**row)
            assert environment.text_env.position == position
            assert environment.get_reward() == environment.get_reward() == -1 - solution.value_of(position)

    @pytest.mark.parametrize("illegal", ["lose", "raise", "retry"])
    def test_stopping_loses_with_every_illegal_setting(self, illegal: str) -> None:
        assert new_environment(illegal=illegal).get_reward() == -1.0

    def test_rewards_are_summed(self) -> None:
        environment = new_environment(reward="shaped")
        for cell in (1, 4, 8, 6):  # 7 would win now: stopping gives 2 away
            environment.move(cell)
        assert environment.text_env.info["regret"] == [0, 0, 1, 1]
        assert environment.get_reward() == -1 - (1 + 1 + 2)


class TestGroups:
    def test_rollouts_of_one_row_get_same_replies(self) -> None:
        factory = partial(GameEnvironment, "tictactoe-v0", opponent="random")
        one, other = factory(), factory()
        starts = set()
        for row in rows(start_rows(TICTACTOE, seeds=100)):
            texts = [environment.reset(**row) for environment in (one, other)]
            starts.add(texts[0])
            while not one.text_env.done:
                cell = one.text_env.position.legal_cells[-1]
                texts = [environment.move(cell) for environment in (one, other)]
                assert texts[0] == texts[1]
            assert one.get_reward() == other.get_reward()
        assert len(starts) == 1 + 9  # as X, and as O after each first move

    def test_factories_can_be_pickled(self) -> None:
        """TRL's asynchronous trainer pickles them."""
        factory = partial(GameEnvironment, TICTACTOE, opponent="minimax", illegal="raise")
        twin = pickle.loads(pickle.dumps(factory))()
        assert twin.reset(seed=1) == factory().reset(seed=1)


class TestRows:
    def test_row_values_are_plain(self) -> None:
        first, *others = rows(start_rows(TICTACTOE, plies=2, seeds=3), instruction="Go on.")
        assert {tuple(row) for row in [first, *others]} == {("prompt", "position", "play_as", "seed")}
        assert json.loads(json.dumps(others)) == others
        assert first["prompt"] == [{"role": "user", "content": "Go on."}]

    def test_rows_may_have_other_columns(self) -> None:
        (row,) = rows([{"position": "X../.../...", "play_as": "O", "opponent": "minimax", "level": 3}])
        assert GameEnvironment().reset(**row) == GameEnvironment(opponent="minimax").reset(**row)
