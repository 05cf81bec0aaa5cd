"""The games that AlphaZero plays against itself, and the replay buffer that keeps their last positions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.rules import Boards, Game, random_position
from ttt_env.training.alphazero_settings import AlphaZeroSettings

if TYPE_CHECKING:
    from ttt_env.agents.alphazero.search import Found, PuctSearch


@dataclass(frozen=True)
class Positions:
    """The training targets of positions: move probabilities `[P, cells]` and values `[P]`."""

    boards: Boards
    policies: NDArray[np.float32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)


class ReplayBuffer:
    """The last positions that were played, up to a capacity, as their canonical images."""

    def __init__(self, game: Game, most: int) -> None:
        self.masks = np.zeros((2, most), np.uint64)
        self.policies = np.zeros((most, game.n_cells), np.float32)
        self.values = np.zeros(most, np.float32)
        self._game = game
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.values))

    def add(self, positions: Positions) -> None:
        """Keep these positions in the place of the oldest ones."""
        from ttt_env.agents.alphazero.search import merged

        boards, cells = merged(positions.boards)
        at = (self.added + np.arange(len(positions))) % len(self.values)
        self.masks[0, at], self.masks[1, at] = boards.mine, boards.theirs
        moved = np.empty_like(positions.policies)
        np.put_along_axis(moved, cells, positions.policies, axis=1)
        self.policies[at], self.values[at] = moved, positions.values
        self.added += len(positions)

    def sample(self, n: int, rng: np.random.Generator) -> Positions:
        """A sample of `n` positions, drawn uniformly."""
        at = rng.integers(len(self), size=n)
        return Positions(Boards(self._game, *self.masks[:, at]), self.policies[at], self.values[at])


class SelfPlay:
    """Games that a search plays against itself, several at a time; a new one begins where one has ended."""

    def __init__(self, game: Game, settings: AlphaZeroSettings, rng: np.random.Generator) -> None:
        n, n_cells = settings.games, game.n_cells
        self.settings, self.rng, self.game = settings, rng, game
        self.masks = np.zeros((2, n), np.uint64)  # of the positions
        self.lengths = np.zeros(n, np.int64)  # moves of each game since its start
        self.played = np.zeros((2, n, n_cells), np.uint64)  # the positions before these moves
        self.policies = np.zeros((n, n_cells, n_cells), np.float32)  # the search's policies in them
        self.values = np.zeros((n, n_cells), np.float32)  # their proved values, else NaN
        self.ended = 0
        self.blunders = Boards.joined(game, [])
        for number in range(n):
            self._begin(number)

    def _begin(self, number: int) -> None:
        start, draw = self.game.start, self.rng.random()
        if draw < self.settings.random_starts:
            start = random_position(self.game, self.rng)
        elif draw < self.settings.random_starts + self.settings.blunder_starts and len(self.blunders):
            start = self.blunders[int(self.rng.integers(len(self.blunders)))]
        self.masks[:, number] = start.mine, start.theirs
        self.lengths[number] = 0

    def move(self, search: "PuctSearch") -> Positions:
        """Make a move in every game; the positions of the games that it ended, with what is to be learned.

        The policy of a position is how often each move was visited. If moves are proved wins, it is uniform
        among these; proved losses have none of it if there is anything else. The value is what is proved, or
        else the result of the game.
        """
        boards, numbers = Boards(self.game, *self.masks.copy()), np.arange(len(self.lengths))
        found = search.find(
            boards, self.settings.simulations, int(self.rng.integers(1 << 63)), self._noise(boards)
        )
        policies = _targets(found, boards.legal)
        at = numbers, self.lengths
        self.played[(slice(None), *at)] = self.masks
        self.policies[at], self.values[at] = policies, found.proved
        after = boards.play(self._chosen(policies))
        self.masks[:] = after.mine, after.theirs
        self.lengths += 1
        return self._harvest(after)

    def _noise(self, boards: Boards) -> Floats:
        """Noise over the legal moves, `[B, cells]`, which sums to 1."""
        legal = boards.legal
        n_legal = legal.sum(axis=1, keepdims=True)
        drawn = self.rng.gamma(np.where(legal, self.settings.concentration / n_legal, 1.0)) * legal
        total = drawn.sum(axis=1, keepdims=True)
        noise: Floats = np.where(total > 0, drawn / np.maximum(total, 1e-300), legal / n_legal)
        return noise

    def _chosen(self, policies: NDArray[np.float32]) -> NDArray[np.intp]:
        """The cells to play: drawn at the beginning of a game, later the likeliest."""
        totals = policies.cumsum(axis=1, dtype=np.float64)
        draws = self.rng.random((len(totals), 1)) * totals[:, -1:]
        drawn = (totals <= draws).sum(axis=1)
        is_drawn = self.lengths < self.settings.sampled_moves
        cells: NDArray[np.intp] = np.where(is_drawn, drawn, policies.argmax(axis=1))
        return cells

    def _harvest(self, after: Boards) -> Positions:
        """The positions of the games that are over, in whose places new games begin."""
        over = np.flatnonzero(after.is_over)
        lengths = self.lengths[over]
        game_of, ply = (
            np.repeat(np.arange(len(over)), lengths),
            np.concatenate([np.arange(0), *map(np.arange, lengths)]),
        )
        at = over[game_of], ply
        result = np.where(after.is_won[over], -1.0 if self.game.misere else 1.0, 0.0)[game_of]
        result *= np.where((lengths[game_of] - ply) % 2, 1.0, -1.0)  # for the player to move
        values = np.where(np.isnan(self.values[at]), result, self.values[at]).astype(np.float32)
        positions = Positions(Boards(self.game, *self.played[(slice(None), *at)]), self.policies[at], values)
        for number in over:
            self._begin(int(number))
        self.ended += len(over)
        return positions


def _targets(found: "Found", legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The policy that is to be learned of each position: see `SelfPlay.move`."""
    wins, losses = found.values == 1, found.values == -1
    open_visits = np.where(losses, 0, found.visits).astype(np.float64)
    kept = np.where(open_visits.any(axis=1, keepdims=True), open_visits, found.visits)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, legal & ~losses)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, legal)
    kept = np.where(wins.any(axis=1, keepdims=True), wins, kept)
    targets: NDArray[np.float32] = (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32)
    return targets
