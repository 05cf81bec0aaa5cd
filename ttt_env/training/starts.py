"""The positions in which the episodes of a training begin."""

import numpy as np

from ttt_env.rules import Boards, Game, Position, get_game, random_position

_COSTLY = 0.8  # the share of costly errors among starts at errors, if there are any


class RandomStarts:
    """A start for episodes: with this probability a random position, else the empty board.

    With the probability `errors` it is one of the learner's own errors instead, once `set_errors` has told
    which these are.

    >>> import ttt_env
    >>> env = ttt_env.make("tictactoe-v0", opponent="random", start=RandomStarts("tictactoe-v0", 1.0))
    >>> for seed in range(3):
    ...     observation, info = env.reset(seed=seed)
    ...     print(env.position)
    X../.../.OX
    .../.../..X
    X.O/..O/.X.
    """

    def __init__(self, game: Game | str, probability: float = 0.3, errors: float = 0.0) -> None:
        self.game, self.probability, self.errors = get_game(game), probability, errors
        self._costly = self._all = Boards.joined(self.game, [])

    def set_errors(self, boards: Boards, costly: Boards) -> None:
        """Begin at these positions, in which the learner gives value away.

        Most such episodes begin at the `costly` ones among them, where there are any: those that cost it what
        the game is worth.
        """
        self._all, self._costly = boards, costly

    def __call__(self, rng: np.random.Generator) -> Position:
        """The first position of an episode."""
        draw = rng.random()
        if draw < self.probability:
            return random_position(self.game, rng)
        if draw < self.probability + self.errors and len(self._all):
            is_costly = len(self._costly) > 0 and rng.random() < _COSTLY
            boards = self._costly if is_costly else self._all
            return boards[int(rng.integers(len(boards)))]
        return self.game.start
