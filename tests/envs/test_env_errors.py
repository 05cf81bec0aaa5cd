"""Bad input to environments: a named error that says what is allowed, and an environment as it was."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttt_env
from ttt_env import IllegalMoveError, Position
from ttt_env.errors import EpisodeOrderError, ImpossiblePositionError, ParameterError

X_WINS = [0, 3, 1, 4, 2]
NO_CELLS: dict[str, Any] = {
    "below": -1,
    "above": 9,
    "far above": 10**30,
    "beyond int64": np.uint64(2**63),
    "fraction": 4.5,
    "float": 4.0,
    "float64": np.float64(4),
    "NaN": float("nan"),
    "infinity": float("inf"),
    "None": None,
    "text": "4",
    "bool": True,
    "False": False,
    "bool of NumPy": np.True_,
    "array of bool": np.array(True),
    "array of float": np.array(4.0),
    "array of one": np.array([4]),
    "array of two": np.array([4, 5]),
    "array of none": np.array([], dtype=int),
    "list": [4],
    "complex": 4 + 0j,
    "object": object(),
}


def lowest(position: Position) -> int:
    return position.legal_cells[0]


def two_player(*cells: int, **settings: Any) -> Any:
    return played(ttt_env.make("tictactoe-v0", **settings), cells)


def single(*cells: int, **settings: Any) -> Any:
    return played(ttt_env.make("tictactoe-v0", **{"opponent": lowest, "play_as": "X", **settings}), cells)


def played(env: Any, cells: tuple[int, ...]) -> Any:
    env.reset(seed=7)
    for cell in cells:
        env.step(cell)
    return env


def state_of(env: Any) -> dict[str, Any]:
    """All that decides what the environment does next."""
    state = {
        "position": str(env.position),
        "mask": env.action_masks().tolist(),
        "rng": env.np_random.bit_generator.state,
    }
    names = ["seat", "opponent", "play_as", "np_random_seed", "_episodes"]
    names += ["agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations"]
    state |= {name: repr(getattr(env, name)) for name in names if hasattr(env, name)}
    return state


def raises_and_keeps(
    env: Any, act: Callable[[Any], object], error: type[Exception], text: str | None = None
) -> None:
    before = state_of(env)
    with pytest.raises(error, match=text):
        act(env)
    assert state_of(env) == before


MAKERS = {"two players": two_player, "one player": single}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("illegal", ["lose", "raise", "resample"])
@pytest.mark.parametrize("action", NO_CELLS.values(), ids=NO_CELLS)
def test_actions_that_are_no_cells(make: Callable[..., Any], illegal: str, action: Any) -> None:
    env = make(4, 8, illegal=illegal)
    raises_and_keeps(env, lambda env: env.step(action), IllegalMoveError, "integers 0 to 8 are allowed")
    with pytest.raises(ValueError, match="not a cell of tictactoe-v0"):
        env.step(action)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_taken_cell(make: Callable[..., Any]) -> None:
    env = make(4, illegal="raise")
    raises_and_keeps(env, lambda env: env.step(4), IllegalMoveError, "is taken; free are")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_game_goes_on_after_errors(make: Callable[..., Any]) -> None:
    env, twin = make(4), make(4)
    for action in NO_CELLS.values():
        with pytest.raises(IllegalMoveError):
            env.step(action)
    env.step(8)
    twin.step(8)
    assert state_of(env) == state_of(twin)


class TestOrder:
    @pytest.mark.parametrize("opponent", [None, "random"])
    @pytest.mark.parametrize("action", [0, 99, None])
    def test_step_before_reset(self, opponent: str | None, action: Any) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=opponent)
        with pytest.raises(EpisodeOrderError, match="reset"):
            env.step(action)
        with pytest.raises(EpisodeOrderError, match="reset"):
            _ = env.position

    @pytest.mark.parametrize("opponent", [None, "random"])
    @pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
    def test_render_before_reset(self, opponent: str | None, mode: str) -> None:
        with pytest.raises(EpisodeOrderError, match="reset"):
            ttt_env.make("tictactoe-v0", opponent=opponent, render_mode=mode).render()

    @pytest.mark.parametrize(
        "call",
        [lambda env: env.last(), lambda env: env.observe("X"), lambda env: list(env.agent_iter())],
        ids=["last", "observe", "agent_iter"],
    )
    def test_two_player_calls_before_reset(self, call: Callable[[Any], object]) -> None:
        with pytest.raises(EpisodeOrderError, match="reset"):
            call(ttt_env.make("tictactoe-v0"))

    @pytest.mark.parametrize("opponent", [None, "random"])
    def test_no_cell_is_free_before_reset(self, opponent: str | None) -> None:
        assert not ttt_env.make("tictactoe-v0", opponent=opponent).action_masks().any()

    @pytest.mark.parametrize("caught", [RuntimeError, ValueError])
    @pytest.mark.parametrize("cells", [(6, 7, 8), (4, 4)], ids=["won", "illegal"])
    def test_one_player_step_after_the_end(self, cells: tuple[int, ...], caught: type[Exception]) -> None:
        raises_and_keeps(single(*cells), lambda env: env.step(5), caught, "after the end")

    @pytest.mark.parametrize("cells", [X_WINS, [4, 4]], ids=["won", "illegal"])
    @pytest.mark.parametrize("action", [5, 99, "5"])
    def test_a_dead_player_has_one_action(self, cells: list[int], action: Any) -> None:
        env = two_player(*cells)
        raises_and_keeps(env, lambda env: env.step(action), IllegalMoveError, "None is the only action")

    @pytest.mark.parametrize("action", [None, 5])
    def test_two_player_step_after_the_last_agent(self, action: Any) -> None:
        env = two_player(*X_WINS, None, None)
        raises_and_keeps(env, lambda env: env.step(action), EpisodeOrderError, "reset")

    def test_last_after_the_last_agent(self) -> None:
        raises_and_keeps(two_player(*X_WINS, None, None), lambda env: env.last(), EpisodeOrderError, "reset")


@pytest.mark.parametrize("agent", ["Z", "x", None, 0])
def test_observing_an_agent_that_is_none(agent: Any) -> None:
    raises_and_keeps(two_player(4), lambda env: env.observe(agent), ValueError, "X")


BAD_POSITIONS: dict[str, Any] = {
    "text": "X../.../...",
    "None": None,
    "over": Position.parse("XXX/OO./..."),
    "full": Position.parse("XOX/XOO/OXX"),
    "another game's": ttt_env.get_game("square-v0").start,
    "misere's": ttt_env.get_game("tictactoe-v0", misere=True).start,
    "impossible": Position(ttt_env.get_game("tictactoe-v0"), 0b111, 0),
    "overlapping": Position(ttt_env.get_game("tictactoe-v0"), 1, 1),
    "off the board": Position(ttt_env.get_game("tictactoe-v0"), 0, 1 << 9),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("seed", [None, 1])
class TestReset:
    @pytest.mark.parametrize("position", BAD_POSITIONS.values(), ids=BAD_POSITIONS)
    def test_to_a_position_that_is_none(
        self, make: Callable[..., Any], seed: int | None, position: Any
    ) -> None:
        options = {"position": position}
        raises_and_keeps(make(4), lambda env: env.reset(seed=seed, options=options), ImpossiblePositionError)

    def test_by_a_start_that_gives_none(self, make: Callable[..., Any], seed: int | None) -> None:
        good = [True]
        env = make(4, start=lambda rng: ttt_env.get_game("tictactoe-v0").start if good else "none")
        good.clear()
        raises_and_keeps(env, lambda env: env.reset(seed=seed), ImpossiblePositionError, "'none'")

    def test_by_a_start_that_fails_after_drawing(self, make: Callable[..., Any], seed: int | None) -> None:
        good = [True]

        def start(rng: np.random.Generator) -> Any:
            rng.random()
            return ttt_env.get_game("tictactoe-v0").start if good else None

        env = make(4, start=start)
        good.clear()
        raises_and_keeps(env, lambda env: env.reset(seed=seed), ImpossiblePositionError)

    @pytest.mark.parametrize("bad", [-1, "1", 1.5])
    def test_with_a_seed_that_is_none(self, make: Callable[..., Any], seed: int | None, bad: Any) -> None:
        raises_and_keeps(make(4), lambda env: env.reset(seed=bad), ParameterError, "seed=")


@pytest.mark.parametrize("seed", [None, 1])
class TestSingleReset:
    @pytest.mark.parametrize("play_as", ["x", "both", None, 1])
    def test_as_nobody(self, play_as: Any, seed: int | None) -> None:
        options = {"play_as": play_as}
        raises_and_keeps(
            single(4), lambda env: env.reset(seed=seed, options=options), ParameterError, "Allowed: O, X"
        )

    def test_with_unknown_options(self, seed: int | None) -> None:
        options = {"playas": "X"}
        raises_and_keeps(
            single(4),
            lambda env: env.reset(seed=seed, options=options),
            ParameterError,
            "did you mean play_as",
        )

    def test_to_a_position_that_the_opponent_ends(self, seed: int | None) -> None:
        options = {"position": Position.parse(".XX/OO./..."), "play_as": "O"}
        raises_and_keeps(
            single(4, opponent=[lowest] * 3),
            lambda env: env.reset(seed=seed, options=options),
            ImpossiblePositionError,
            "ends the game",
        )

    def test_against_an_opponent_that_moves_wrongly(self, seed: int | None) -> None:
        env = single(4, opponent=[lowest] * 3)
        env.set_opponent([lambda position: 9] * 3)
        raises_and_keeps(
            env, lambda env: env.reset(seed=seed, options={"play_as": "O"}), IllegalMoveError, "9"
        )


@pytest.mark.parametrize("seed", [None, 1])
class TestResetAgainstAnOpponentThatFails:
    """The opponent, drawn anew, opens the game and fails: who it was, and every number, is as before."""

    @staticmethod
    def fails(position: Position) -> int:
        raise OSError("the engine is gone")

    def failing(self) -> Any:
        env = ttt_env.make("tictactoe-v0", lowest, play_as="O")
        env.reset(seed=7)
        env.set_opponent([self.fails] * 3)
        return env

    def test_changes_nothing(self, seed: int | None) -> None:
        env = self.failing()
        for _ in range(8):
            raises_and_keeps(env, lambda env: env.reset(seed=seed), OSError, "the engine is gone")
        assert env.np_random_seed == 7

    def test_keeps_the_very_opponent(self, seed: int | None) -> None:
        env = self.failing()
        for _ in range(8):
            opponent = env.opponent
            with pytest.raises(OSError):
                env.reset(seed=seed)
            assert env.opponent is opponent

    def test_keeps_the_turn(self, seed: int | None) -> None:
        good = [True]
        env = ttt_env.make(
            "tictactoe-v0", lambda position: lowest(position) if good else 99, play_as="alternate"
        )
        env.reset(seed=7)
        good.clear()
        for _ in range(3):
            with pytest.raises(IllegalMoveError):
                env.reset(options={"play_as": "O"}, seed=seed)
        good.append(True)
        env.reset()
        assert env.seat == "O"


class TestOpponents:
    @pytest.mark.parametrize("reply", [4, 9, -1, 1.5, None, "0", float("nan"), True])
    def test_that_move_wrongly(self, reply: Any) -> None:
        env = single(opponent=lambda position: reply)
        raises_and_keeps(env, lambda env: env.step(4), IllegalMoveError, "lambda")

    @pytest.mark.parametrize("reply", [4, 9, -1, 1.5, None])
    def test_of_a_class_that_move_wrongly(self, reply: Any) -> None:
        class Wrong(ttt_env.Agent):
            def policy(self, position: Position) -> Any:
                raise NotImplementedError

            def choose(self, position: Position, rng: np.random.Generator) -> int:
                return reply  # type: ignore[no-any-return]

        env = single(opponent=Wrong(ttt_env.get_game("tictactoe-v0")))
        raises_and_keeps(env, lambda env: env.step(4), IllegalMoveError, "Wrong")

    @pytest.mark.parametrize(
        ("opponent", "error"),
        [
            ("minmax", ttt_env.errors.UnknownAgentError),
            (["random", "minmax"], ttt_env.errors.UnknownAgentError),
            (3, ttt_env.errors.UnknownAgentError),
            ("random:seed=1", ParameterError),
            ([], ParameterError),
            (ttt_env.make_agent("random", "square-v0"), ttt_env.errors.UnknownAgentError),
        ],
        ids=["name", "list", "number", "parameter", "nobody", "of another game"],
    )
    def test_that_do_not_exist(self, opponent: Any, error: type[Exception]) -> None:
        raises_and_keeps(single(4), lambda env: env.set_opponent(opponent), error)
