"""The vector environment on PyTorch: the same games as in NumPy, without the host looking at them."""

import copy
import itertools
import pickle
from collections import Counter
from functools import partial
from typing import Any

import numba
import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ttt_env
from tests.support.agents import Nth, Wandering
from tests.support.devices import DEVICE
from tests.support.games import NEAR_WIN, TICTACTOE, open_boards
from tests.support.hostile_values import BAD_ACTIONS
from tests.support.marks import slow, slow_unless
from tests.support.refusals import all_raise
from ttt_env import Agent, Position
from ttt_env.compiled.codes import N_DRAWS, OPENING, OPPONENT, REPLY, SEAT
from ttt_env.envs.vector import env as vector
from ttt_env.envs.vector import steps_kernel as steps
from ttt_env.envs.vector.backends import NumpyBackend, TorchBackend
from ttt_env.envs.vector.compiled import CompiledSteps
from ttt_env.envs.vector.engine import ArraySteps
from ttt_env.envs.vector.env import VectorGameEnv

MODES = ["next_step", "same_step", "disabled"]
LAST_CELL = Position.parse("XOX/XOO/O.X")
ONE_REPLY_ENDS = Position.parse(".XX/OO./...")


class NumpysDraws(TorchBackend):
    """PyTorch, but with the random numbers that NumPy draws."""

    source, state, restore = NumpyBackend.source, NumpyBackend.state, NumpyBackend.restore

    def random(self, source: Any, shape: tuple[int, ...]) -> Any:
        return torch.from_numpy(source.random(shape)).to(self.device)


LOWEST = Nth(TICTACTOE, 0)


def drawn_start(rng: np.random.Generator) -> Position:
    return Position.parse("X../.../...").play(int(rng.integers(1, 9)))


def started(
    num_envs: int = 4, seed: int = 0, options: Any = None, backend: Any = "torch", **settings: Any
) -> VectorGameEnv:
    device = DEVICE if backend == "torch" else None
    envs = ttt_env.make_vec("tictactoe-v0", num_envs, backend=backend, device=device, **settings)
    envs.reset(seed=seed, options=options)
    return envs


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same environment in NumPy and in PyTorch, with the same random numbers."""

    def made(num_envs: int, opponent: Any, **settings: Any) -> list[VectorGameEnv]:
        envs = [ttt_env.make_vec("tictactoe-v0", num_envs, opponent, **settings)]
        with monkeypatch.context() as patch:
            patch.setattr(vector, "backend_of", lambda name, device: NumpysDraws(DEVICE))
            return [*envs, ttt_env.make_vec("tictactoe-v0", num_envs, opponent, **settings)]

    return made


def in_numpy(array: Any) -> Any:
    """The array or tensor in NumPy's memory."""
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)


def host(value: Any, rows: Any = slice(None)) -> Any:
    """These rows of tensors and arrays, in tuples and dicts too, as something to be compared with ==."""
    if isinstance(value, dict):
        return {key: host(part, rows) for key, part in value.items()}
    if isinstance(value, tuple):
        return [host(part, rows) for part in value]
    array = in_numpy(value)
    return array.dtype.name, array[rows].shape, array[rows].tobytes()


def finals(info: dict[str, Any], over: Any) -> Any:
    """The infos and observations of the episodes that ended in a step, taken out of the infos."""
    told, final = (info.pop(key, None) for key in ("final_info", "final_obs"))
    assert (
        (info.pop("_final_info", None) is None) == (info.pop("_final_obs", None) is None) == (final is None)
    )
    rows = np.flatnonzero(in_numpy(over))
    if final is None or not len(rows):
        return None
    kept = {key: part for key, part in told.items() if not key.startswith("_")}
    # In NumPy there is one dict for each sub-env that has ended, in PyTorch one for all.
    ends = [{key: final[key][at] for key in final} if isinstance(final, dict) else final[at] for at in rows]
    return host(kept, rows), [host(end) for end in ends]


def tell_alike(steps: list[Any]) -> None:
    ends = [finals(step[-1], step[2]) if len(step) == 5 else None for step in steps]
    assert ends[0] == ends[1]
    assert host(steps[0]) == host(steps[1])


def free_cells(envs: VectorGameEnv, rng: np.random.Generator) -> Any:
    """Free cells, now and then any cell."""
    masks = envs.action_masks() | (rng.random((envs.num_envs, 1)) < 0.1)
    return np.argmax(masks * rng.random(masks.shape), axis=1)


def play_alike(envs: list[VectorGameEnv], n_steps: int = 25, **reset: Any) -> None:
    rng = np.random.default_rng(2)
    tell_alike([each.reset(**reset) for each in envs])
    for _ in range(n_steps):
        cells = free_cells(envs[0], rng)
        told = [each.step(cells) for each in envs]
        over = told[0][2].copy()
        tell_alike(told)
        assert [host((each.seats, each.action_masks())) for each in envs[:1]] == [
            host((each.seats, each.action_masks())) for each in envs[1:]
        ]
        if envs[0].autoreset_mode.name == "DISABLED" and over.any():
            masks = [torch.from_numpy(over).to(DEVICE) if each._backend.is_remote else over for each in envs]
            tell_alike([e.reset(options={"reset_mask": mask}) for e, mask in zip(envs, masks, strict=True)])


class TestIsNumpys:
    @pytest.mark.parametrize(("seat", "step"), [("X", 40), slow("X", 1), slow("O", 1)])
    def test_over_every_position_action_and_reply(self, both: Any, seat: str, step: int) -> None:
        positions = [position for position in open_boards() if position.to_move == seat][::step]
        envs = both(len(positions), "random", autoreset_mode="disabled")
        for rank, cell in itertools.product(range(9), range(9)):
            for each in envs:
                if cell == 0:
                    each.set_opponent(Nth(each.game, rank))
                each.reset(seed=0, options={"position": positions, "play_as": seat})
            tell_alike([each.step(np.full(len(positions), cell)) for each in envs])

    @pytest.mark.parametrize("step", [20, slow(1)])
    def test_over_every_position_and_action_of_both_sides(self, both: Any, step: int) -> None:
        positions = list(open_boards()[::step])
        envs = both(len(positions), None, autoreset_mode="disabled")
        for cell in range(9):
            tell_alike([each.reset(seed=0, options={"position": positions}) for each in envs])
            tell_alike([each.step(np.full(len(positions), cell)) for each in envs])

    # Each way to play is fast in one mode, and each mode where taken cells are replaced.
    @pytest.mark.parametrize(
        "illegal, mode, play_as",
        slow_unless(
            lambda illegal, mode, play_as: (
                (illegal == "lose" and mode == "same_step") or (play_as == "random" and illegal == "resample")
            ),
            ["lose", "resample"],
            MODES,
            ["X", "O", "random", "alternate"],
        ),
    )
    def test_over_random_games(self, both: Any, illegal: str, mode: str, play_as: str) -> None:
        settings = {"illegal": illegal, "autoreset_mode": mode, "play_as": play_as}
        play_alike(both(20, ["random", "minimax"], **settings, opponent_weights=[2, 1]), seed=1)

    @pytest.mark.parametrize("opponent", [None, "random"])
    @pytest.mark.parametrize("mode", MODES)
    def test_of_dicts(self, both: Any, mode: str, opponent: Any) -> None:
        envs = both(20, opponent, observation="dict", rewards=(3, 2, 1, 0), autoreset_mode=mode)
        play_alike(envs, 8, seed=1)

    @pytest.mark.parametrize("start", [drawn_start, ONE_REPLY_ENDS, LAST_CELL], ids=["drawn", "lost", "last"])
    @pytest.mark.parametrize("mode", MODES[:2])
    def test_of_other_starts(self, both: Any, mode: str, start: Any) -> None:
        play_alike(both(20, "random", start=start, autoreset_mode=mode), 12, seed=4)

    def test_when_illegal_moves_raise(self, both: Any) -> None:
        messages = []
        for envs in both(3, LOWEST, illegal="raise", play_as="X"):
            envs.reset(seed=0)
            envs.step(np.array([4, 5, 6]))
            with pytest.raises(ttt_env.IllegalMoveError, match="sub-env 2") as error:
                envs.step(np.array([5, 6, 0]))
            messages.append(str(error.value))
        assert messages[0] == messages[1]

    def test_in_its_pictures(self, both: Any) -> None:
        for envs in (pair := both(3, LOWEST, render_mode="ansi", play_as="X")):
            envs.reset(seed=0)
            envs.step(np.array([4, 5, 6]))
        assert pair[0].render() == pair[1].render() and list(pair[0].boards) == list(pair[1].boards)


def without_compiling(envs: VectorGameEnv) -> VectorGameEnv:
    """The same environment with steps that are operations on whole arrays."""
    twin = copy.deepcopy(envs)
    compiled: Any = twin._steps
    assert isinstance(compiled, CompiledSteps)
    twin._steps = ArraySteps(*compiled.__reduce__()[1])
    return twin


def compiled_and_not(*settings: Any, **more: Any) -> list[VectorGameEnv]:
    envs = ttt_env.make_vec("tictactoe-v0", *settings, **more)
    return [envs, without_compiling(envs)]


class TestCompiledSteps:
    @pytest.mark.parametrize(
        "opponent, mode, play_as",
        slow_unless(
            lambda opponent, mode, play_as: (opponent == "random") == (play_as in ("O", "alternate")),
            ["random", ["random", "minimax"]],
            MODES,
            ["X", "O", "random", "alternate"],
        ),
        ids=str,
    )
    def test_against_opponents(self, opponent: Any, mode: str, play_as: str) -> None:
        play_alike(compiled_and_not(50, opponent, autoreset_mode=mode, play_as=play_as), seed=1)

    @pytest.mark.parametrize("settings", [{"misere": True}, {"start": ONE_REPLY_ENDS}], ids=str)
    @pytest.mark.parametrize("mode", MODES)
    def test_of_both_sides(self, mode: str, settings: Any) -> None:
        play_alike(compiled_and_not(50, None, autoreset_mode=mode, rewards=(4, 3, 2, 1), **settings), seed=1)

    @pytest.mark.parametrize("illegal", ["raise", "resample"])
    @pytest.mark.parametrize("start", [Position.parse("X../.../..."), Position.parse("XO./.../...")], ids=str)
    def test_of_other_settings(self, start: Position, illegal: str) -> None:
        envs = compiled_and_not(50, "random", start=start, illegal=illegal, observation="dict")
        tell_alike([each.reset(seed=1) for each in envs])
        for _ in range(10):
            tell_alike([each.step(np.argmax(each.action_masks(), axis=1)) for each in envs])

    def test_takes_actions_of_every_kind(self) -> None:
        read_only = np.arange(9)
        read_only.flags.writeable = False
        for cells in (np.arange(9)[::-1], np.arange(9, dtype=np.uint8), list(range(9)), read_only):
            envs = compiled_and_not(9, "minimax")
            tell_alike([each.reset(seed=1) for each in envs])
            tell_alike([each.step(cells) for each in envs])

    def test_after_another_opponent_was_set(self) -> None:
        envs = ttt_env.make_vec("tictactoe-v0", 50, ["random", "minimax"])
        envs.reset(seed=1)
        envs.step(np.arange(50) % 9)
        envs.set_opponent("minimax")
        play_alike([envs, without_compiling(envs)])


class Quarters(Agent):
    """Plays each of the first four free cells with probability 1/4; alike if there are fewer."""

    is_fixed = True

    def policy(self, position: Position) -> Any:
        policy, cells = np.zeros(self.game.n_cells), position.legal_cells[:4]
        policy[cells] = 1 / len(cells)
        return policy


BELOW = np.nextafter([0.25, 0.5, 1.0], 0)
QUARTERS = {0.0: 0, 0.25: 1, 0.5: 2, 0.75: 3, BELOW[0]: 0, BELOW[1]: 1, BELOW[2]: 3}


class TestDrawsThatMeetASumExactly:
    """A draw is from [0, 1): the number whose summed chance it meets is not picked, but the next one."""

    @pytest.fixture(params=["compiled", "arrays"])
    def made(self, request: pytest.FixtureRequest) -> Any:
        at = ["compiled", "arrays"].index(request.param)
        return lambda *settings, **more: compiled_and_not(*settings, **more)[at]

    @staticmethod
    def step(envs: VectorGameEnv, cell: int, row: int, numbers: list[float]) -> None:
        """A step whose draws are these numbers in this row, and 0 in the others."""
        draws = np.zeros((N_DRAWS, envs.num_envs))
        draws[row] = numbers
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(envs, "_draws", lambda n_rows: draws[:n_rows].copy())
            envs.step(np.full(envs.num_envs, cell))

    def begin(self, envs: VectorGameEnv, row: int, numbers: list[float]) -> None:
        """End all episodes by a taken cell, and begin the next ones with these draws."""
        envs.reset(seed=0, options={"position": Position.parse("X../O../..."), "play_as": "X"})
        assert envs.step(np.zeros(envs.num_envs, np.int64))[2].all()
        self.step(envs, 0, row, numbers)

    def test_replies(self, made: Any) -> None:
        envs = made(len(QUARTERS), Quarters(ttt_env.get_game("tictactoe-v0")), play_as="X")
        envs.reset(seed=0)
        self.step(envs, 8, REPLY, list(QUARTERS))
        assert [board.o_mask for board in envs.boards] == [1 << cell for cell in QUARTERS.values()]

    def test_replies_on_bit_masks(self) -> None:
        game = ttt_env.get_game("square-v0")
        envs = ttt_env.make_vec(game, len(QUARTERS), Quarters(game), play_as="X")
        envs.reset(seed=0)
        self.step(envs, 15, REPLY, list(QUARTERS))
        assert [board.o_mask for board in envs.boards] == [1 << cell for cell in QUARTERS.values()]

    def test_openings(self, made: Any) -> None:
        envs = made(len(QUARTERS), Quarters(ttt_env.get_game("tictactoe-v0")), play_as="O")
        self.begin(envs, OPENING, list(QUARTERS))
        assert [board.x_mask for board in envs.boards] == [1 << cell for cell in QUARTERS.values()]

    def test_opponents(self, made: Any) -> None:
        envs = made(4, ["random", "minimax"], opponent_weights=[1, 1], play_as="X")
        self.begin(envs, OPPONENT, [0.0, BELOW[1], 0.5, BELOW[2]])
        assert envs._games.who.tolist() == [0, 0, 1, 1]

    def test_seats(self, made: Any) -> None:
        envs = made(4, "random", play_as="random")
        self.begin(envs, SEAT, [0.0, BELOW[1], 0.5, BELOW[2]])
        assert envs.seats.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("opponent", [None, "random", ["random", "minimax"]], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_the_machine_code_is_given_the_types_it_was_made_for(
    monkeypatch: pytest.MonkeyPatch, mode: str, opponent: Any
) -> None:
    """It does not look at them itself: another type would be read as if it were the right one."""
    make_code, n_calls = steps.of_types, []

    def checking(function: Any, *arguments: Any) -> Any:
        code, types = make_code(function, *arguments), tuple(map(numba.typeof, arguments))

        def checked(*later: Any) -> None:
            n_calls.append(1)
            assert tuple(map(numba.typeof, later)) == types
            code(*later)

        return checked

    monkeypatch.setattr(steps, "of_types", checking)
    envs = ttt_env.make_vec("tictactoe-v0", 20, opponent, autoreset_mode=mode)
    resets: list[dict[str, Any]] = [
        {},
        {"position": Position.parse("X../.O./...")},
        {"position": [NEAR_WIN, Position.parse(".../.../...")] * 10},
        {"reset_mask": np.arange(20) % 2 == 0},
        {} if opponent is None else {"play_as": "O"},
    ]
    for options in resets:
        envs.reset(seed=3, options=options)
        for actions in ([8] * 20, np.full(20, 7, np.uint8), (np.arange(20) % 9)[::-1]):
            if mode != "disabled" or not envs._over.any():
                envs.step(actions)
        if opponent is not None:
            envs.set_opponent(["random", "minimax", "block"])
        envs = copy.deepcopy(envs)
    assert n_calls


class Watch(TorchDispatchMode):
    """Counts the operations for which the host has to wait for a device."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__.partition(".")[0] in ("_local_scalar_dense", "nonzero", "masked_select", "equal"):
            self.waits[func.__name__] += 1
        return func(*args, **(kwargs or {}))


class TestDevice:
    # An opponent, several, and none; each way to treat taken cells and ended games.
    @pytest.mark.parametrize(
        ("mode", "opponent", "illegal"),
        slow_unless(
            lambda mode, opponent, illegal: (mode == "next_step") == (illegal == "lose"),
            MODES[:2],
            ["random", ["random", "minimax"], None],
            ["lose", "resample"],
        ),
        ids=str,
    )
    def test_the_host_waits_for_the_check_of_the_actions_alone(
        self, mode: str, opponent: Any, illegal: str
    ) -> None:
        envs = started(64, opponent=opponent, autoreset_mode=mode, illegal=illegal)
        for _ in range(8):
            cells = torch.argmax(envs.action_masks().to(torch.int8), dim=1)
            with Watch() as watch:
                envs.step(cells)
            assert sum(watch.waits.values()) == 1

    @pytest.mark.parametrize("opponent", ["random", None])
    def test_all_arrays_are_tensors(self, opponent: Any) -> None:
        envs = started(opponent=opponent, observation="dict", autoreset_mode="same_step")
        observation, rewards, over, truncated, info = envs.step(torch.arange(4))
        final = {**info.pop("final_obs"), **info.pop("final_info")}
        arrays = [*observation.values(), rewards, over, truncated, *info.values(), *final.values()]
        assert all(isinstance(array, torch.Tensor) for array in arrays)
        assert all(isinstance(array, torch.Tensor) for array in (envs.seats, envs.action_masks()))
        assert rewards.dtype == torch.float64 and over.dtype == torch.bool

    @pytest.mark.parametrize("backend", ["numpy", "torch"])
    @pytest.mark.parametrize("mode", MODES[:2])
    def test_arrays_are_the_callers_own(self, mode: str, backend: str) -> None:
        settings: Any = {"opponent": "random", "observation": "dict", "autoreset_mode": mode}
        envs, twin = (started(backend=backend, **settings) for _ in "ab")
        for _ in range(20):
            cells = in_numpy(envs.action_masks()).argmax(axis=1)
            told, expected = envs.step(cells), twin.step(cells)
            info = dict(told[4])
            parts = [*told[0].values(), *told[1:4], envs.seats, envs.action_masks()]
            parts += info.pop("final_info", {}).values()
            ends = info.pop("final_obs", [])
            for end in [ends] if isinstance(ends, dict) else filter(None, ends):
                parts += end.values()
            tell_alike([told, expected])
            for array in (*parts, *info.values()):
                array[...] = 1

    def test_actions_of_every_kind(self) -> None:
        envs = started(opponent="random")
        twin = copy.deepcopy(envs)
        arrays = (bad for bad in BAD_ACTIONS if isinstance(bad, np.ndarray))
        actions = [*BAD_ACTIONS, *map(torch.from_numpy, arrays)]
        all_raise(ttt_env.IllegalMoveError, "4 cells of tictactoe", envs.step, actions)
        tell_alike([envs.step(np.arange(4)), twin.step(np.arange(4))])
        kinds = torch.int8, torch.uint8, torch.int32, torch.uint64
        of_torch = [torch.tensor([4, 5, 6, 7], dtype=kind) for kind in kinds]
        of_numpy = [np.array([4, 5, 6, 7], dtype) for dtype in (np.int64, np.uint64, ">i4")]
        for cells in (*of_torch, *of_numpy, np.array([7, 6, 5, 4])[::-1], [4, 5, 6, 7]):
            envs = started(opponent=LOWEST, play_as="X")
            envs.step(cells)  # type: ignore[arg-type]
            assert [board.x_mask for board in envs.boards] == [1 << 4, 1 << 5, 1 << 6, 1 << 7]


def test_a_tensor_is_a_cell_if_it_is_one_integer() -> None:
    for env in (ttt_env.make("tictactoe-v0"), ttt_env.make("tictactoe-v0", opponent="random", play_as="X")):
        env.reset(seed=0)
        for wrong in (torch.tensor(True), torch.tensor([4]), torch.tensor([[4]]), torch.tensor(4.0)):
            with pytest.raises(ttt_env.errors.CellError, match="is not a cell of tictactoe-v0"):
                env.step(wrong)  # type: ignore[arg-type]
        env.step(torch.tensor(4))  # type: ignore[arg-type]
        assert env.position.x_mask == 1 << 4
    with pytest.raises(ttt_env.errors.ParameterError, match="seed="):
        env.reset(seed=torch.tensor(True))  # type: ignore[arg-type]


class TestRandomNumbers:
    @staticmethod
    def story(envs: VectorGameEnv) -> list[Any]:
        told = []
        for _ in range(8):
            cells = torch.argmax(envs.action_masks().to(torch.int8), dim=1)
            told.append(host(envs.step(cells)))
        return told

    def test_same_seed_same_everything(self) -> None:
        stories = [str(self.story(started(seed=seed))) for seed in (1, 1, *range(2, 6))]
        assert stories[0] == stories[1] and len(set(stories)) == 5
        envs = started(seed=9)
        for seed in (5, None):  # a seed begins the numbers anew
            envs.reset(seed=seed)
            stories.append(str(self.story(envs)))
        assert stories[5] == stories[6] != stories[7]

    @pytest.mark.parametrize("opponent", ["random", ["random", "minimax"], None], ids=str)
    def test_copies_play_on_equally(self, opponent: Any) -> None:
        envs = started(5, opponent=opponent)
        envs.step(torch.arange(5))
        twins = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))]
        told = self.story(envs)
        assert [self.story(twin) for twin in twins] == [told] * 2
        envs.step(torch.arange(5))
        again = host(envs.reset(seed=8))
        assert [host(twin.reset(seed=8)) for twin in twins] == [again] * 2

    def test_a_failed_reset_draws_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ttt_env.envs.vector.engine.MAX_STARTS", 9)
        envs = started(opponent="random")
        twin = copy.deepcopy(envs)
        for seed in (None, 4):
            with pytest.raises(ttt_env.errors.ImpossiblePositionError, match="ends the game"):
                envs.reset(seed=seed, options={"position": LAST_CELL, "play_as": "O"})
        assert self.story(envs) == self.story(twin)

    def test_a_table_is_sampled_as_the_policy(self) -> None:
        envs = started(1600, opponent="random", play_as="X")
        envs.step(np.full(1600, 4))
        seen = Counter(board.o_mask for board in envs.boards)
        assert len(seen) == 8 and all(abs(count - 200) < 4 * 14 for count in seen.values())


class TestRefused:
    def test_with_what_is_needed(self) -> None:
        searching = ["mcts:simulations=2", max, ["random", "mcts:simulations=2"]]
        bad: dict[str, list[dict[str, Any]]] = {
            "unknown backend 'jax'.*numpy, torch": [{"backend": "jax"}],
            "unknown device 'cuda'": [{"backend": "numpy", "device": "cuda"}],
            "device='nowhere'": [{"device": "nowhere"}],
            "device='meta'": [{"device": "meta"}],
            "no fixed policy": [{"opponent": opponent} for opponent in searching],
            "too many positions for a table": [{"id": "square-v0"}],
        }
        make = partial(ttt_env.make_vec, id="tictactoe-v0", num_envs=2, backend="torch")
        for text, all_settings in bad.items():
            all_raise(ttt_env.errors.ParameterError, text, lambda settings: make(**settings), all_settings)

    def test_an_opponent_set_later(self) -> None:
        envs = started(opponent="random")
        twin = copy.deepcopy(envs)
        with pytest.raises(ttt_env.errors.ParameterError, match="no fixed policy"):
            envs.set_opponent(Wandering(envs.game, 0))
        assert TestRandomNumbers.story(envs) == TestRandomNumbers.story(twin)

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "array_api_compat", None)
        with pytest.raises(ImportError, match=r"\.\[torch\]"):
            TorchBackend(DEVICE)
