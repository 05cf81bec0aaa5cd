"""The two-player environment."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic.tictactoe import tictactoe

import ttt_env
from tests.support.games import DRAW, O_WINS, X_WINS
from ttt_env import Position
from ttt_env.envs.two_player import TwoPlayerEnv

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


def started(*cells: int, seed: int = 0, id: Any = "tictactoe-v0", **settings: Any) -> TwoPlayerEnv:
    env = ttt_env.make(id, **settings)
    env.reset(seed=seed)
    for cell in cells:
        env.step(cell)
    return env


def ends(env: TwoPlayerEnv) -> dict[str, float]:
    """The rewards that each player is told by its last `last()`."""
    told = {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert terminated and not truncated
        told[agent] = reward
        env.step(None)
    return told


def arrays_of(env: TwoPlayerEnv) -> list[np.ndarray[Any, Any]]:
    """All arrays that the environment hands out and that may be written to."""
    seen = [env.observe("X"), env.observe("O"), env.last()[0]]
    return [array for each in seen for array in each.values()] + [env.action_masks()]


class TestOneGame:
    def test_what_last_tells_move_by_move(self) -> None:
        env = started()
        told = []
        for agent, action in zip(env.agent_iter(), [*X_WINS, None, None], strict=True):
            observation, reward, terminated, truncated, info = env.last()
            assert (observation["action_mask"] == info["action_mask"]).all()
            told.append((agent, reward, terminated, truncated, int(info["action_mask"].sum())))
            env.step(action)
        assert told == [
            ("X", 0.0, False, False, 9),
            ("O", 0.0, False, False, 8),
            ("X", 0.0, False, False, 7),
            ("O", 0.0, False, False, 6),
            ("X", 0.0, False, False, 5),
            ("O", -1.0, True, False, 4),
            ("X", 1.0, True, False, 4),
        ]

    def test_dead_steps_take_the_agents_out(self) -> None:
        env = started(*X_WINS)
        assert env.agents == ["X", "O"] and env.terminations == {"X": True, "O": True}
        env.step(None)
        assert env.agents == ["X"] and env.agent_selection == "X"
        for of_agent in (env.rewards, env.terminations, env.truncations, env.infos):
            assert set(of_agent) == {"X"}
        env.step(None)
        assert env.agents == [] and env.num_agents == 0
        assert not (env.rewards or env.terminations or env.truncations or env.infos)

    def test_another_game_starts_from_the_empty_board_at_any_time(self) -> None:
        for cells in ([4, 0, 8], X_WINS, [*X_WINS, None], [*X_WINS, None, None]):
            env = started(*cells)  # type: ignore[arg-type]
            env.reset()
            assert env.position == env.game.start and env.agents == ["X", "O"]
            assert env.agent_selection == "X" and env.action_masks().all()
            assert env.rewards == {"X": 0.0, "O": 0.0} and env.terminations == {"X": False, "O": False}

    def test_agent_iter_stops_after_max_iter(self) -> None:
        env = started()
        agents = []
        for agent in env.agent_iter(3):
            agents.append(agent)
            env.step(len(agents))
        assert agents == ["X", "O", "X"] and env.position.ply == 3
        assert env.last(observe=False)[0] is None

    def test_actions_of_numpy_are_cells(self) -> None:
        env = started(np.int64(8), np.uint8(0), np.array(4))
        assert str(env.position) == "O../.X./..X" and type(env.position.mine) is int
        env = started(np.int64(63), id="qubic-v0")
        assert env.observe("O")["observation"][3, 3, 3].tolist() == [0, 1]


class TestRewards:
    @pytest.mark.parametrize(
        ("cells", "of_x"), [(X_WINS, 1.0), (O_WINS, -1.0), (DRAW, 0.0)], ids=["X wins", "O wins", "draw"]
    )
    def test_of_both_players(self, cells: list[int], of_x: float) -> None:
        env = started(*cells)
        assert env.rewards == {"X": of_x, "O": -of_x}
        assert ends(env) == {"X": of_x, "O": -of_x}
        assert ends(started(*cells, misere=True)) == {"X": -of_x, "O": of_x}

    def test_can_be_set(self) -> None:
        all_of_them = {"win": 2, "draw": 0.5, "loss": -3, "illegal": -7}
        given: list[Any] = [(2, 0.5, -3, -7), [2, 0.5, -3, -7], all_of_them]
        for rewards in given:
            assert ends(started(*X_WINS, rewards=rewards)) == {"X": 2.0, "O": -3.0}
            assert ends(started(*DRAW, rewards=rewards)) == {"X": 0.5, "O": 0.5}
            assert ends(started(0, 0, rewards=rewards)) == {"X": 0.0, "O": -7.0}
            assert {type(reward) for reward in started(*X_WINS, rewards=rewards).rewards.values()} == {float}
        assert ends(started(*DRAW, rewards={"draw": 0.25})) == {"X": 0.25, "O": 0.25}
        assert ends(started(*X_WINS, rewards={"draw": 0.25})) == {"X": 1.0, "O": -1.0}


class TestIllegalMoves:
    def test_lose(self) -> None:
        env = started(4, 4)
        assert env.rewards == {"O": -1.0, "X": 0.0} and env.terminations == {"X": True, "O": True}
        assert str(env.position) == ".../.X./..."
        assert env.observe("X")["observation"][1, 1].tolist() == [1, 0]
        assert env.observe("O")["observation"][1, 1].tolist() == [0, 1]
        assert ends(env) == {"O": -1.0, "X": 0.0}

    def test_raise(self) -> None:
        env = started(4, illegal="raise")
        with pytest.raises(ttt_env.IllegalMoveError, match=r"cell 4 .* is taken; free are \[0, 1, 2, 3, 5"):
            env.step(4)
        env.step(3)
        assert str(env.position) == ".../OX./..."

    def test_resample_draws_every_free_cell_and_no_other(self) -> None:
        def after(seed: int) -> int:
            env = started(0, 1, 2, 4, 3, 5, seed=seed, illegal="resample")
            env.step(4)
            return env.position.theirs.bit_length() - 1

        assert str(started(*O_WINS, illegal="resample").position) == "XX./OOO/..X"  # legal moves are kept
        assert {after(seed) for seed in range(50)} == {6, 7, 8}
        assert [after(seed) for seed in range(9)] == [after(seed) for seed in range(9)]


class TestObservations:
    @pytest.mark.parametrize(
        "cells", [X_WINS, DRAW, [4, 4], [4, 0, 8, 0]], ids=["won", "full", "illegal", "illegal by O"]
    )
    def test_masks_at_the_end_are_those_of_pettingzoo(self, cells: list[int]) -> None:
        env, theirs = started(*cells), tictactoe.env()
        theirs.reset()
        for cell in cells:
            theirs.step(cell)
        names = dict(zip("XO", theirs.possible_agents, strict=True))
        assert names[env.agent_selection] == theirs.agent_selection
        for agent, name in names.items():
            mask = env.observe(agent)["action_mask"]
            assert mask.tolist() == theirs.observe(name)["action_mask"].tolist()
            assert mask.tolist() == env.infos[agent]["action_mask"].tolist()
        assert (
            env.action_masks().tolist() == env.infos[env.agent_selection]["action_mask"].astype(bool).tolist()
        )

    def test_action_masks_are_booleans_of_the_mover(self) -> None:
        env = started(4, 0)
        assert env.action_masks().dtype == np.bool_
        assert np.flatnonzero(~env.action_masks()).tolist() == [0, 4]
        planes = env.observe("X")["observation"]
        assert planes.dtype == np.int8 and planes.shape == (3, 3, 2)

    def test_arrays_are_the_callers_own(self) -> None:
        env, other = started(4), started(4)
        for array in arrays_of(env):
            array[...] = 7 if array.dtype == np.int8 else False
        for mine, others in zip(arrays_of(env), arrays_of(other), strict=True):
            assert (mine == others).all()
        env.step(0)
        other.step(0)
        for mine, others in zip(arrays_of(env), arrays_of(other), strict=True):
            assert (mine == others).all()

    def test_planes_alone_and_flat(self) -> None:
        dicts, planes, flat = (started(4, 0, observation=kind) for kind in ("dict", "planes", "flat"))
        for agent in "XO":
            expected = dicts.observe(agent)["observation"]
            assert planes.observation_space(agent).contains(planes.observe(agent))
            assert flat.observation_space(agent).contains(flat.observe(agent))
            assert flat.observe(agent).dtype == np.float32
            assert planes.observe(agent).tolist() == expected.tolist()
            assert flat.observe(agent).tolist() == expected.ravel().tolist()
        assert planes.last()[4]["action_mask"].tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1]

    def test_masks_in_infos_are_the_callers_own(self) -> None:
        env = started(4)
        for each in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env):
            for info in each.infos.values():
                info["action_mask"][:] = 0
            assert started(4).infos["O"]["action_mask"].sum() == 8 == each.observe("O")["action_mask"].sum()


class TestNames:
    NAMES = ("player_0", "player_1")

    def test_play_as_x_and_o_do(self) -> None:
        env, other = started(agent_names=self.NAMES), started()
        assert env.possible_agents == list(self.NAMES)
        for name, seat, action in zip(
            env.agent_iter(), other.agent_iter(), [*X_WINS, None, None], strict=True
        ):
            assert self.NAMES["XO".index(seat)] == name
            assert str(env.last()) == str(other.last())
            env.step(action)
            other.step(action)
        assert env.agents == []

    def test_of_an_episode(self) -> None:
        env = ttt_env.make("tictactoe-v0", agent_names=self.NAMES)
        transitions = ttt_env.collect_episode(env, dict.fromkeys(self.NAMES, "minimax"), seed=0)
        assert [len(transitions[name]) for name in self.NAMES] == [5, 4]
        with pytest.raises(ttt_env.errors.ParameterError, match="one for player_0 and one for player_1"):
            ttt_env.collect_episode(env, dict.fromkeys("XO", "minimax"))

    @pytest.mark.parametrize("names", [("a",), ("a", "a"), "XO", ("a", 1), ("", "b"), None, ("a", "b", "c")])
    def test_bad_ones(self, names: Any) -> None:
        with pytest.raises(ttt_env.errors.ParameterError, match="agent_names="):
            ttt_env.make("tictactoe-v0", agent_names=names)
        with pytest.raises(ttt_env.errors.ParameterError, match="unknown agent 'X'"):
            started(agent_names=self.NAMES).observe("X")


def some_start(rng: np.random.Generator) -> Position:
    return Position.parse("X../.../...").play(int(rng.integers(1, 9)))


class TestStart:
    def test_can_be_a_position_of_either_seat(self) -> None:
        assert started(start=Position.parse("X../.../...")).agent_selection == "O"
        env = started(start=Position.parse("X../O../..."))
        assert env.agent_selection == "X" and env.action_masks().sum() == 7

    def test_the_player_who_has_not_moved_is_told_of_its_loss(self) -> None:
        assert ends(started(2, start=Position.parse("XX./OO./..."))) == {"X": 1.0, "O": -1.0}

    def test_can_be_drawn_for_each_episode(self) -> None:
        drawn = [str(started(start=some_start, seed=seed).position) for seed in range(30)]
        assert len(set(drawn)) == 8
        assert drawn == [str(started(start=some_start, seed=seed).position) for seed in range(30)]
        env, twin = started(start=some_start), started(start=some_start)
        drawn = [(env.reset(), str(env.position))[1] for _ in range(30)]
        assert len(set(drawn)) == 8
        assert drawn == [(twin.reset(), str(twin.position))[1] for _ in range(30)]

    def test_of_one_episode(self) -> None:
        env = started(start=Position.parse("X../.../..."))
        env.reset(options={"position": Position.parse("X../O../...")})
        assert str(env.position) == "X../O../..." and env.agent_selection == "X"
        env.reset(options={"anything": 1})
        assert str(env.position) == "X../.../..."


def test_same_seed_same_episode() -> None:
    def positions(seed: int) -> list[str]:
        env = started(seed=seed, start=some_start, illegal="resample")
        seen = []
        while not any(env.terminations.values()):
            seen.append(str(env.position))
            env.step(0)
        return seen

    assert positions(5) == positions(5)
    assert len({tuple(positions(seed)) for seed in range(10)}) > 5


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
class TestCopies:
    def test_play_on_equally(self, duplicate: Callable[[Any], Any]) -> None:
        env = started(4, 0, seed=3, illegal="resample", start=some_start)
        twin = duplicate(env)
        for _ in range(9):
            assert env.position == twin.position and env.agents == twin.agents
            assert env.rewards == twin.rewards and env.terminations == twin.terminations
            if any(env.terminations.values()):
                break
            for mine, its in zip(arrays_of(env), arrays_of(twin), strict=True):
                assert (mine == its).all()
            env.step(0)
            twin.step(0)
        assert ends(env) == ends(twin)
        env.reset()
        twin.reset()
        assert env.position == twin.position

    def test_go_their_own_way(self, duplicate: Callable[[Any], Any]) -> None:
        env = started(4)
        twin = duplicate(env)
        twin.step(0)
        assert env.position.ply == 1 and env.agent_selection == "O"
        env.step(8)
        assert str(env.position) == ".../.X./..O" and str(twin.position) == "O../.X./..."

    def test_before_the_first_reset_and_between_the_dead_steps(self, duplicate: Callable[[Any], Any]) -> None:
        twin = duplicate(ttt_env.make("tictactoe-v0"))
        twin.reset()
        twin.step(4)
        assert twin.position.ply == 1
        assert ends(duplicate(started(*X_WINS, None))) == {"X": 1.0}


class TestRendering:
    def test_text_has_the_last_move(self) -> None:
        assert "[X]" in started(4, render_mode="ansi").render()

    def test_picture_changes_with_each_move(self) -> None:
        env = started(render_mode="rgb_array")
        before = env.render()
        env.step(4)
        after = env.render()
        assert before.dtype == np.uint8 and before.shape == after.shape and (before != after).any()

    def test_without_a_mode_warns(self) -> None:
        with pytest.warns(UserWarning, match="render_mode"):
            assert started().render() is None
