"""Games as pure functions of JAX: `init` and `step` under `jit`, `vmap` and `scan`, with the states of Pgx.

    import jax
    from ttt_env.integrations.jax import JaxGame

    game = JaxGame("tictactoe-v0")
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 1024))
    states = jax.jit(jax.vmap(game.step))(states, actions)

What Pgx's wrappers and mctx do with an environment of Pgx they do with this one: see
scripts/frameworks/jax_mctx.py. States and steps: https://github.com/sotetsuk/pgx/blob/main/pgx/core.py
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ttt_env.agent import AgentLike
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.envs.board import PlayAs
from ttt_env.errors import ParameterError, extra_for
from ttt_env.rules import SEATS, Boards, Game, check_coded, checked, get_game
from ttt_env.rules.sizes import TABLE_CELLS

with extra_for("games as functions of JAX need", "jax"):
    import jax
    import jax.numpy as jnp

__all__ = ["JaxGame", "State"]

_BITS = 32  # of a word: JAX has no wider integers by default


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """A game, with the fields of Pgx's states.

    `observation` is `bool[*shape, 2]`: plane 0 the stones of `current_player`, plane 1 the other player's.
    `rewards` are the rewards of players 0 and 1 for the last step. After the end all actions are legal and
    change nothing, as in Pgx, so that a masked policy is a distribution there, too. `_mine` and `_theirs` are
    the bit masks of the position, `uint32[words]`, as in `Position`.
    """

    current_player: jax.Array
    observation: jax.Array
    rewards: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    legal_action_mask: jax.Array
    _step_count: jax.Array
    _mine: jax.Array
    _theirs: jax.Array

    def replace(self, **fields: Any) -> "State":
        """A copy with new values of some fields."""
        return replace(self, **fields)


class JaxGame:
    """A game as pure functions, `init(key)` and `step(state, action, key)`.

    An illegal action ends the game: −1 for the player and 1 for the other, as in Pgx.

    Args:
        game: The game, or its id.
        opponent: An agent, whose policy is tabulated in all positions of a game of at most 12 cells; player 0
            is then stepped, and the reply is part of the step. None to step both players; the key then
            decides which of them begins.
        play_as: The seat of player 0 against an opponent: "X", "O" or "random".

    Raises:
        GameTooLargeError: The game against an opponent has more than 12 cells.
        ParameterError: `play_as` is invalid, or an error of `make_agent`.

    """

    num_players = 2
    version = "v0"

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        opponent: AgentLike | None = None,
        *,
        play_as: PlayAs = "random",
    ) -> None:
        self.game = get_game(game)
        self.id = self.game.name
        self.num_actions = len(self.game.columns)
        self.observation_shape = (*self.game.shape, 2)
        if play_as == "alternate":
            raise ParameterError(
                'play_as="alternate" needs a memory: a pure function has "X", "O" and "random"'
            )
        self._play_as = play_as
        sets = np.zeros((len(self.game.winning_sets), self.game.n_cells), np.bool_)
        for row, cells in enumerate(self.game.winning_sets):
            sets[row, list(cells)] = True
        self._sets, self._stones = _words(sets), _words(np.eye(self.game.n_cells, dtype=np.bool_))
        self._full = _words(np.ones(self.game.n_cells, np.bool_))
        longest = max(map(len, self.game.columns))
        # The cells of each column from below, and the top one repeated where it is shorter than others.
        self._columns = np.array(
            [[*cells, *cells[-1:] * (longest - len(cells))] for cells in self.game.columns]
        )
        self._support = np.array([0 if below is None else below for below in self.game.supports])
        self._is_ground = np.array([below is None for below in self.game.supports])
        self._totals = None if opponent is None else self._cumulative_policies(opponent)

    def init(self, key: jax.Array) -> State:
        """The start of a game."""
        if self._totals is None or self._play_as == "random":
            begins = jax.random.bernoulli(key).astype(jnp.int32)
        else:
            begins = jnp.int32(SEATS.index(self._play_as))
        state = self._start(begins)
        if self._totals is None:
            return state
        replied = self._reply(state, jax.random.fold_in(key, 1))
        return _select(begins == 1, replied.replace(_step_count=state._step_count), state)

    def step(self, state: State, action: jax.Array, key: jax.Array | None = None) -> State:
        """The game after an action of `current_player`, and after the opponent's reply if there is one.

        `key` is only needed for that reply.
        """
        stepped = self._step(state, action)
        if self._totals is None:
            return stepped
        if key is None:
            raise ParameterError("step(state, action, key): the opponent's reply is drawn from a key")
        replied = self._reply(stepped, key)
        is_on = ~(stepped.terminated | state.terminated | state.truncated)
        return _select(is_on, replied.replace(_step_count=stepped._step_count), stepped)

    def observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:
        """The observation of a player, by default of the current one."""
        if player_id is None:
            return state.observation
        return jnp.where(player_id == state.current_player, state.observation, state.observation[..., ::-1])

    def states_of(self, boards: Boards) -> State:
        """These positions as a batch of states, with player 0 to move; games that are over are terminated."""
        start = self._start(jnp.int32(0))
        mine, theirs = (_words(boards.cells(masks)) for masks in (boards.mine, boards.theirs))
        batch: State = jax.tree.map(lambda field: jnp.repeat(field[None], len(boards), 0), start)
        return batch.replace(
            observation=jnp.asarray(boards.planes.astype(np.bool_)),
            terminated=jnp.asarray(boards.is_over),
            legal_action_mask=jnp.asarray(boards.legal[:, self._columns].any(-1) | boards.is_over[:, None]),
            _mine=jnp.asarray(mine),
            _theirs=jnp.asarray(theirs),
        )

    def _start(self, current_player: jax.Array) -> State:
        no, none = jnp.bool_(False), jnp.zeros_like(self._full)
        return State(
            current_player=current_player,
            observation=jnp.zeros(self.observation_shape, jnp.bool_),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=no,
            truncated=no,
            legal_action_mask=jnp.asarray(self._is_ground[self._columns].any(-1)),
            _step_count=jnp.int32(0),
            _mine=none,
            _theirs=none,
        )

    def _step(self, state: State, action: jax.Array) -> State:
        """The game after an action; a finished one stays as it is, without rewards."""
        exists = (action >= 0) & (action < self.num_actions)  # else JAX reads another one
        column = jnp.asarray(self._columns)[action]
        playable = self._playable(self._cells(state._mine) | self._cells(state._theirs))
        is_legal = exists & state.legal_action_mask[action]
        return self._play(state, column[jnp.argmax(playable[column])], is_legal)

    def _playable(self, taken: jax.Array) -> jax.Array:
        """The legal cells if these are taken, `bool[cells]`."""
        return ~taken & (taken[self._support] | self._is_ground)

    def _play(self, state: State, cell: jax.Array, is_legal: jax.Array) -> State:
        """The game after a stone on this cell, by an action that is legal or loses."""
        is_on = ~(state.terminated | state.truncated)
        stones = jnp.where(is_on, state._mine | jnp.asarray(self._stones)[cell], state._mine)
        mine, theirs = jnp.where(is_on, state._theirs, stones), jnp.where(is_on, stones, state._theirs)
        sets = jnp.asarray(self._sets)
        is_won = ((stones & sets) == sets).all(-1).any(-1)
        is_over = is_won | ((mine | theirs) == self._full).all(-1)
        of_win = -1.0 if self.game.misere else 1.0
        of_mover = jnp.where(is_legal, jnp.where(is_won, of_win, 0.0), -1.0) * is_on
        sign = 1 - 2 * state.current_player
        terminated = state.terminated | (is_on & (is_over | ~is_legal))
        cells_of_mine, cells_of_theirs = self._cells(mine), self._cells(theirs)
        planes = jnp.stack([cells_of_mine, cells_of_theirs], -1).reshape(self.observation_shape)
        return State(
            current_player=jnp.where(is_on, 1 - state.current_player, state.current_player),
            observation=planes,
            rewards=jnp.stack([of_mover * sign, -of_mover * sign]).astype(jnp.float32),
            terminated=terminated,
            truncated=state.truncated,
            legal_action_mask=self._playable(cells_of_mine | cells_of_theirs)[self._columns].any(-1)
            | terminated,
            _step_count=state._step_count + is_on,
            _mine=mine,
            _theirs=theirs,
        )

    def _cells(self, words: jax.Array) -> jax.Array:
        """A bit mask, `uint32[words]`, as `bool[cells]`."""
        cells = np.arange(self.game.n_cells)
        return (words[cells // _BITS] >> (cells % _BITS).astype(np.uint32)) & 1 == 1

    def _reply(self, state: State, key: jax.Array) -> State:
        """The game after a move of the opponent, by its table."""
        digits = 3 ** np.arange(self.game.n_cells)
        number = (self._cells(state._mine) @ digits) + 2 * (self._cells(state._theirs) @ digits)
        draw = jax.random.uniform(key)
        cell = (jnp.asarray(self._totals)[number] <= draw).sum(-1)
        return self._play(state, cell, jnp.bool_(True))

    def _cumulative_policies(self, opponent: AgentLike) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The cumulative policy in each position, `float32[3**cells, cells]`."""
        game = self.game
        check_coded(game, TABLE_CELLS, "for the table of an opponent")
        table = PolicyTable.of(opponent, game, positions="all")
        totals = np.zeros((3**game.n_cells, game.n_cells), np.float32)
        digits = 3 ** np.arange(game.n_cells)
        for layer in table.answered_layers:
            for moves in layer.moves():
                boards = moves.boards
                policies = table.policies(boards)
                rows = boards.cells(boards.mine) @ digits + 2 * (boards.cells(boards.theirs) @ digits)
                sums = np.cumsum(policies, axis=1).astype(np.float32)
                last = policies.shape[1] - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
                sums[np.arange(policies.shape[1]) >= last[:, None]] = 2  # against rounding
                totals[rows] = sums
        return totals


def _words(cells: np.ndarray[Any, np.dtype[np.bool_]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Cells, `bool[..., cells]`, as bit masks, `uint32[..., words]`."""
    n_words = -(-cells.shape[-1] // _BITS)
    padded = np.zeros((*cells.shape[:-1], n_words * _BITS), np.bool_)
    padded[..., : cells.shape[-1]] = cells
    octets = np.packbits(padded, axis=-1, bitorder="little")
    return octets.view("<u4").astype(np.uint32)


def _select(condition: jax.Array, if_true: State, if_false: State) -> State:
    state: State = jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)
    return state
