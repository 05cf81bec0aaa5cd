"""The vector environment."""

import copy
import itertools
import pickle
from collections import Counter
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

import ttt_env
from tests.support.agents import Nth, Wandering
from tests.support.games import NEAR_WIN, highest, lowest, open_boards
from tests.support.marks import slow, slow_unless
from tests.support.refusals import all_raise
from ttt_env import Boards, Position
from ttt_env.analysis.layers import reachable
from ttt_env.envs.vector import env as vector
from ttt_env.envs.vector.env import VectorGameEnv
from ttt_env.envs.vector.states import BitStore, TableStore, store_of, table_store

STORES: dict[str, Any] = {"table": table_store, "bits": BitStore}
MODES = ["next_step", "same_step", "disabled"]

BAD_ACTIONS: list[Any] = [  # of four environments
    *(np.zeros(3, int), np.zeros((4, 1), int), np.zeros(4), np.zeros(4, bool), np.array([0, 0, 0, 9])),
    *(np.array([0, -1, 0, 0], np.int8), np.array([0, 0, 2**63, 0], np.uint64)),
    *([0, 1, True, 3], [0, 1, 2, 3.0], [0, 1, 2, None], [[0], [1, 2], [3], [4]], 3, None),
]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(vector, "store_of", STORES[request.param])
    return str(request.param)


def new_envs(num_envs: int = 4, seed: int = 0, options: Any = None, **settings: Any) -> VectorGameEnv:
    envs = ttt_env.make_vec(
        settings.pop("id", "tictactoe-v0"), num_envs, **{"opponent": lowest, "play_as": "X", **settings}
    )
    envs.reset(seed=seed, options=options)
    return envs


def free_cells(envs: VectorGameEnv, rng: np.random.Generator) -> Any:
    """A random free cell of each sub-env, or any cell if none is free."""
    masks = envs.action_masks()
    return np.argmax(masks * rng.random(masks.shape), axis=1)


def comparable(value: Any) -> Any:
    """Arrays, and tuples and dicts of them, in a form that == compares."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(comparable(part) for part in value)
    is_of_objects = isinstance(value, np.ndarray) and value.dtype.kind == "O"
    return [comparable(part) for part in value] if is_of_objects else np.array(value).tolist()


def trajectory(envs: VectorGameEnv, n_steps: int = 30, **reset: Any) -> list[Any]:
    rng = np.random.default_rng(7)
    outputs = [comparable(envs.reset(**reset))]
    for _ in range(n_steps):
        outputs.append(comparable(envs.step(free_cells(envs, rng))))
    return outputs


def positions_of(seat: str, step: int) -> list[Position]:
    """Every `step`-th position in which this side is to move."""
    return [position for position in open_boards() if position.to_move == seat][::step]


@cache
def single_steps(seat: str, step: int) -> dict[tuple[int, int, int, int], tuple[Any, ...]]:
    """The outputs of the single env for all these positions × action × reply."""
    outputs = {}
    env = ttt_env.make("tictactoe-v0", opponent="random")
    for rank in range(9):
        env.set_opponent(Nth(env.game, rank))
        for position in positions_of(seat, step):
            if rank >= max(1, 8 - position.ply):
                continue  # there are fewer replies
            options = {"position": position, "play_as": position.to_move}
            for cell in range(9):
                env.reset(options=options)
                observation, reward, over, _, info = env.step(cell)
                outputs[position.mine, position.theirs, cell, rank] = (
                    observation.tobytes(),
                    reward,
                    over,
                    info["action_mask"].tobytes(),
                    env.position,
                )
    return outputs


class TestAgreesWithSingleEnv:
    @pytest.mark.parametrize(("seat", "step"), [("X", 80), ("O", 80), slow("X", 1), slow("O", 1)])
    def test_every_position_action_and_reply(self, store: str, seat: str, step: int) -> None:
        positions, outputs = positions_of(seat, step), single_steps(seat, step)
        envs = new_envs(len(positions), autoreset_mode="disabled")
        for rank, cell in itertools.product(range(9), range(9)):
            if cell == 0:
                envs.set_opponent(Nth(envs.game, rank))
            envs.reset(options={"position": positions, "play_as": seat})
            planes, rewards, over, truncated, info = envs.step(np.full(len(positions), cell))
            assert not truncated.any()
            masks = info["action_mask"]
            for at, (position, after) in enumerate(zip(positions, envs.boards, strict=True)):
                if rank >= max(1, 8 - position.ply):
                    continue
                expected = outputs[position.mine, position.theirs, cell, rank]
                result = (planes[at].tobytes(), rewards[at], over[at], masks[at].tobytes(), after)
                assert result == expected

    def test_stores_are_equal_with_random_opponents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        outputs = []
        for make_store in STORES.values():
            monkeypatch.setattr(vector, "store_of", make_store)
            for mode in MODES[:2]:
                envs = new_envs(32, opponent=["random", "minimax"], play_as="random", autoreset_mode=mode)
                outputs.append(trajectory(envs, 20, seed=3))
        assert outputs[:2] == outputs[2:]

    def test_store_is_chosen_by_game(self) -> None:
        games = [ttt_env.get_game("tictactoe-v0"), ttt_env.get_game("mnk-v0", m=4, n=3, k=3)]
        assert all(isinstance(store_of(game), TableStore) for game in games)
        assert isinstance(store_of(ttt_env.get_game("square-v0")), BitStore)

    def test_tables_of_4_3_3(self) -> None:
        game = ttt_env.get_game("mnk-v0", m=4, n=3, k=3)
        table, bits = table_store(game), BitStore(game)
        assert table.n_open == sum(len(layer.open_slots) for layer in reachable(game))
        rng = np.random.default_rng(0)
        one, other = (kind.of(Boards.start(game, 3000)) for kind in (table, bits))
        for _ in range(game.n_cells + 2):
            cells = rng.integers(game.n_cells, size=3000)
            one, other = table.play(one, cells), bits.play(other, cells)
            for method in ("codes", "planes", "masks"):
                assert (getattr(table, method)(one) == getattr(bits, method)(other)).all()
            assert (table.boards(one).mine == bits.boards(other).mine).all()


class TestAutoreset:
    """A batch of two: sub-env 0 wins at once with cell 2, sub-env 1 continues."""

    @staticmethod
    def win_first(mode: str, **settings: Any) -> tuple[VectorGameEnv, Any]:
        positions = [NEAR_WIN, Position.parse(".../.../...")]
        envs = new_envs(2, options={"position": positions}, autoreset_mode=mode, **settings)
        return envs, envs.step(np.array([2, 8]))

    def test_mode_is_declared(self) -> None:
        for mode in MODES:
            envs = new_envs(autoreset_mode=mode)
            assert envs.metadata["autoreset_mode"] is AutoresetMode[mode.upper()]
            assert new_envs(autoreset_mode=AutoresetMode[mode.upper()]).metadata == envs.metadata

    def test_next_step(self, store: str) -> None:
        envs, (planes, rewards, over, truncated, info) = self.win_first("next_step")
        assert rewards.tolist() == [1.0, 0.0] and over.tolist() == [True, False] and not truncated.any()
        assert str(envs.boards[0]) == "XXX/OO./..." and planes[0, 0, 2].tolist() == [1, 0]
        assert info["action_mask"][0].all() and "final_obs" not in info
        planes, rewards, over, _, info = envs.step(np.array([4, 4]))
        assert [str(board) for board in envs.boards] == [".../.../...", "OO./.X./..X"]
        assert rewards.tolist() == [0.0, 0.0] and not over.any()
        assert not planes[0].any() and info["action_mask"][0].all()

    def test_same_step(self, store: str) -> None:
        envs, (planes, rewards, over, _, info) = self.win_first("same_step")
        assert rewards.tolist() == [1.0, 0.0] and over.tolist() == [True, False]
        assert [str(board) for board in envs.boards] == [".../.../...", "O../.../..X"]
        assert not planes[0].any() and info["action_mask"][0].all()
        assert info["_final_obs"].tolist() == info["_final_info"].tolist() == [True, False]
        assert info["final_obs"][0][0, 2].tolist() == [1, 0] and info["final_obs"][1] is None
        assert info["final_info"]["action_mask"][0].all()
        assert info["final_info"]["_action_mask"].tolist() == [True, False]
        assert "final_obs" not in envs.step(np.array([4, 4]))[4]

    def test_disabled(self, store: str) -> None:
        envs, (_, _, over, _, _) = self.win_first("disabled")
        with pytest.raises(ttt_env.errors.EpisodeOrderError, match=r"sub-envs \[0\] are over"):
            envs.step(np.array([4, 4]))
        assert str(envs.boards[1]) == "O../.../..X"
        options = {"reset_mask": over}
        planes, info = envs.reset(options=options)
        assert options == {"reset_mask": over}
        assert [str(board) for board in envs.boards] == [".../.../...", "O../.../..X"]
        assert planes[1].any() and info["action_mask"][1].sum() == 7
        assert not envs.step(np.array([4, 4]))[2].any()

    @pytest.mark.parametrize("opponent", [lowest, "random"], ids=["function", "table"])
    @pytest.mark.parametrize("mode", MODES[:2])
    def test_episode_ends_do_not_affect_other_sub_envs(self, store: str, mode: str, opponent: Any) -> None:
        """Every pattern of ends in a batch of 4: the outputs of each sub-env depend only on its own start."""
        stories: dict[tuple[int, bool], set[str]] = {}
        for pattern in itertools.product([False, True], repeat=4):
            for at, story in enumerate(self.stories(pattern, mode, opponent)):
                stories.setdefault((at, pattern[at]), set()).add(story)
        assert len(stories) == 8 and all(len(outputs) == 1 for outputs in stories.values())

    @staticmethod
    def stories(pattern: tuple[bool, ...], mode: str, opponent: Any) -> list[str]:
        middle = Position.parse("X../.O./...")
        positions = [NEAR_WIN if ends else middle for ends in pattern]
        envs = new_envs(4, options={"position": positions}, autoreset_mode=mode, opponent=opponent)
        outputs: list[list[Any]] = [[] for _ in pattern]
        for cell in (2, 7):
            planes, rewards, over, _, info = envs.step(np.full(4, cell))
            for at in range(4):
                final = comparable(info["final_obs"][at]) if "final_obs" in info else None
                outputs[at] += [comparable(part[at]) for part in (planes, rewards, over, info["action_mask"])]
                outputs[at].append(final)
        return [str(story) for story in outputs]


@pytest.mark.parametrize("kind", ["flat", "dict"])
def test_other_observation_kinds_equal_planes(store: str, kind: str) -> None:
    settings = {"autoreset_mode": "same_step", "opponent": "random", "play_as": "random"}
    envs, planes = new_envs(8, **settings, observation=kind), new_envs(8, **settings)
    rng = np.random.default_rng(0)

    def of(value: Any) -> Any:
        if kind == "dict":
            assert set(value) == {"observation", "action_mask"}
        return value["observation"] if kind == "dict" else value

    for _ in range(12):
        cells = free_cells(planes, rng)
        observation, *_, info = envs.step(cells)
        expected, *_, planes_info = planes.step(cells)
        assert envs.observation_space.contains(observation)
        assert (of(observation).reshape(8, -1) == expected.reshape(8, -1)).all()
        for at in np.flatnonzero(info.get("_final_obs", [])):
            assert (of(info["final_obs"][at]).ravel() == planes_info["final_obs"][at].ravel()).all()
            assert of(info["final_obs"][at]).ndim == (1 if kind == "flat" else 3)


class TestSubEnvAttributes:
    def test_attributes_equal_sync_vector_env(self, store: str) -> None:
        """Gymnasium's own vector env of single envs, for attributes that both have."""
        settings: dict[str, Any] = {"opponent": lowest, "play_as": "O"}
        envs = new_envs(3, **settings, render_mode="ansi")
        sync = gymnasium.vector.SyncVectorEnv(
            [lambda: ttt_env.make("tictactoe-v0", **settings, render_mode="ansi")] * 3
        )
        observations, _ = sync.reset(seed=0)
        assert (observations == envs.reset(seed=0)[0]).all() and observations[:, 0, 0].tolist() == [
            [0, 1]
        ] * 3
        for name in ("position", "seat", "illegal", "play_as", "game"):
            assert envs.get_attr(name) == sync.get_attr(name) == envs.call(name)
        for ours, theirs in zip(envs.call("action_masks"), sync.call("action_masks"), strict=True):
            assert ours.tolist() == theirs.tolist()
        for ours, theirs in zip(envs.call("render"), sync.call("render"), strict=True):
            assert ours == theirs.replace("[X]", " X ")  # the single env marks the last move
        assert new_envs(2).call("render") == (None, None)
        with pytest.raises(AttributeError):
            envs.get_attr("colour")

    @pytest.mark.parametrize("mode", MODES[:2])
    def test_settings_can_be_set(self, store: str, mode: str) -> None:
        envs = new_envs(3, autoreset_mode=mode, rewards={"illegal": -9})
        assert envs.call("set_opponent", "minimax") == (None, None, None)  # called once for all
        assert [str(agent) for agent in envs.opponents] == [str(ttt_env.make_agent("minimax"))]
        assert envs.get_attr("opponent") == (envs.opponents[0],) * 3
        envs.set_attr("opponent", "random")
        envs.set_attr("illegal", ["resample"] * 3)
        envs.set_attr("play_as", "O")
        envs.set_attr("colour", "blue")
        assert envs.get_attr("colour") == ("blue",) * 3 and len(envs.opponents) == 1
        for _ in range(12):  # cell 0 is taken most of the time, but no episode is lost by it
            assert -9 not in envs.step(np.zeros(3, int))[1]
        assert envs.seats.tolist() == [1, 1, 1]

    def test_bad_settings_change_nothing(self) -> None:
        envs = new_envs(3)
        before = envs.illegal, envs.play_as, envs.num_envs, envs.opponents
        differing: list[Any] = [["lose", "raise", "lose"], ["lose"]]
        bad = [
            ("play_as", "Y"),
            ("num_envs", 4),
            ("boards", None),
            ("opponent", "nobody"),
            ("illegal", "win"),
            *((name, 0) for name in ("rewards", "start", "observation", "opponent_weights", "misere")),
        ]
        bad += [("illegal", values) for values in differing]
        all_raise(ttt_env.TttEnvError, "", lambda pair: envs.set_attr(*pair), bad)
        assert (envs.illegal, envs.play_as, envs.num_envs, envs.opponents) == before


class TestPlayAsAndOpponents:
    def test_alternate_takes_turns_in_each_sub_env(self, store: str) -> None:
        envs = new_envs(4, play_as="alternate", autoreset_mode="same_step", opponent="random")
        seats, rng = [0] * 4, np.random.default_rng(0)
        for _ in range(60):
            assert envs.seats.tolist() == seats
            over = envs.step(free_cells(envs, rng))[2]
            seats = [seat ^ int(ended) for seat, ended in zip(seats, over, strict=True)]
        envs.reset()
        assert envs.seats.tolist() == [1 - seat for seat in seats]
        envs.reset(seed=3)
        assert envs.seats.tolist() == [0] * 4

    def test_random_seats_and_seat_of_one_episode(self) -> None:
        assert set(new_envs(100, play_as="random").seats.tolist()) == {0, 1}
        envs = new_envs(3, options={"play_as": "O"})
        assert envs.seats.tolist() == [1] * 3
        envs.reset()
        assert envs.seats.tolist() == [0] * 3

    def test_draw_of_zero_picks_possible_reply(self) -> None:
        """Minimax answers a corner with the centre; the cells before it have probability 0."""

        class Zeros(np.random.Generator):
            def random(self, size: Any = None) -> Any:  # type: ignore[override]
                return np.zeros(size)

        envs = ttt_env.make_vec("tictactoe-v0", 2, opponent="minimax", play_as="X")
        envs.reset(seed=0)
        envs.np_random = Zeros(np.random.PCG64(0))
        observations = envs.step([0, 8])[0]
        assert np.argwhere(observations[..., 1]).tolist() == [[0, 1, 1], [1, 1, 1]]

    @pytest.mark.parametrize("kind", [Nth, Wandering])
    def test_each_sub_env_draws_its_opponent_for_episode(self, store: str, kind: Any) -> None:
        game = ttt_env.get_game("tictactoe-v0")
        envs = new_envs(200, opponent=[kind(game, 0), kind(game, -1)], autoreset_mode="disabled")
        envs.step(np.full(200, 4))
        replies = [board.o_mask for board in envs.boards]
        assert set(replies) == {1, 1 << 8}
        envs.step(np.full(200, 5))
        second = [board.o_mask for board in envs.boards]
        assert second == [0b11 if reply == 1 else 0b110000000 for reply in replies]

    @pytest.mark.parametrize("is_set_later", [False, True], ids=["made with", "set later"])
    def test_opponents_are_drawn_by_weight(self, store: str, is_set_later: bool) -> None:
        several, weights = [lowest, highest, "minimax"], [6.0, 2.0, 0.0]
        settings: Any = {} if is_set_later else {"opponent": several, "opponent_weights": weights}
        envs = new_envs(1000, autoreset_mode="disabled", **settings)
        if is_set_later:
            envs.set_opponent(several, weights)
        envs.step(np.full(1000, 4))
        counts = Counter(board.o_mask for board in envs.boards)
        assert set(counts) == {1, 1 << 8}
        assert abs(counts[1] - 750) < 55  # four standard deviations

    def test_bad_weights_change_nothing(self) -> None:
        envs = new_envs(opponent="random")
        twin = copy.deepcopy(envs)
        bad: list[Any] = [[1], [1, 2, 3], [[1, 2]], [0, 0], [1, -1], [1, np.nan]]
        two, text = [lowest, highest], "2 finite numbers ≥ 0, not all 0"
        all_raise(ttt_env.errors.ParameterError, text, lambda it: envs.set_opponent(two, it), bad)
        all_raise(
            ttt_env.errors.ParameterError, text, lambda it: new_envs(opponent=two, opponent_weights=it), bad
        )
        assert trajectory(envs) == trajectory(twin)

    def test_single_env_draws_same_opponents(self) -> None:
        several, weights = [lowest, highest, "minimax"], [0.2, 0.5, 0.3]
        single = ttt_env.make("tictactoe-v0", several, opponent_weights=weights, play_as="X")
        draws = np.random.default_rng(4).random(50)
        drawn = [(single.reset(seed=None if at else 4), repr(single.opponent))[1] for at in range(50)]
        envs = new_envs(50, opponent=several, opponent_weights=weights)
        numbers = envs._replies.numbers(draws)  # type: ignore[union-attr]
        assert [repr(envs.opponents[number]) for number in numbers] == drawn

    def test_opponents_of_all_kinds_can_be_mixed(self, store: str) -> None:
        game = ttt_env.get_game("tictactoe-v0")
        envs = new_envs(300, opponent=[Nth(game, 0), Wandering(game, -1), lambda p: p.legal_cells[1]])
        envs.step(np.full(300, 4))
        assert {board.o_mask for board in envs.boards} == {1, 2, 1 << 8}

    def test_opponent_can_be_changed_during_episode(self, store: str) -> None:
        for opponent in (highest, [highest], "minimax"):
            envs = new_envs(3)
            envs.step(np.full(3, 4))
            envs.set_opponent(opponent)
            envs.step(np.full(3, 1))
            assert {board.o_mask for board in envs.boards} <= {1 | 1 << 8, 1 | 1 << 7}, opponent

    def test_starts_are_drawn_and_redrawn_if_opponent_ends_them(self, store: str) -> None:
        middle = Position.parse("X../.../...")
        envs = new_envs(100, start=lambda rng: middle.play(int(rng.integers(1, 9))))
        assert len({str(board) for board in envs.boards}) == 8
        lost, open_ = Position.parse(".XX/OO./..."), Position.parse("..X/OO./.X.")
        envs = new_envs(20, play_as="O", start=lambda rng: (lost, open_)[int(rng.integers(2))])
        assert {str(board) for board in envs.boards} == {"X.X/OO./.X."}
        with pytest.raises(ttt_env.errors.ImpossiblePositionError, match="ends the game"):
            new_envs(2, play_as="O", start=lost)


class TestBothSides:
    @pytest.mark.parametrize("step", [31, slow(1)])
    def test_every_step_equals_aec_env(self, store: str, step: int) -> None:
        """For every position and action: the next player's observation and both rewards."""
        positions = list(open_boards()[::step])
        envs = new_envs(len(positions), opponent=None, play_as="random", autoreset_mode="disabled")
        aec = ttt_env.make("tictactoe-v0")
        for cell in range(9):
            envs.reset(options={"position": positions})
            assert envs.seats.tolist() == [position.ply % 2 for position in positions]
            planes, rewards, over, _, info = envs.step(np.full(len(positions), cell))
            for at, position in enumerate(positions):
                aec.reset(options={"position": position})
                mover = aec.agent_selection
                aec.step(cell)
                viewer = "XO"[info["seat"][at]]
                assert viewer == aec.agent_selection != mover
                expected = aec.observe(viewer)
                assert (planes[at] == expected["observation"]).all()
                assert (info["action_mask"][at] == (expected["action_mask"] | over[at])).all()
                assert rewards[at] == aec.rewards[mover] and over[at] == aec.terminations[mover]
                assert info["rewards"][at].tolist() == [aec.rewards["X"], aec.rewards["O"]]

    @pytest.mark.parametrize("mode", MODES[:2])
    def test_autoreset_with_both_sides(self, mode: str) -> None:
        options = {"position": [NEAR_WIN, Position.parse("X../.../...")]}
        envs = new_envs(2, options=options, opponent=None, play_as="random", autoreset_mode=mode)
        _, rewards, over, _, info = envs.step(np.array([2, 4]))
        assert rewards.tolist() == [1.0, 0.0] and info["rewards"].tolist() == [[1, -1], [0, 0]]
        assert over.tolist() == [True, False]
        if mode == "same_step":
            assert info["seat"].tolist() == [0, 0] and info["final_info"]["seat"].tolist() == [1, 0]
            assert info["final_obs"][0][0, :, 1].tolist() == [1, 1, 1]
        else:
            assert info["seat"].tolist() == [1, 0]
            _, rewards, over, _, info = envs.step(np.array([2, 5]))
            assert info["seat"].tolist() == [0, 1] and not rewards.any() and not over.any()

    def test_both_sides_refuse_opponent_and_seat(self) -> None:
        envs = new_envs(opponent=None, play_as="random")
        with pytest.raises(ttt_env.errors.ParameterError, match="both sides"):
            envs.set_opponent("random")
        with pytest.raises(ttt_env.errors.ParameterError, match="play_as"):
            ttt_env.make_vec("tictactoe-v0", 2, None, play_as="X")
        with pytest.raises(ttt_env.errors.ParameterError, match="opponent_weights"):
            ttt_env.make_vec("tictactoe-v0", 2, None, opponent_weights=[1])
        with pytest.raises(ttt_env.errors.ParameterError, match="play_as"):
            envs.reset(options={"play_as": "X"})
        with pytest.raises(ttt_env.errors.ParameterError, match="expected one of random"):
            envs.set_attr("play_as", "X")
        assert envs.opponents == []


def state_of(envs: VectorGameEnv) -> Any:
    return comparable((envs.boards.mine, envs.boards.theirs, envs.seats, envs.action_masks()))


class TestErrorsChangeNothing:
    def test_bad_actions_change_nothing(self, store: str) -> None:
        envs = new_envs(opponent="random", seed=4)
        twin, before = copy.deepcopy(envs), state_of(envs)
        all_raise(ttt_env.errors.CellError, "4 cells of tictactoe", envs.step, BAD_ACTIONS)
        assert state_of(envs) == before
        assert comparable(envs.step(np.arange(4))) == comparable(twin.step(np.arange(4)))

    def test_integer_actions_of_all_types_are_accepted(self, store: str) -> None:
        kinds: list[Any] = [np.int8, np.uint8, np.int32, np.uint64, list]
        for dtype in kinds:
            envs = new_envs(id="square-v0" if store == "bits" else "tictactoe-v0")
            envs.step([4, 5, 6, 7] if dtype is list else np.array([4, 5, 6, 7], dtype))
            assert [board.x_mask for board in envs.boards] == [1 << 4, 1 << 5, 1 << 6, 1 << 7], dtype

    def test_illegal_move_raises_and_changes_nothing(self, store: str) -> None:
        envs = new_envs(illegal="raise")
        envs.step(np.full(4, 4))
        before = state_of(envs)
        with pytest.raises(ttt_env.IllegalMoveError, match=r"cell 0 .* in sub-env 2 is taken; free are \[1"):
            envs.step(np.array([1, 2, 0, 3]))
        assert state_of(envs) == before

    def test_raise_ignores_finished_episodes(self) -> None:
        """A finished sub-env is ignored; in `same_step` its next episode has begun already."""
        envs = new_envs(2, options={"position": NEAR_WIN}, illegal="raise")
        envs.step(np.array([2, 5]))
        envs.step(np.array([2, 8]))
        assert str(envs.boards[0]) == ".../.../..."
        envs = new_envs(2, illegal="raise", autoreset_mode="same_step", start=NEAR_WIN)
        assert envs.step(np.array([2, 2]))[2].all()
        with pytest.raises(ttt_env.IllegalMoveError, match=r"cell 4 .* in sub-env 1 is taken"):
            envs.step(np.array([2, 4]))

    def test_resample_draws_each_free_cell(self, store: str) -> None:
        start = Position.parse("XOX/XOO/...")
        envs = new_envs(100, illegal="resample", start=start, autoreset_mode="disabled")
        envs.step(np.zeros(100, int))
        assert {board.x_mask & ~start.x_mask for board in envs.boards} == {1 << 6, 1 << 7, 1 << 8}

    def test_illegal_move_gets_its_own_reward(self, store: str) -> None:
        envs = new_envs(2, rewards={"illegal": -9})
        envs.step(np.array([4, 4]))
        planes, rewards, over, _, info = envs.step(np.array([0, 8]))
        assert rewards.tolist() == [-9.0, 0.0] and over.tolist() == [True, False]
        assert str(envs.boards[0]) == "O../.X./..." and planes[0, 1, 1].tolist() == [1, 0]
        assert info["action_mask"][0].all()

    @pytest.mark.parametrize("mode", MODES[:2])
    def test_failing_opponent_changes_nothing(self, store: str, mode: str) -> None:
        calls: list[int] = []

        def fails_later(position: Position) -> int:
            calls.append(0)
            return 99 if len(calls) > 6 else position.legal_cells[0]

        envs = new_envs(4, opponent=[fails_later, "random"], autoreset_mode=mode)
        before, state = state_of(envs), envs.np_random.bit_generator.state
        calls += [0] * 6
        with pytest.raises(ttt_env.IllegalMoveError, match="plays 99"):
            envs.step(np.full(4, 4))
        assert state_of(envs) == before and envs.np_random.bit_generator.state == state

    def test_failing_start_changes_nothing(self) -> None:
        broken = [False]

        def start(rng: np.random.Generator) -> Position:
            rng.random()
            return None if broken[0] else Position.parse("X../.O./...")  # type: ignore[return-value]

        envs = new_envs(start=start, opponent="random")
        before, state = state_of(envs), envs.np_random.bit_generator.state
        broken[0] = True
        for seed in (None, 5):
            with pytest.raises(ttt_env.errors.ImpossiblePositionError):
                envs.reset(seed=seed)
            assert state_of(envs) == before and envs.np_random.bit_generator.state == state

    def test_bad_options_and_seeds_change_nothing(self) -> None:
        envs = new_envs(opponent="random")
        before, state = state_of(envs), envs.np_random.bit_generator.state
        bad: list[Any] = [
            {"colour": 1},
            {"play_as": "Z"},
            {"position": Position.parse("XXX/OO./...")},
            {"position": [NEAR_WIN] * 3},
            {"position": [NEAR_WIN] * 3 + [None]},
            {"position": "X../.../.."},
            {"reset_mask": [True] * 4},
            {"reset_mask": np.zeros(4, bool)},
            {"reset_mask": np.ones(4, int)},
            {"reset_mask": np.ones(3, bool)},
        ]

        def reset(**arguments: Any) -> None:
            try:
                envs.reset(**arguments)
            finally:
                assert state_of(envs) == before and envs.np_random.bit_generator.state == state, arguments

        all_raise(ttt_env.TttEnvError, "", lambda options: reset(seed=1, options=options), bad)
        seeds: list[Any] = [[1, 2, 3], [1, 2, 3, None], [1, 2, 3, -1], "1234", 1.5]
        all_raise(ttt_env.errors.ParameterError, "seed", lambda seed: reset(seed=seed), seeds)

    def test_bad_settings_are_refused(self) -> None:
        bad: list[dict[str, Any]] = [
            *({"num_envs": number} for number in (0, 2.0, True)),
            *({"autoreset_mode": "never"}, {"render_mode": "human"}, {"play_as": "Z"}, {"illegal": "ignore"}),
            *({"observation": "text"}, {"colour": 1}, {"opponent": []}, {"opponent": "nobody"}),
            {"game": "square-v0"},
        ]
        two = {"num_envs": 2}
        all_raise(ttt_env.TttEnvError, "", lambda it: ttt_env.make_vec("tictactoe-v0", **(two | it)), bad)

    def test_calls_before_reset_are_refused(self) -> None:
        envs = ttt_env.make_vec("tictactoe-v0", 2)
        with pytest.raises(ttt_env.errors.EpisodeOrderError, match="reset"):
            envs.step(np.zeros(2, int))
        with pytest.raises(ttt_env.errors.EpisodeOrderError, match="reset"):
            envs.reset(options={"reset_mask": np.array([True, False])})
        with pytest.raises(ttt_env.errors.EpisodeOrderError, match="reset"):
            _ = envs.boards
        assert envs.action_masks().shape == (2, 9) and not envs.action_masks().any()


class TestSeedsAndCopies:
    @pytest.mark.parametrize(
        "opponent", ["random", ["random", "minimax", lowest], None], ids=["random", "mixed", "both sides"]
    )
    @pytest.mark.parametrize("mode", MODES[:2])
    def test_equal_seeds_give_equal_outputs(self, store: str, mode: str, opponent: Any) -> None:
        envs, other = (ttt_env.make_vec("tictactoe-v0", 5, opponent, autoreset_mode=mode) for _ in range(2))
        other.reset(seed=8)
        for reset in ({"seed": 3}, {}, {"seed": [1, 2, 3, 4, 5]}):
            assert trajectory(envs, 12, **reset) == trajectory(other, 12, **reset)

    def test_different_seeds_give_different_games(self) -> None:
        envs = new_envs(5, opponent="random")
        stories = [trajectory(envs, 8, seed=seed) for seed in [*range(20), [1, 2, 3, 4, 5], [1, 2, 3, 4, 6]]]
        assert len({str(one) for one in stories}) == 22

    @pytest.mark.parametrize("opponent", ["random", ["random", "minimax"], None], ids=str)
    def test_copies_continue_equally(self, store: str, opponent: Any) -> None:
        envs = ttt_env.make_vec("tictactoe-v0", 5, opponent, observation="dict")
        envs.reset(seed=3)
        envs.step(np.arange(5))
        twins, rng = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))], np.random.default_rng(0)
        for _ in range(20):
            cells = free_cells(envs, rng)
            result = comparable(envs.step(cells))
            assert [comparable(twin.step(cells)) for twin in twins] == [result] * 2
        twins[0].step(free_cells(twins[0], rng))
        assert state_of(twins[0]) != state_of(envs) == state_of(twins[1])


WINNERS = {"X": 0, "O": 1, None: -1}


class TestInfo:
    @pytest.mark.parametrize("opponent", ["random", None])
    @pytest.mark.parametrize("mode", MODES)
    def test_arrays_share_no_memory(self, mode: str, opponent: Any) -> None:
        """Neither within one step nor between two."""
        envs = new_envs(2, opponent=opponent, play_as="random", autoreset_mode=mode, observation="dict")
        observation, info = envs.reset(
            seed=0, options={"position": [NEAR_WIN, Position.parse("X../.../...")]}
        )
        arrays, over = [*observation.values(), *info.values()], np.zeros(2, np.bool_)
        while not over.any():
            observation, rewards, over, truncated, info = envs.step(np.argmax(envs.action_masks(), axis=1))
            parts = [*observation.values(), rewards, over, truncated, *info.values()]
            arrays += [*parts, *info.get("final_info", {}).values()]
        arrays = [array for array in arrays if isinstance(array, np.ndarray)]
        assert not any(np.shares_memory(one, two) for one, two in itertools.combinations(arrays, 2))

    @pytest.mark.parametrize("opponent", ["random", None])
    def test_every_info_value_has_its_mask(self, store: str, opponent: Any) -> None:
        envs = new_envs(5, opponent=opponent, play_as="random")
        reports = [(envs.reset(seed=0)[1], envs.seats), (envs.step(np.arange(5))[4], envs.seats)]
        for info, seats in reports:
            names = {name for name in info if not name.startswith("_")}
            assert {"action_mask", "seat"} <= names and {f"_{name}" for name in names} <= set(info)
            assert info["seat"].tolist() == seats.tolist() and info["seat"].dtype == np.int8
            assert info["_seat"].all() and info["_action_mask"].all()

    @pytest.mark.parametrize(
        "settings, mode",
        slow_unless(
            lambda settings, mode: settings in ({"misere": True}, {"opponent": None}) or mode == "same_step",
            [{}, {"misere": True}, {"play_as": "O"}, {"opponent": None}],
            MODES,
        ),
        ids=str,
    )
    def test_info_names_winners(self, store: str, mode: str, settings: dict[str, Any]) -> None:
        envs = new_envs(100, autoreset_mode=mode, **{"opponent": "random", "play_as": "random", **settings})
        rng, winners = np.random.default_rng(3), set()
        for _ in range(14):
            cells = np.where(rng.random(100) < 0.1, rng.integers(9, size=100), free_cells(envs, rng))
            before = envs.boards
            _, _, over, _, info = envs.step(cells)
            final_info = info.get("final_info", {}) if mode == "same_step" else info
            if "winner" in final_info:
                assert (
                    final_info["_winner"].tolist() == over.tolist() and final_info["winner"].dtype == np.int8
                )
                assert (final_info["winner"][~over] == -1).all()
            for at in np.flatnonzero(over):
                after = self.end(before[int(at)], envs, int(at), info, mode)
                assert final_info["winner"][at] == WINNERS[after.winner]
                winners.add(after.winner)
            if mode == "disabled" and over.any():
                envs.reset(options={"reset_mask": over})
        assert winners == {"X", "O", None}

    @staticmethod
    def end(before: Position, envs: VectorGameEnv, at: int, info: Any, mode: str) -> Position:
        """The last position of an episode; in same_step it is read from the final observation."""
        if mode != "same_step":
            return envs.boards[at]
        seat, planes = info["final_info"]["seat"][at], info["final_obs"][at]
        mine, theirs = (int(np.dot(planes[..., side].ravel(), 1 << np.arange(9))) for side in (0, 1))
        is_turned = (mine | theirs).bit_count() % 2 != seat
        return Position(before.game, theirs, mine) if is_turned else Position(before.game, mine, theirs)


class TestFrameworks:
    @pytest.mark.parametrize("id, kind", [("tictactoe-v0", "dict"), ("qubic-v0", "planes")])
    def test_outputs_match_spaces(self, id: str, kind: str) -> None:
        envs = new_envs(3, id=id, observation=kind, opponent="random")
        observation, _ = envs.reset(seed=0)
        assert envs.observation_space.contains(observation)
        envs.action_space.seed(0)
        result = envs.step(envs.action_space.sample())
        assert envs.observation_space.contains(result[0])
        assert [part.dtype for part in result[1:4]] == [np.float64, np.bool_, np.bool_]
        assert result[4]["action_mask"].dtype == np.int8 and envs.action_masks().dtype == np.bool_

    @pytest.mark.parametrize("opponent", ["random", None])
    def test_gymnasium_make_vec(self, opponent: Any) -> None:
        settings = {"num_envs": 3, "opponent": opponent, "autoreset_mode": "same_step"}
        envs = gymnasium.make_vec("ttt_env/tictactoe-v0", vectorization_mode="vector_entry_point", **settings)
        assert isinstance(envs, VectorGameEnv) and envs.num_envs == 3
        assert trajectory(envs, seed=1) == trajectory(ttt_env.make_vec("tictactoe-v0", **settings), seed=1)
        envs = ttt_env.make_vec("mnk-v0", 3, "random", m=4, n=3, k=3)
        again: Any = gymnasium.make_vec(envs.spec)  # a spec makes it again
        assert trajectory(again, seed=1) == trajectory(envs, seed=1)

    @pytest.mark.parametrize("mode", MODES[:2])
    def test_record_episode_statistics(self, mode: str) -> None:
        envs: Any = wrappers.RecordEpisodeStatistics(new_envs(4, opponent="random", autoreset_mode=mode))
        envs.reset(seed=0)
        rng, ends = np.random.default_rng(0), []
        for _ in range(40):
            _, rewards, over, _, info = envs.step(free_cells(envs.unwrapped, rng))
            ends += rewards[over].tolist()
            if over.any():
                assert (info["episode"]["r"][over] == rewards[over]).all()
        shortest = (
            3 if mode == "next_step" else 2
        )  # older versions of Gymnasium count one too few in same_step
        assert list(envs.return_queue) == ends
        assert shortest <= min(envs.length_queue) and max(envs.length_queue) <= 5

    @pytest.mark.parametrize(
        ("wrap", "shape"),
        [
            (wrappers.FlattenObservation, (4, 18)),
            (lambda envs: wrappers.TransformObservation(envs, lambda planes: 1 - planes), (4, 3, 3, 2)),
            (lambda envs: wrappers.ClipReward(envs, max_reward=0.5), (4, 3, 3, 2)),
            (wrappers.DictInfoToList, (4, 3, 3, 2)),
        ],
        ids=["flatten", "transform", "clip", "infos"],
    )
    def test_other_wrappers(self, wrap: Any, shape: tuple[int, ...]) -> None:
        """The outputs of a wrapper belong to the played cells."""
        envs, twin = wrap(new_envs(4, opponent="random")), new_envs(4, opponent="random")
        envs.reset(seed=0)
        twin.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(12):
            cells = free_cells(twin, rng)
            wrapped = envs.step(cells)
            plain = twin.step(cells)
            planes, is_turned = (
                wrapped[0].reshape(plain[0].shape),
                type(envs) is wrappers.TransformObservation,
            )
            assert wrapped[0].shape == shape and (planes == (1 - plain[0] if is_turned else plain[0])).all()
            limit = 0.5 if isinstance(envs, wrappers.ClipReward) else 1.0
            assert wrapped[1].tolist() == np.minimum(plain[1], limit).tolist()
            if wrap is wrappers.DictInfoToList:
                masks = np.stack([info["action_mask"] for info in wrapped[4]])
                assert (masks == plain[4]["action_mask"]).all()

    def test_normalize_observation(self) -> None:
        envs: Any = wrappers.NormalizeObservation(new_envs(4, opponent="random"))
        envs.reset(seed=0)
        assert np.isfinite(envs.step(np.arange(4))[0]).all()

    def test_render(self) -> None:
        envs = new_envs(2, render_mode="ansi")
        envs.step(np.array([4, 5]))
        texts = envs.render()
        assert texts is not None and len(texts) == 2 and texts[0] != texts[1]
        pictures = new_envs(2, render_mode="rgb_array").render()
        assert pictures is not None and all(picture.dtype == np.uint8 for picture in pictures)
        with pytest.warns(UserWarning, match="render_mode"):
            assert new_envs(2).render() is None
        envs.close()
        assert envs.closed
