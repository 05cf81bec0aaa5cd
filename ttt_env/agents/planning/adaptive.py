"""An agent that learns during a game how precisely its opponent plays."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from ttt_env.agent import Agent, CellNumbers, Effort, Explanation, Floats, made_anew, of_legal_cells, sample
from ttt_env.agents.planning.planners import Softmax
from ttt_env.analysis.evaluation import best_response
from ttt_env.analysis.induction import best
from ttt_env.rules import Boards, Game, Position, check_tabulated, one_of

TEMPERATURES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 3.0, inf)
"""The temperatures that an opponent may have: before its first move each is as likely as the others."""
ESTIMATES = ("posterior", "likeliest")
_MEMO_SIZE = 10_000


class Adaptive(Agent):
    """Infers from the opponent's moves in this game at which temperature it plays, and answers that best.

    The opponent is taken for one who plays by softmax minimax, `softmax:temperature=T`, at one of the
    temperatures of a grid from 0, best play, to infinity, random play. Each of its moves changes how likely
    they are, by Bayes' rule from equal chances at the start. With the `estimate` "posterior" the agent plays
    the move with the highest expected result of best responses to them, weighted by these chances; with
    "likeliest" the best response to the likeliest temperature alone. A game has few moves: after one good
    move the likeliest opponent is a perfect one, against whom all moves that keep a draw are worth the same.
    So "posterior" never gets less on 3×3, at any temperature that `scripts/wrong_temperature.py` computes.
    There its moves are those that are best before anything is learned: no four moves of an opponent say so
    much that another one would be better. On larger boards some are.

    This is the second parameter of Lachlan Gibson's "Making tic-tac-toe interesting with AI", the temperature
    that is ascribed to the opponent, learned. How the agent moves depends on the game so far, so it has no
    fixed policy, matches with it are sampled, and `certify` and `exploitability` refuse it. Where only a
    position is known, as in `policy` and in vector environments, it knows no moves of the opponent, and all
    temperatures are equally likely.

    Raises `GameTooLargeError` for a game of more than 12 cells, `ParameterError` for another estimate.
    """

    def __init__(self, game: Game | str, estimate: str = "posterior") -> None:
        super().__init__(game)
        _check_tabulated(self.game)
        self.estimate = one_of("estimate of adaptive", estimate, ESTIMATES)
        self._models = [Softmax(self.game, temperature) for temperature in TEMPERATURES]
        self._answers = [best_response(model, self.game) for model in self._models]
        self._memo: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return made_anew(self, type(self), self.game, self.estimate)

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:  # noqa: D102
        _check_tabulated(game)
        return "sweep"

    def policy(self, position: Position) -> Floats:
        """The move probabilities where nothing is known of the game so far, `[cells]`."""
        return self.policy_in_game([position])

    def choose_in_game(self, positions: Sequence[Position], rng: np.random.Generator) -> int:
        """A cell drawn from `policy_in_game`."""
        return sample(self.policy_in_game(positions), rng.random())

    def policy_in_game(self, positions: Sequence[Position]) -> Floats:
        """The move probabilities in the last of these positions of a game, `[cells]`."""
        boards = Boards.of(positions[-1:])
        policy: Floats = best(self._expected(positions)[None], boards.legal)[0]
        return policy

    def chances_of_temperatures(self, positions: Sequence[Position]) -> Floats:
        """The probability of each of `TEMPERATURES` after the opponent's moves in these positions, `[T]`.

        The positions follow each other in one game, starting anywhere; in the last one the agent is to move.
        """
        likelihoods = np.ones(len(TEMPERATURES))
        for before, after in pairwise(positions):
            if (positions[-1].ply - before.ply) % 2:
                cell = (before.occupied_mask ^ after.occupied_mask).bit_length() - 1
                likelihoods *= self._known(before)[0][:, cell]
        chances: Floats = likelihoods / likelihoods.sum()
        return chances

    def _expected(self, positions: Sequence[Position]) -> Floats:
        """The expected result of each move, `[cells]`; NaN for those that are not legal."""
        weights = self.chances_of_temperatures(positions)
        if self.estimate == "likeliest":
            weights = best(weights[None], np.ones((1, len(weights)), np.bool_))[0]
        values: Floats = weights @ self._known(positions[-1])[1]
        return values

    def _known(self, position: Position) -> tuple[Floats, Floats]:
        """The known numbers of a position's moves for each temperature, `[T, cells]`; NaN for illegal moves.

        First the probabilities of an opponent who moves there, then the action values of the best response if
        the agent moves.
        """
        key = position.mine, position.theirs
        if key not in self._memo:
            if len(self._memo) >= _MEMO_SIZE:
                self._memo.clear()
            values = np.full((len(TEMPERATURES), self.game.n_cells), np.nan)
            for row, answer in zip(values, self._answers, strict=True):
                by_cell = answer.numbers(position).by_cell
                row[list(by_cell)] = list(by_cell.values())
            self._memo[key] = np.array([model.policy(position) for model in self._models]), values
        return self._memo[key]

    def _explained(self, position: Position) -> Explanation:
        policy = of_legal_cells(position, self.policy(position))
        expected = of_legal_cells(position, self._expected([position]))
        numbers = CellNumbers("expected result, if all temperatures are as likely", expected)
        reason = (
            "As long as no move of the opponent is known, each temperature is as likely as the others: "
            "{cells} has the highest expected result."
        )
        return Explanation(position, policy, reason, (numbers,))


def _check_tabulated(game: Game) -> None:
    check_tabulated(game, "for adaptive to keep an answer to each temperature")
