"""The `info` of every environment: numbers and arrays of numbers, and a consistent action mask."""

from collections.abc import Callable, Mapping
from numbers import Number
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pettingzoo.utils.wrappers
import pytest
from gymnasium.vector import SyncVectorEnv

import ttt_env
from tests.support.envs import COPIES
from tests.support.games import DRAW, X_WINS, lowest
from tests.support.marks import slow_unless
from ttt_env import Position

ID = "tictactoe-v0"


def are_numbers(info: Mapping[str, Any]) -> bool:
    """True if an info has only numbers, arrays of numbers, and such infos; `final_obs` is not an info."""
    return all(
        name == "final_obs"
        or isinstance(value, Number)
        or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
        or (isinstance(value, dict) and are_numbers(value))
        for name, value in info.items()
    )


class TestMaskOfTwoPlayers:
    """The selected agent always gets its free cells, and the other agent none."""

    WRAPPERS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "itself": lambda env: env,
        **COPIES,
        "in order": pettingzoo.utils.wrappers.OrderEnforcingWrapper,
        "terminating": lambda env: pettingzoo.utils.wrappers.TerminateIllegalWrapper(env, -1),
        "base": pettingzoo.utils.wrappers.BaseWrapper,
    }

    @pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
    @pytest.mark.parametrize("cells", [X_WINS, DRAW], ids=["won", "full"])
    def test_masks_at_every_move_and_after_end(self, wrap: Callable[[Any], Any], cells: list[int]) -> None:
        env = wrap(ttt_env.make(ID))
        env.reset()
        for cell in [*cells, None]:
            free = (env.unwrapped.position.board == 0).ravel()
            for agent in env.agents:
                expected = free * (agent == env.agent_selection)
                assert env.infos[agent]["action_mask"].tolist() == expected.tolist()
                assert env.observe(agent)["action_mask"].tolist() == expected.tolist()
                assert are_numbers(env.infos[agent])
            observation, _, _, _, info = env.last()
            masks = [info["action_mask"], observation["action_mask"], env.unwrapped.action_masks()]
            assert all(mask.tolist() == free.tolist() for mask in masks)
            env.step(cell)
        assert env.unwrapped.terminations == {env.agent_selection: True}


class TestMaskOfOnePlayer:
    """The legal cells, and all ones when the episode is over."""

    WRAPPERS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "itself": lambda env: env,
        **COPIES,
        "checked": gymnasium.wrappers.PassiveEnvChecker,
        "ordered": gymnasium.wrappers.OrderEnforcing,
        "recorded": gymnasium.wrappers.RecordEpisodeStatistics,
        "limited": lambda env: gymnasium.wrappers.TimeLimit(env, 99),
    }

    @pytest.mark.parametrize("cells", [[6, 7, 8], [4, 4], [8, 4, 3]], ids=["won", "taken", "lost"])
    @pytest.mark.parametrize("kind", ["dict", "planes", "flat"])
    @pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
    def test_single_env(self, wrap: Callable[[Any], Any], kind: Any, cells: list[int]) -> None:
        env = wrap(ttt_env.make(ID, opponent=lowest, play_as="X", observation=kind))
        observation, info = env.reset(seed=0)
        for cell in [*cells, None]:
            is_over = cell is None
            expected = (env.unwrapped.position.board == 0).ravel() | is_over
            assert info["action_mask"].tolist() == expected.tolist()
            assert env.get_wrapper_attr("action_masks")().tolist() == expected.tolist()
            if kind == "dict":
                assert observation["action_mask"].tolist() == expected.tolist()
            if not is_over:
                observation, _, _, _, info = env.step(cell)
            values = {name: value for name, value in info.items() if name != "episode"}
            assert are_numbers(values)

    @pytest.mark.parametrize(
        "game, mode, opponent",
        slow_unless(
            lambda game, mode, opponent: game == ID or (opponent == "block" and mode == "next_step"),
            [ID, "mnk-v0:m=5,n=3,k=3"],
            ["next_step", "same_step", "disabled"],
            [lowest, "block", None],
        ),
        ids=lambda value: getattr(value, "__name__", str(value)),
    )
    def test_vector_env(self, game: str, mode: Any, opponent: Any) -> None:
        envs = ttt_env.make_vec(game, 16, opponent, observation="dict", autoreset_mode=mode)
        observation, info = envs.reset(seed=0)
        rng, n_ended = np.random.default_rng(0), 0
        for _ in range(12):
            free = np.array([(position.board == 0).ravel() for position in envs.boards])
            expected = free | envs._over[:, None] if mode != "same_step" else free
            for mask in (info["action_mask"], observation["action_mask"], envs.action_masks()):
                assert (mask == expected).all()
            actions = (rng.random(expected.shape) * expected).argmax(axis=1)
            observation, _, over, _, info = envs.step(actions)
            assert are_numbers(info)
            if mode == "same_step" and over.any():
                assert info["final_info"]["action_mask"][over].all()
                assert all(observed["action_mask"].all() for observed in info["final_obs"][over])
            n_ended += over.sum()
            if mode == "disabled" and over.any():
                observation, info = envs.reset(options={"reset_mask": over})
        assert n_ended

    def test_sync_vector_env(self) -> None:
        make = lambda: ttt_env.make(ID, lowest, play_as="X", observation="dict")  # noqa: E731
        envs = SyncVectorEnv([make] * 2)
        envs.reset(seed=0)
        for cells in ([8, 6], [7, 7], [2, 8]):
            observation, _, over, _, info = envs.step(np.array(cells))
            assert are_numbers(info)
        assert over.tolist() == [False, True]
        for mask in (info["action_mask"], observation["action_mask"], np.array(envs.call("action_masks"))):
            assert mask[1].all() and mask[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 0, 0]


class TestWrappersToTorch:
    """Wrappers that turn every number into a tensor, and fail on all else, in whole episodes."""

    @pytest.mark.parametrize("opponent", ["random", "forfeiting"])
    @pytest.mark.parametrize("kind", ["planes", "dict", "flat"])
    def test_single_env(self, kind: Any, opponent: str) -> None:
        torch = pytest.importorskip("torch")
        agent = "random" if opponent == "random" else SilentAgent()
        env = gymnasium.wrappers.NumpyToTorch(ttt_env.make(ID, agent, play_as="X", observation=kind))
        for seed in range(20):
            (_, info), over = env.reset(seed=seed), False
            while not over:
                cell = torch.multinomial(info["action_mask"].float(), 1)[0]
                _, _, over, _, info = env.step(cell)
            assert isinstance(info["seat"], torch.Tensor) and isinstance(info["winner"], torch.Tensor)

    @pytest.mark.parametrize("kind", ["planes", "dict", "flat"])
    @pytest.mark.parametrize("opponent", ["random", "forfeiting"])
    def test_vector_env(self, opponent: str, kind: Any) -> None:
        torch = pytest.importorskip("torch")
        agent = "random" if opponent == "random" else SilentAgent()
        envs: Any = ttt_env.make_vec(ID, 3, agent, play_as="X", observation=kind)
        envs = gymnasium.wrappers.vector.NumpyToTorch(envs)
        info, n_ended, n_forfeits = envs.reset(seed=0)[1], 0, 0
        for _ in range(30):
            cells = torch.multinomial(info["action_mask"].float(), 1)[:, 0]
            _, _, over, _, info = envs.step(cells)
            n_ended += int(over.sum())
            n_forfeits += int(info["forfeit"].sum()) if "forfeit" in info else 0
            assert info["seat"].tolist() == [0, 0, 0]
        assert n_ended > 3 and n_forfeits == n_ended * (opponent == "forfeiting")


class SilentAgent(ttt_env.agent.AskedAgent):
    """Never names a cell."""

    def __init__(self) -> None:
        super().__init__(ttt_env.get_game(ID))

    def answer(self, position: Position) -> ttt_env.agent.Answer:
        return ttt_env.agent.Answer.failure("unreadable", "")
