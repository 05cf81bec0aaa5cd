"""Games as functions of JAX; scripts/frameworks/jax_mctx.py installs JAX and runs these tests."""

import importlib
from operator import itemgetter
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.games import open_boards
from ttt_env.rules import Boards, Game

GAMES: dict[str, Game] = {
    "3x3": ttt_env.get_game("tictactoe-v0"),
    "misere": ttt_env.get_game("tictactoe-v0", misere=True),
    "square": ttt_env.get_game("square-v0"),
    "qubic": ttt_env.get_game("qubic-v0"),
    "a user's own": Game("corners", (2, 3), [(0, 2, 3, 5), (1, 4)]),
}


@pytest.fixture
def module() -> Any:
    pytest.importorskip("jax")
    return importlib.import_module("ttt_env.integrations.jax")


def as_numpy(states: Any) -> Any:
    """The states as NumPy arrays, which are indexed without compiling."""
    import jax

    return jax.tree.map(np.asarray, states)


def boards_of(states: Any, game: Game) -> Boards:
    """The positions of a batch of states, read from their bit masks."""
    words = np.stack([np.asarray(states._mine), np.asarray(states._theirs)])
    octets = np.ascontiguousarray(words).astype("<u4").view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., : game.n_cells].astype(bool)
    masks = [[sum(1 << int(cell) for cell in np.flatnonzero(row)) for row in rows] for rows in bits]
    return Boards.of([ttt_env.Position(game, mine, theirs) for mine, theirs in zip(*masks, strict=True)])


def check_states(states: Any, boards: Boards) -> None:
    """Check that states equal the positions."""
    over = boards.is_over
    assert np.array_equal(states.terminated, over) and not states.truncated.any()
    assert np.array_equal(states.observation, boards.planes.astype(bool))
    assert np.array_equal(states.legal_action_mask, boards.legal | over[:, None])
    of_mover = np.where(boards.is_won, -1.0 if not boards.game.misere else 1.0, 0.0)
    rows = np.arange(len(boards))
    assert np.array_equal(states.rewards[rows, states.current_player], of_mover)
    assert np.array_equal(states.rewards.sum(axis=1), np.zeros(len(boards)))


@pytest.mark.parametrize("name", ["3x3", "misere"])
def test_every_legal_move_of_every_position(module: Any, name: str) -> None:
    import jax

    game, functions = GAMES[name], module.JaxGame(GAMES[name])
    step = jax.jit(jax.vmap(functions.step))
    boards = open_boards(game)
    rows, cells = np.nonzero(boards.legal)
    after = boards[rows].play(cells)
    stepped = as_numpy(step(functions.states_of(boards[rows]), cells))
    check_states(stepped, after)
    boards_after = boards_of(stepped, game)
    assert np.array_equal(boards_after.mine, after.mine) and np.array_equal(boards_after.theirs, after.theirs)
    assert (stepped._step_count == 1).all()


def test_every_illegal_move_of_every_position(module: Any) -> None:
    import jax

    game, functions = GAMES["3x3"], module.JaxGame()
    boards = open_boards(game)
    rows, cells = np.nonzero(np.pad(~boards.legal, ((0, 0), (2, 2)), constant_values=True))
    cells -= 2  # two of them before the first cell, and two beyond the last
    states = jax.jit(jax.vmap(functions.step))(functions.states_of(boards[rows]), cells)
    assert np.asarray(states.terminated).all() and np.asarray(states.legal_action_mask).all()
    assert np.array_equal(states.rewards, np.tile([-1.0, 1.0], (len(rows), 1)))


def test_gravity_masks_columns(module: Any) -> None:
    import jax

    game = ttt_env.get_game("connect-four-v0")
    functions, position = module.JaxGame(game), game.start.play(38).play(31)
    states = functions.states_of(Boards.of([position]))
    after = jax.vmap(functions.step)(states, np.array([3]))
    assert states.legal_action_mask.shape == (1, 7) and not after.terminated.any()
    floating = Game("tree", (4,), [(0, 1, 2)], supports=[3, 3, None, None])
    assert module.JaxGame(floating).init(jax.random.key(0)).legal_action_mask.tolist() == [
        False,
        False,
        True,
        True,
    ]


def play_at_random(module: Any, game: Game, n_games: int, seed: int) -> int:
    """Play games in parallel with `Boards` and compare all steps; the number of moves."""
    import jax

    functions = module.JaxGame(game)
    step, rng = jax.jit(jax.vmap(functions.step)), np.random.default_rng(seed)
    states = jax.vmap(functions.init)(jax.random.split(jax.random.key(seed), n_games))
    boards, n_moves = Boards.start(game, n_games), 0
    check_states(as_numpy(states), boards)
    while not boards.is_over.all():
        is_on = ~boards.is_over
        draws = rng.random((n_games, game.n_cells)) * (boards.legal | ~is_on[:, None])
        cells = draws.argmax(axis=1)
        states = step(states, cells)
        after = boards.play(cells)
        continues = is_on.reshape(-1, *[1] * (boards.mine.ndim - 1))
        mine, theirs = np.where(continues, [after.mine, after.theirs], [boards.mine, boards.theirs])
        boards, rows = Boards(game, mine, theirs), np.flatnonzero(is_on)
        current = as_numpy(states)
        assert not current.rewards[~is_on].any()
        check_states(jax.tree.map(itemgetter(rows), current), boards[rows])
        n_moves += int(is_on.sum())
    assert int(np.asarray(states._step_count).sum()) == n_moves
    return n_moves


@pytest.mark.parametrize("name", GAMES)
def test_random_games_equal_boards(module: Any, name: str) -> None:
    assert play_at_random(module, GAMES[name], 64, seed=1) >= 64


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_many_random_games_equal_boards(module: Any, name: str) -> None:
    """100,000 games; on the largest board fewer, which have as many moves."""
    n_games = 100_000
    for seed in range(10):
        play_at_random(module, GAMES[name], n_games // 10, seed)


def test_opponent_replies_by_its_policy(module: Any) -> None:
    """All its moves have a positive probability, and each occurs about as often as its policy says."""
    import jax

    game = GAMES["3x3"]
    functions = module.JaxGame(game, "epsilon:minimax,epsilon=0.5", play_as="X")
    agent = ttt_env.make_agent("epsilon:minimax,epsilon=0.5", game)
    n = 20_000
    states = jax.vmap(functions.init)(jax.random.split(jax.random.key(0), n))
    stepped = jax.vmap(functions.step)(states, np.zeros(n, int), jax.random.split(jax.random.key(1), n))
    shares = np.asarray(stepped.observation)[..., 1].reshape(n, 9).mean(axis=0)
    policy = agent.policy(game.start.play(0))
    assert not shares[policy == 0].any() and np.abs(shares - policy).max() < 0.02
    assert not np.asarray(stepped.current_player).any() and np.asarray(stepped._step_count).all()


def test_minimax_opponent_never_loses(module: Any) -> None:
    import jax

    functions = module.JaxGame("tictactoe-v0", "minimax")
    n, rng = 512, np.random.default_rng(0)
    states = jax.vmap(functions.init)(jax.random.split(jax.random.key(0), n))
    has_opening = np.asarray(states.observation).any(axis=(1, 2, 3))
    assert 0 < has_opening.sum() < n  # it plays X in some games
    total, step = np.zeros(n), jax.jit(jax.vmap(functions.step))
    for number in range(6):
        cells = (rng.random((n, 9)) * np.asarray(states.legal_action_mask)).argmax(axis=1)
        states = step(states, cells, jax.random.split(jax.random.key(number), n))
        total += np.asarray(states.rewards)[:, 0]
    assert np.asarray(states.terminated).all() and set(total) == {-1.0, 0.0}


def test_scan_with_pgx_wrappers_equals_pgx(module: Any) -> None:
    import jax
    import jax.numpy as jnp

    pgx = pytest.importorskip("pgx")
    from pgx.experimental import auto_reset

    def outputs_of(env: Any) -> Any:
        step = auto_reset(env.step, env.init)

        def body(state: Any, key: Any) -> tuple[Any, Any]:
            logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
            state = step(state, jax.random.categorical(key, logits), key)
            return state, (state.observation, state.rewards, state.terminated, state.current_player)

        return jax.lax.scan(body, env.init(jax.random.key(5)), jax.random.split(jax.random.key(6), 500))[1]

    ours, theirs = outputs_of(module.JaxGame()), outputs_of(pgx.make("tic_tac_toe"))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert np.asarray(ours[2]).sum() > 50


def test_errors_name_limits_and_missing_keys(module: Any) -> None:
    with pytest.raises(ttt_env.errors.GameTooLargeError, match="12 cells are the limit"):
        module.JaxGame("square-v0", "random")
    with pytest.raises(ttt_env.errors.ParameterError, match="alternate"):
        module.JaxGame("tictactoe-v0", "random", play_as="alternate")
    import jax

    functions = module.JaxGame("tictactoe-v0", "random")
    with pytest.raises(ttt_env.errors.ParameterError, match="key"):
        functions.step(functions.init(jax.random.key(0)), 4)
