"""Which store keeps the boards of a game, and who makes its steps."""

from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.envs.vector.bit_store import BitStore
from ttt_env.envs.vector.engine import Openings
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.states import TableStore, table_store
from ttt_env.envs.vector.steps import ArraySteps, Steps
from ttt_env.envs.vector.store import Store
from ttt_env.errors import ParameterError
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import TABLE_CELLS, is_tabulated


def store_of(game: Game, backend: Backend) -> Store:
    """The faster store that can hold the game. Raises `GameTooLargeError` above 64 cells.

    Raises `ParameterError` for a game without a table on another back end than NumPy.
    """
    if is_tabulated(game):
        return table_store(game, backend)
    if backend.is_remote:
        raise ParameterError(
            f"{game.name} has too many positions for a table: only backend='numpy' plays it; "
            f"others play games of up to {TABLE_CELLS} cells, such as tictactoe-v0"
        )
    return BitStore(game, backend)


def steps_of(store: Store, openings: Openings, replies: Replies | None, rewards: Array) -> Steps:
    """The fastest way to make the steps: compiled, in NumPy's memory and where a step is a few look-ups."""
    if isinstance(store, TableStore) and openings.are_look_ups(replies) and not store.backend.is_remote:
        from ttt_env.envs.vector.compiled import CompiledSteps

        return CompiledSteps(store, openings, replies, rewards)
    return ArraySteps(store, openings, replies, rewards)
