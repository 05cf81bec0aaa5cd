"""Which store keeps the boards of a game, and who makes its steps."""

from math import comb

from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.envs.vector.bit_store import BitStore
from ttt_env.envs.vector.openings import Openings
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.steps import ArraySteps, Steps
from ttt_env.envs.vector.store import Store
from ttt_env.envs.vector.table_store import TableStore, table_store
from ttt_env.errors import ParameterError
from ttt_env.rules.game import Game

_MAX_SLOTS = 300_000  # tables of games up to here take some tens of megabytes and a second to make


def store_of(game: Game, backend: Backend) -> Store:
    """The faster store that can hold the game. Raises `GameTooLargeError` above 64 cells.

    Raises `ParameterError` for a game without a table on another back end than NumPy.
    """
    n = game.n_cells
    slots = sum(comb(n, ply) * comb(ply, ply // 2) for ply in range(n + 1)) if n < 20 else _MAX_SLOTS + 1
    if slots <= _MAX_SLOTS:
        return table_store(game, backend)
    if backend.is_remote:
        raise ParameterError(
            f"{game.name} has too many positions for a table: only backend='numpy' plays it; "
            f"others play games of up to about {_MAX_SLOTS:,} positions, such as tictactoe-v0"
        )
    return BitStore(game, backend)


def steps_of(store: Store, openings: Openings, replies: Replies | None, rewards: Array) -> Steps:
    """The fastest way to make the steps: compiled, in NumPy's memory and where a step is a few look-ups."""
    if isinstance(store, TableStore) and openings.are_look_ups(replies) and not store.backend.is_remote:
        from ttt_env.envs.vector.compiled_steps import CompiledSteps

        return CompiledSteps(store, openings, replies, rewards)
    return ArraySteps(store, openings, replies, rewards)
