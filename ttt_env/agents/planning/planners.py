"""Agents that look ahead: each moves by the values of one sweep over the game."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property, lru_cache
from math import lcm
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats, of_legal_cells
from ttt_env.agents.heuristics.threats import n_threats
from ttt_env.agents.planning.alphabeta import AlphaBeta
from ttt_env.analysis.induction import Values, backward_induction, best, near_highest, softmax
from ttt_env.analysis.layers import Moves, Responder, reachable
from ttt_env.analysis.solution import ValueAgent, distances, solve
from ttt_env.errors import ParameterError
from ttt_env.render.tree import TreeNode
from ttt_env.render.words import RESULTS, percent, signed
from ttt_env.rules import (
    Between,
    Boards,
    Game,
    Position,
    check_enumerable,
    check_game,
    checked,
    is_enumerable,
)

_PER_THREAT = 0.2
_MAX_UTILITY = 0.99  # less than a win, because the game is not over


def utility(boards: Boards) -> Floats:
    """The estimated value of unfinished positions for the player to move, `[B]`, inside (−1, 1).

    0.2 for every winning set in which the player lacks only one cell, and that cell is empty; −0.2 for every
    such set of the opponent (misère: the other way round); clipped to ±0.99.
    """
    game = boards.game
    threats = n_threats(game, boards.mine, boards.theirs) - n_threats(game, boards.theirs, boards.mine)
    per_threat = -_PER_THREAT if game.misere else _PER_THREAT
    return np.clip(per_threat * threats, -_MAX_UTILITY, _MAX_UTILITY)


@lru_cache(maxsize=8)
def lookahead(game: Game, depth: int | None, seconds: float | None = None) -> Agent:
    """The agent that plays the best moves of a minimax to this depth, or as deep as it gets in this time.

    Raises `GameTooLargeError` if the game has too many cells for either.
    """
    if depth is None or seconds is not None or not is_enumerable(game):
        return AlphaBeta(game, depth, seconds)
    values_and_responder = _SweptValues(game, depth), best
    return ValueAgent(game, values_and_responder, values_and_responder)


class _SweptValues(Values):
    """The values of moves by a sweep over the next `depth` plies; each ply has its own sweep."""

    def __init__(self, game: Game, depth: int) -> None:
        super().__init__(game, [])
        self._depth = depth
        self._next: dict[int, Values] = {}

    def q(self, boards: Boards) -> Floats:
        q = np.full((len(boards), self.game.n_cells), np.nan)
        for ply, at in boards.by_ply():
            if ply not in self._next:
                layers = reachable(self.game)[ply : ply + self._depth + 1]
                outcomes = backward_induction(layers, best, best, leaves=utility)
                self._next[ply] = Values(self.game, outcomes.values().layers[1:2], ply + 1)
            q[at] = self._next[ply].q(boards[at])
        return q


@checked
def value_tree(
    position: Position,
    depth: Annotated[int, Between(0)],
    values: Values,
    responders: tuple[Responder, Responder],
) -> TreeNode:
    """The tree of `depth` plies below `position`, where X and O choose their moves by these responders.

    Below each board is its value for X, above it the probability of the move that leads to it; the edges to
    the most probable moves stand out.

    Raises `ImpossiblePositionError` for a position of another game.
    """
    position = check_game(position, values.game)

    def children(parent: Position, plies: int) -> tuple[TreeNode, ...]:
        if plies == 0 or parent.is_over:
            return ()
        boards = Boards.of([parent])
        q = values.q(boards)
        policy = responders[parent.ply % 2](q, boards.legal)[0]
        is_likely = np.isclose(policy, policy.max())
        return tuple(
            TreeNode(
                child := parent.child(cell),
                cell,
                (percent(policy[cell]), _for_x(parent, q[0, cell])),
                children(child, plies - 1),
                bool(is_likely[cell]),
            )
            for cell in parent.legal_cells
        )

    value = values.of(Boards.of([position]))[0]
    return TreeNode(position, None, (_for_x(position, value),), children(position, depth))


def _for_x(mover: Position, value: float) -> str:
    """A value for the player to move in this position, as text, from the side of X."""
    return f"X {signed(value if mover.to_move == 'X' else -value, 2)}"


_TIE = 1e-12  # of the largest score: equal sums over up to 18! games differ by rounding
_memoised = lru_cache(maxsize=8)


class Planner(Agent):
    """An agent that moves as another one, its plan, which it computes at its first move."""

    is_stationary = True

    @cached_property
    @abstractmethod
    def _plan(self) -> Agent:
        """The agent whose moves it plays."""

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        if len(boards) == 1:  # the plan may remember it
            return self._plan.policy(boards[0])[None]
        return self._plan.policies(boards)

    def _explain(self, position: Position) -> Explanation:
        return self._plan.explain(position)


class Minimax(Planner):
    """Optimal play, uniform over the best moves (von Neumann 1928).

    Computed by backward induction over all positions. With a limited `depth` the leaves are estimated by
    `utility` (Pascal Thormeier, "Self-built Tic-tac-toe AIs vs Human"), with alpha-beta on games too large to
    enumerate. With `seconds` the policy is not fixed, so matches are sampled.

    Args:
        game: The game, or its id.
        prefer: "fast" prefers earlier wins and later losses; "any" makes no difference between them.
        depth: The moves to look ahead; by default all.
        seconds: The time for each move; the agent looks as far ahead as it allows, at most `depth` moves.

    Raises:
        GameTooLargeError: The game has too many positions, and neither `depth` nor `seconds` is given.
        ParameterError: `prefer="fast"` is combined with `depth` or `seconds`.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("minimax").explain(Position.parse("X../.../...")).cells
        [4]

    """

    @checked
    def __init__(
        self,
        game: Game | str,
        prefer: Literal["any", "fast"] = "any",
        depth: Annotated[int, Between(1)] | None = None,
        seconds: Annotated[float, Between(0, is_open=True)] | None = None,
    ) -> None:
        super().__init__(game)
        self.prefer, self.depth, self.seconds = prefer, depth, seconds
        self._is_exact = depth is None and seconds is None
        self.is_stationary = seconds is None
        if self._is_exact:
            ways_out = "minimax:depth=4 looks 4 moves ahead, minimax:seconds=1 as far as it can in a second"
            check_enumerable(self.game, "for minimax to enumerate its positions", ways_out)
        elif prefer != "any":
            raise ParameterError(f"minimax takes either prefer={prefer!r} or depth and seconds")

    @cached_property
    def _values(self) -> Values:
        return distances(self.game).scores if self.prefer == "fast" else solve(self.game).values

    @cached_property
    def _plan(self) -> Agent:
        if self._is_exact:
            return ValueAgent(self.game, (self._values, best), (self._values, best))
        return lookahead(self.game, self.depth, self.seconds)

    def tree(self, position: Position, depth: int = 2) -> TreeNode:
        """The game tree below a position with values and move probabilities; see `value_tree`.

        Raises `ParameterError` for an agent with a limited depth or time, which has no values of a whole
        tree.
        """
        if not self._is_exact:
            raise ParameterError("only minimax without depth and seconds has the values of a whole tree")
        return value_tree(position, depth, self._values, (best, best))

    def _explain(self, position: Position) -> Explanation:
        explanation = super()._explain(position)
        if not self._is_exact:
            if not is_enumerable(self.game):
                return explanation
            reason = f"Looking {self.depth} moves ahead, {{cells}} is best."
            return replace(explanation, reason=reason, facts={"moves looked ahead": self.depth})
        scores = explanation.numbers[0].by_cell
        values = {cell: float(np.sign(score)) for cell, score in scores.items()}
        numbers = [CellNumbers("value under best play", values)]
        value = max(values.values())
        best_moves = "{cells} keeps this result" if value > -1 else "all moves lose"
        if self.prefer == "fast":
            after = distances(self.game).of(Boards.of(position.child(cell) for cell in scores))
            n_moves = dict(zip(scores, after.astype(float).tolist(), strict=True))
            numbers.append(CellNumbers("moves to the end after it", n_moves, "count"))
            best_moves = {1: "{cells} wins soonest", -1: "{cells} loses latest"}.get(int(value), best_moves)
        reason = f"With best play by both sides, {position.to_move} {RESULTS[int(value)]}; {best_moves}."
        return replace(explanation, reason=reason, numbers=tuple(numbers))


Temperature: TypeAlias = Annotated[float, Between(0)]


class Softmax(Planner):
    """Softmax minimax with two temperatures (Lachlan Gibson, "Making tic-tac-toe interesting with AI").

    The value of a position is the mean over the moves, weighted by softmax(value / temperature) with the
    temperature of the player to move; the agent plays by these weights. Temperature 0 is best play, infinity
    random play.

    Args:
        game: The game, or its id.
        temperature: The agent's temperature, 0 to `inf`.
        opponent_temperature: The temperature that it assumes for the opponent; by default its own.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import make_agent
        >>> agent = make_agent("softmax:temperature=0.2,opponent_temperature=1")
        >>> agent.policy(Position.parse("XX./OO./XO.")).round(3).tolist()
        [0.0, 0.0, 0.975, 0.0, 0.0, 0.025, 0.0, 0.0, 0.0]

    """

    @checked
    def __init__(
        self,
        game: Game | str,
        temperature: Temperature = 1.0,
        opponent_temperature: Temperature | None = None,
    ) -> None:
        super().__init__(game)
        check_enumerable(self.game)
        self.temperature = temperature
        self.opponent_temperature = temperature if opponent_temperature is None else opponent_temperature

    @cached_property
    def _views(self) -> tuple[tuple[Values, tuple[Responder, Responder]], ...]:
        """The values as X and as O sees them, each with how X and O move in them."""
        own, theirs = self.temperature, self.opponent_temperature
        return (
            (_softmax_values(self.game, own, theirs), (softmax(own), softmax(theirs))),
            (_softmax_values(self.game, theirs, own), (softmax(theirs), softmax(own))),
        )

    @cached_property
    def _plan(self) -> Agent:
        (x, (respond, _)), (o, _) = self._views
        return ValueAgent(self.game, (x, respond), (o, respond))

    def tree(self, position: Position, depth: int = 2) -> TreeNode:
        """The game tree below a position as the player to move there sees it; see `value_tree`."""
        values, responders = self._views[position.ply % 2]
        return value_tree(position, depth, values, responders)

    def _explain(self, position: Position) -> Explanation:
        own, theirs = self.temperature, self.opponent_temperature
        reason = (
            f"The chance of a move grows with its value as exp(value / {own:g}). The value is the mean of "
            "what can follow, weighted by such chances."
        )
        if own == 0:
            reason = "At temperature 0 the largest value decides."
        facts = {"own temperature": own, "temperature ascribed to the opponent": theirs}
        return replace(super()._explain(position), reason=reason, facts=facts)


@_memoised
def _softmax_values(game: Game, x_temperature: float, o_temperature: float) -> Values:
    return backward_induction(reachable(game), softmax(x_temperature), softmax(o_temperature)).values()


class BruteForce(Planner):
    """Plays the move with the largest sum of outcomes over all continuations.

    The brute-force player of Pascal Thormeier, "Self-built Tic-tac-toe AIs vs Human". An end after k stones
    scores 50/(k+1) if the agent has won, 10/(k+1) if it is drawn, −10/(k+1) if the agent has lost. A move's
    score is the sum over all games that can follow it, however unlikely; the move with the largest score is
    played. Scores are equal if they differ by less than 1e-12 of the largest. (On 3×3 they are computed
    exactly.)

    Args:
        game: The game, or its id.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("brute-force").explain(Position.parse("X../.../...")).cells
        [4]

    """

    def __init__(self, game: Game | str) -> None:
        super().__init__(game)
        check_enumerable(self.game)

    @cached_property
    def _values(self) -> Values:
        return _summed_scores(self.game)

    @cached_property
    def _plan(self) -> Agent:
        return ValueAgent(self.game, (self._values, _largest), (self._values, _largest))

    def scores(self, boards: Boards) -> Floats:
        """The score of each move for the player who makes it, `[B, cells]`; NaN where none is legal."""
        return self._values.q(boards) / _unit(self.game)

    def _explain(self, position: Position) -> Explanation:
        sums = of_legal_cells(position, self.scores(Boards.of([position]))[0])
        reason = (
            "Summed over all games that can follow, {cells} has the largest score. A game that ends with k "
            "stones counts 50/(k+1) won, 10/(k+1) drawn, −10/(k+1) lost."
        )
        return self._policy_explanation(position, reason, CellNumbers("sum over all games", sums, "number"))


def _unit(game: Game) -> int:
    """The factor that makes all scores whole numbers, so that small sums of them are exact."""
    return lcm(*range(1, game.n_cells + 2))


@_memoised
def _summed_scores(game: Game) -> Values:
    def score(ply: int) -> tuple[float, float, float]:
        share = _unit(game) // (ply + 1)
        return 50.0 * share, 10.0 * share, -10.0 * share

    outcomes = backward_induction(reachable(game), every_move, every_move, payoff=score)
    # The game is not zero-sum: what counts is the score of the player who has just moved.
    return Values(game, [-layer[1] for layer in outcomes.layers])


def every_move(q: Floats, legal: NDArray[np.bool_], moves: Moves | None = None) -> Floats:
    """The responder that makes the sweep sum over all games: a weight of 1 for every legal move."""
    return np.broadcast_to(legal, q.shape).astype(np.float64)


def _largest(q: Floats, legal: NDArray[np.bool_], moves: Moves | None = None) -> Floats:
    """The responder that plays a largest score, uniform among equals up to rounding."""
    tolerance = _TIE * np.abs(np.where(legal, q, 0.0)).max(axis=1, keepdims=True)
    return near_highest(q, legal, tolerance)
