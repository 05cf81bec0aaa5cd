"""The random numbers of a vector environment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from ttt_env.envs.vector.arguments import as_seeds
from ttt_env.envs.vector.backends import Array, Backend

_NO_DRAWS = np.empty((0, 0))


class SeededEnv(VectorEnv[Any, Any, Any]):
    """Draws from the source of its back end, which `np_random` seeds; in NumPy it is `np_random`."""

    _backend: Backend
    _source: tuple[np.random.Generator, Any] | None = None  # what it was seeded by, and it

    def _drawn_from(self) -> Any:
        if self._source is None or self._source[0] is not self.np_random:
            self._source = self.np_random, self._backend.source(self.np_random)
        return self._source[1]

    def _draws(self, n_rows: int) -> Array:
        """Numbers from [0, 1), `float64[n_rows, B]`."""
        if not n_rows:
            return _NO_DRAWS
        return self._backend.random(self._drawn_from(), (n_rows, self.num_envs))

    def _seed(self, seed: int | Sequence[int]) -> None:
        seeds = as_seeds(seed, self.num_envs)
        if isinstance(seed, Sequence | np.ndarray):
            self.np_random = np.random.default_rng(seeds)
        else:
            VectorEnv.reset(self, seed=seeds[0])

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Go back to the random numbers of before where what is done here fails."""
        restore, source = self._backend.restore, self._drawn_from()
        before = self._np_random, self._np_random_seed, self._source
        states = self.np_random.bit_generator.state, self._backend.state(source)
        try:
            yield
        except BaseException:
            self._np_random, self._np_random_seed, self._source = before
            self.np_random.bit_generator.state = states[0]
            restore(source, states[1])
            raise
