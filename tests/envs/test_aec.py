"""The two-player environment."""

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic.tictactoe import tictactoe

import ttt_env
from tests.support.envs import two_player
from tests.support.games import DRAW, X_WINS
from tests.support.refusals import all_raise
from ttt_env import Position
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.errors import ParameterError


def final_rewards(env: TwoPlayerEnv) -> dict[str, float]:
    """The reward that each player gets from its last `last()`."""
    rewards = {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert terminated and not truncated
        rewards[agent] = reward
        env.step(None)
    return rewards


def arrays_of(env: TwoPlayerEnv) -> list[np.ndarray[Any, Any]]:
    """All arrays that the environment returns and that a caller may write to."""
    observations = [env.observe("X"), env.observe("O"), env.last()[0]]
    return [array for each in observations for array in each.values()] + [env.action_masks()]


class TestOneGame:
    def test_dead_steps_remove_agents(self) -> None:
        env = two_player(*X_WINS)
        assert env.agents == ["X", "O"] and env.terminations == {"X": True, "O": True}
        env.step(None)
        assert env.agents == ["X"] and env.agent_selection == "X"
        for of_agent in (env.rewards, env.terminations, env.truncations, env.infos):
            assert set(of_agent) == {"X"}
        env.step(None)
        assert env.agents == [] and env.num_agents == 0
        assert not (env.rewards or env.terminations or env.truncations or env.infos)

    def test_reset_starts_from_empty_board_at_any_time(self) -> None:
        for cells in ([4, 0, 8], X_WINS, [*X_WINS, None], [*X_WINS, None, None]):
            env = two_player(*cells)  # type: ignore[arg-type]
            env.reset()
            assert env.position == env.game.start and env.agents == ["X", "O"]
            assert env.agent_selection == "X" and env.action_masks().all()
            assert env.rewards == {"X": 0.0, "O": 0.0} and env.terminations == {"X": False, "O": False}

    def test_agent_iter_stops_after_max_iter(self) -> None:
        env = two_player()
        agents = []
        for agent in env.agent_iter(3):
            agents.append(agent)
            env.step(len(agents))
        assert agents == ["X", "O", "X"] and env.position.ply == 3
        assert env.last(observe=False)[0] is None


class TestRewards:
    def test_rewards_can_be_set(self) -> None:
        all_of_them = {"win": 2, "draw": 0.5, "loss": -3, "illegal": -7}
        accepted: list[Any] = [(2, 0.5, -3, -7), [2, 0.5, -3, -7], all_of_them]
        for rewards in accepted:
            assert final_rewards(two_player(*X_WINS, rewards=rewards)) == {"X": 2.0, "O": -3.0}
            assert final_rewards(two_player(*DRAW, rewards=rewards)) == {"X": 0.5, "O": 0.5}
            assert final_rewards(two_player(0, 0, rewards=rewards)) == {"X": 0.0, "O": -7.0}
            assert {type(reward) for reward in two_player(*X_WINS, rewards=rewards).rewards.values()} == {
                float
            }
        assert final_rewards(two_player(*DRAW, rewards={"draw": 0.25})) == {"X": 0.25, "O": 0.25}
        assert final_rewards(two_player(*X_WINS, rewards={"draw": 0.25})) == {"X": 1.0, "O": -1.0}


class TestObservations:
    @pytest.mark.parametrize(
        "cells", [X_WINS, DRAW, [4, 4], [4, 0, 8, 0]], ids=["won", "full", "illegal", "illegal by O"]
    )
    def test_final_masks_equal_pettingzoo(self, cells: list[int]) -> None:
        env, theirs = two_player(*cells), tictactoe.env()
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

    def test_arrays_are_copies(self) -> None:
        env, other = two_player(4), two_player(4)
        for array in arrays_of(env):
            array[...] = 7 if array.dtype == np.int8 else False
        for mine, others in zip(arrays_of(env), arrays_of(other), strict=True):
            assert (mine == others).all()
        env.step(0)
        other.step(0)
        for mine, others in zip(arrays_of(env), arrays_of(other), strict=True):
            assert (mine == others).all()

    def test_planes_and_flat_observations(self) -> None:
        dicts, planes, flat = (two_player(4, 0, observation=kind) for kind in ("dict", "planes", "flat"))
        for agent in "XO":
            expected = dicts.observe(agent)["observation"]
            assert planes.observation_space(agent).contains(planes.observe(agent))
            assert flat.observation_space(agent).contains(flat.observe(agent))
            assert flat.observe(agent).dtype == np.float32
            assert planes.observe(agent).tolist() == expected.tolist()
            assert flat.observe(agent).tolist() == expected.ravel().tolist()
        assert planes.last()[4]["action_mask"].tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1]
        assert np.flatnonzero(~planes.action_masks()).tolist() == [0, 4]
        assert planes.action_masks().dtype == np.bool_ and expected.dtype == np.int8

    def test_masks_in_infos_are_copies(self) -> None:
        env = two_player(4)
        for each in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env):
            for info in each.infos.values():
                info["action_mask"][:] = 0
            assert (
                two_player(4).infos["O"]["action_mask"].sum() == 8 == each.observe("O")["action_mask"].sum()
            )


class TestNames:
    NAMES = ("player_0", "player_1")

    def test_custom_names_play_as_x_and_o(self) -> None:
        env, other = two_player(agent_names=self.NAMES), two_player()
        assert env.possible_agents == list(self.NAMES)
        for name, seat, action in zip(
            env.agent_iter(), other.agent_iter(), [*X_WINS, None, None], strict=True
        ):
            assert self.NAMES["XO".index(seat)] == name
            assert str(env.last()) == str(other.last())
            env.step(action)
            other.step(action)
        assert env.agents == []

    def test_custom_names_in_episode(self) -> None:
        env = ttt_env.make("tictactoe-v0", agent_names=self.NAMES)
        transitions = ttt_env.collect_episode(env, dict.fromkeys(self.NAMES, "minimax"), seed=0)
        assert [len(transitions[name]) for name in self.NAMES] == [5, 4]
        with pytest.raises(ParameterError, match="one for player_0 and one for player_1"):
            ttt_env.collect_episode(env, dict.fromkeys("XO", "minimax"))

    def test_bad_names_are_refused(self) -> None:
        bad: list[Any] = [("a",), ("a", "a"), "XO", ("a", 1), ("", "b"), None, ("a", "b", "c")]
        make = partial(ttt_env.make, "tictactoe-v0")
        all_raise(ParameterError, "agent_names=", lambda names: make(agent_names=names), bad)
        with pytest.raises(ParameterError, match="agent='X': expected one of player_0, player_1"):
            two_player(agent_names=self.NAMES).observe("X")


class TestStart:
    def test_player_without_move_gets_its_loss(self) -> None:
        assert final_rewards(two_player(2, start=Position.parse("XX./OO./..."))) == {"X": 1.0, "O": -1.0}

    def test_position_of_one_episode(self) -> None:
        env = two_player(start=Position.parse("X../.../..."))
        assert env.agent_selection == "O"
        env.reset(options={"position": Position.parse("X../O../...")})
        assert str(env.position) == "X../O../..." and env.agent_selection == "X"
        env.reset(options={"anything": 1})
        assert str(env.position) == "X../.../..."
