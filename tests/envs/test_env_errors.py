"""Bad input to environments: an error that names the allowed values, and an unchanged environment."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.envs import both, one_player, state_of, two_player
from tests.support.games import MISERE, TICTACTOE, X_WINS, lowest
from tests.support.refusals import all_raise
from ttt_env import IllegalMoveError, Position
from ttt_env.errors import EpisodeOrderError, ImpossiblePositionError, ParameterError

BAD_ACTIONS: list[Any] = [
    *(-1, 9, 10**30, np.uint64(2**63), 4.5, 4.0, np.float64(4), float("nan"), float("inf"), 4 + 0j),
    *(None, "4", True, False, np.True_, np.array(True), np.array(4.0), np.array([4]), np.array([4, 5])),
    *(np.array([], dtype=int), [4], object()),
]


def raises_and_keeps(
    env: Any, act: Callable[[Any], object], error: type[Exception], text: str | None = None
) -> None:
    before = state_of(env)
    with pytest.raises(error, match=text):
        act(env)
    assert state_of(env) == before


@both
def test_bad_actions_are_refused(make: Callable[..., Any]) -> None:
    for illegal in ("lose", "raise", "resample"):
        env, twin = make(4, 8, illegal=illegal), make(4, 8, illegal=illegal)
        for action in BAD_ACTIONS:
            text = f"{re.escape(repr(action))} is not a cell of tictactoe-v0: expected an integer from 0 to 8"
            raises_and_keeps(env, lambda env, action=action: env.step(action), IllegalMoveError, text)
        env.step(7)
        twin.step(7)
        assert state_of(env) == state_of(twin)
    text = r"cell 4 .* is taken; free are \[(0, )?1, 2, 3, 5"
    raises_and_keeps(make(4, illegal="raise"), lambda env: env.step(4), IllegalMoveError, text)
    assert issubclass(IllegalMoveError, ValueError)


class TestOrder:
    @pytest.mark.parametrize("opponent", [None, "random"])
    def test_calls_before_reset_are_refused(self, opponent: str | None) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=opponent)
        calls: list[Callable[[], object]] = [*(partial(env.step, action) for action in (0, 99, None))]
        calls += [lambda: env.position]
        for mode in ("ansi", "rgb_array"):
            calls.append(ttt_env.make("tictactoe-v0", opponent=opponent, render_mode=mode).render)
        if opponent is None:
            calls += [env.last, lambda: env.observe("X"), lambda: list(env.agent_iter())]
        all_raise(EpisodeOrderError, "reset", lambda call: call(), calls)
        assert not env.action_masks().any()

    @pytest.mark.parametrize("cells", [(6, 7, 8), (4, 4)], ids=["won", "illegal"])
    def test_step_after_end_is_refused(self, cells: tuple[int, ...]) -> None:
        for caught in (RuntimeError, ValueError):
            raises_and_keeps(one_player(*cells), lambda env: env.step(5), caught, "after the end")

    @pytest.mark.parametrize("cells", [X_WINS, [4, 4]], ids=["won", "illegal"])
    @pytest.mark.parametrize("action", [5, 99, "5"])
    def test_dead_player_accepts_only_none(self, cells: list[int], action: Any) -> None:
        env = two_player(*cells)
        raises_and_keeps(env, lambda env: env.step(action), IllegalMoveError, "None is the only action")

    def test_two_player_calls_after_last_agent_are_refused(self) -> None:
        env = two_player(*X_WINS, None, None)
        for act in (lambda env: env.step(None), lambda env: env.step(5), lambda env: env.last()):
            raises_and_keeps(env, act, EpisodeOrderError, "reset")

    def test_observing_unknown_agent_is_refused(self) -> None:
        for agent in ("Z", "x", None, 0):
            raises_and_keeps(two_player(4), lambda env, agent=agent: env.observe(agent), ValueError, "X")


BAD_POSITIONS: list[Any] = [
    *(7, None, Position.parse("XXX/OO./..."), Position.parse("XOX/XOO/OXX")),
    *(ttt_env.get_game("square-v0").start, MISERE.start),  # of other games
    *(Position(TICTACTOE, 0b111, 0), Position(TICTACTOE, 1, 1), Position(TICTACTOE, 0, 1 << 9)),
]


@both
@pytest.mark.parametrize("seed", [None, 1])
class TestReset:
    def test_bad_position_changes_nothing(self, make: Callable[..., Any], seed: int | None) -> None:
        for position in BAD_POSITIONS:
            arguments = {"seed": seed, "options": {"position": position}}
            raises_and_keeps(
                make(4), lambda env, arguments=arguments: env.reset(**arguments), ImpossiblePositionError
            )

    @pytest.mark.parametrize("draws", [0, 1])
    def test_bad_start_changes_nothing(self, make: Callable[..., Any], seed: int | None, draws: int) -> None:
        good = [True]

        def start(rng: np.random.Generator) -> Any:
            rng.random(draws)
            return TICTACTOE.start if good else 7

        env = make(4, start=start)
        good.clear()
        raises_and_keeps(env, lambda env: env.reset(seed=seed), ImpossiblePositionError, "7 is not")

    def test_bad_seed_changes_nothing(self, make: Callable[..., Any], seed: int | None) -> None:
        bad: list[Any] = [-1, "1", 1.5]
        for seed in bad:
            raises_and_keeps(make(4), lambda env, seed=seed: env.reset(seed=seed), ParameterError, "seed=")


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    "options, error, text",
    [
        *(({"play_as": seat}, ParameterError, "expected one of X, O") for seat in ("x", "both", None, 1)),
        ({"playas": "X"}, ParameterError, "did you mean play_as"),
        (
            {"position": Position.parse(".XX/OO./..."), "play_as": "O"},
            ImpossiblePositionError,
            "ends the game",
        ),
    ],
    ids=str,
)
def test_bad_reset_options_change_nothing(
    options: Any, error: type[Exception], text: str, seed: int | None
) -> None:
    env = one_player(4, opponent=[lowest] * 3)
    raises_and_keeps(env, lambda env: env.reset(seed=seed, options=options), error, text)


@pytest.mark.parametrize("seed", [None, 1])
class TestResetAgainstFailingOpponent:
    """A drawn opponent that opens the game and fails: the opponent and all random states stay as before."""

    @staticmethod
    def fails(position: Position) -> int:
        raise OSError("the engine is gone")

    def test_failed_reset_changes_nothing(self, seed: int | None) -> None:
        env = ttt_env.make("tictactoe-v0", lowest, play_as="O")
        env.reset(seed=7)
        env.set_opponent([self.fails] * 3)
        for _ in range(8):
            opponent = env.opponent
            raises_and_keeps(env, lambda env: env.reset(seed=seed), OSError, "the engine is gone")
            assert env.opponent is opponent
        assert env.np_random_seed == 7
        env.set_opponent([lambda position: 9] * 3)
        raises_and_keeps(env, lambda env: env.reset(seed=seed), IllegalMoveError, "9")

    def test_failed_reset_keeps_turn(self, seed: int | None) -> None:
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
    @pytest.mark.parametrize("reply", [4, 9, -1, 1.5, None, "0", float("nan"), True], ids=repr)
    def test_illegal_reply_of_opponent_is_error(self, reply: Any) -> None:
        class Wrong(ttt_env.Agent):
            def choose(self, position: Position, rng: np.random.Generator) -> int:
                return reply  # type: ignore[no-any-return]

        for opponent, name in ((lambda position: reply, "lambda"), (Wrong(TICTACTOE), "Wrong")):
            raises_and_keeps(one_player(opponent=opponent), lambda env: env.step(4), IllegalMoveError, name)

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
    def test_unknown_opponents_are_refused(self, opponent: Any, error: type[Exception]) -> None:
        raises_and_keeps(one_player(4), lambda env: env.set_opponent(opponent), error)
