"""Agents that look at the board alone: chance, and lists of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import product

import numpy as np

from ttt_env.agent import Agent, Choice, Explanation, Floats, named_cells
from ttt_env.agents.heuristics.threats import NONE, OpenSets, RuleInput, open_sets
from ttt_env.rules import Boards, Game, Masks, Position, cells_of, one_of, pack_masks, playable

Rule = Callable[[RuleInput], Masks]
"""Returns the cells that it proposes in positions, as bit masks `uint64[B]`; taken cells do not count."""

_CHUNK = 256  # positions whose moves are all tried in one batch


class Random(Agent):
    """Uniform over the legal moves; the baseline of every comparison. Plays boards of any shape.

    Args:
        game: The game, or its id.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("random").policy(Position.parse("XX./OO./XO.")).round(2).tolist()
        [0.0, 0.0, 0.33, 0.0, 0.0, 0.33, 0.0, 0.0, 0.33]

    """

    is_stationary = True
    _remembers = True

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        policies: Floats = boards.legal / boards.legal.sum(axis=1, keepdims=True)
        return policies

    def _explain(self, position: Position) -> Explanation:
        return self._policy_explanation(position, "Uniform over the free cells.")


def win(inputs: RuleInput) -> Masks:
    """The cells that complete a winning set of the player to move."""
    return inputs.own_sets.completing()


def block(inputs: RuleInput) -> Masks:
    """The cells that would complete a winning set of the opponent."""
    return inputs.opponent_sets.completing()


def fork(inputs: RuleInput) -> Masks:
    """The cells that give the player to move two ways to win at once."""
    return inputs.own_sets.forking()


def block_fork(inputs: RuleInput) -> Masks:
    """The cells that keep the opponent from forking; none where it cannot fork.

    If the opponent has one fork, that cell. If it has several, the moves that threaten to win and leave it no
    fork; else those that threaten to win and force a reply that is not a fork; else the forks.
    """
    forks = inputs.opponent_sets.forking()
    several = np.flatnonzero(np.bitwise_count(forks) > 1)
    for start in range(0, len(several), _CHUNK):
        at = several[start : start + _CHUNK]
        boards = inputs.boards[at]
        game, n_cells = boards.game, boards.game.n_cells
        stones = np.uint64(1) << np.arange(n_cells, dtype=np.uint64)
        mine = (boards.mine[:, None] | stones).reshape(-1)
        theirs = boards.theirs.repeat(n_cells)
        forced, forks_left = OpenSets(game, mine, theirs).completing(), OpenSets(game, theirs, mine).forking()
        forces = forced != NONE
        leaves_none = forces & (forks_left == NONE)
        forces_elsewhere = forces & (forced & forks_left == NONE)
        free = playable(game, boards.occupied_masks)
        for moves in (forces_elsewhere, leaves_none):  # the latter take precedence
            cells = pack_masks(moves.reshape(-1, n_cells)) & free
            forks[at] = np.where(cells != NONE, cells, forks[at])
    return forks


def centre(inputs: RuleInput) -> Masks:
    """The cell in the middle; there is none if the board is even along some axis."""
    has_one = all(size % 2 for size in inputs.game.shape)
    return _repeat_mask(inputs, 1 << inputs.game.n_cells // 2 if has_one else 0)


def corner(inputs: RuleInput) -> Masks:
    """The cells at an end of every axis."""
    return _repeat_mask(inputs, _at_ends(inputs.game, all))


def opposite_corner(inputs: RuleInput) -> Masks:
    """The corners diagonally opposite to a corner that the opponent has."""
    corners = inputs.boards.cells(inputs.boards.theirs & np.uint64(_at_ends(inputs.game, all)))
    return pack_masks(corners[:, ::-1])


def side(inputs: RuleInput) -> Masks:
    """The cells on the border of the board that are not corners: the edges of 3×3."""
    return _repeat_mask(inputs, _at_ends(inputs.game, any) ^ _at_ends(inputs.game, all))


def _repeat_mask(inputs: RuleInput, mask: int) -> Masks:
    return np.full(len(inputs.boards), mask, np.uint64)


@lru_cache(maxsize=128)
def _at_ends(game: Game, of_axes: Callable[[Iterable[bool]], bool]) -> int:
    """The cells at an end of the board along `all` or `any` of its axes."""
    cells = enumerate(product(*map(range, game.shape)))
    ends = (
        (cell, [c in (0, size - 1) for c, size in zip(at, game.shape, strict=True)]) for cell, at in cells
    )
    return sum(1 << cell for cell, along in ends if of_axes(along))


RULES: dict[str, Rule] = {
    "win": win,
    "block": block,
    "fork": fork,
    "block-fork": block_fork,
    "centre": centre,
    "opposite-corner": opposite_corner,
    "corner": corner,
    "side": side,
}


class Rules(Agent):
    """Plays by the first rule of a list that applies, uniform over the cells it proposes; otherwise random.

    The default is the bot of Nicolo Davis, "Tic-Tac-Toe Bots". The rules refer to winning sets or to the
    shape of the board, so they apply to every game; on a board with an even side `centre` proposes nothing.
    Misère games are played by the same rules, so `win` loses.

    Args:
        game: The game, or its id.
        rules: Names joined by `+`, the first rule first: `win`, `block`, `fork`, `block-fork`, `centre`,
            `opposite-corner`, `corner`, `side`.

    Raises:
        ParameterError: A name is not that of a rule.

    Example:
        >>> from ttt_env import make_agent
        >>> agent = make_agent("rules:win+centre+corner")
        >>> agent.explain(Position.parse("X../.O./...")).cells
        [2, 6, 8]

    """

    is_stationary = True
    _remembers = True

    def __init__(self, game: Game | str, rules: Choice = "centre+block") -> None:
        super().__init__(game)
        names = [one_of("rule", name.strip(), list(RULES)) for name in rules.split("+")]
        self.rules = {name: RULES[name] for name in names}

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        candidates = boards.legal.copy()
        undecided, inputs = np.arange(len(boards)), RuleInput(boards)
        for rule in self.rules.values():
            proposed = boards.cells(rule(inputs)) & inputs.boards.legal
            fires = proposed.any(axis=1)
            if fires.any():
                candidates[undecided[fires]] = proposed[fires]
                undecided = undecided[~fires]
                inputs = RuleInput(boards[undecided])
            if not len(undecided):
                break
        policies: Floats = candidates / np.maximum(candidates.sum(axis=1, keepdims=True), 1)
        return policies

    def _explain(self, position: Position) -> Explanation:
        inputs = RuleInput(Boards.of([position]))
        for name, rule in self.rules.items():
            if cells := cells_of(int(rule(inputs)[0]) & position.legal_mask):
                reason, sets = _reason(name, cells, position)
                facts = {"rule": name, "rules in order": list(self.rules)}
                return self._policy_explanation(position, reason, facts=facts, sets=sets)
        reason = f"No rule fires, of {', '.join(self.rules)}: uniform over the free cells."
        facts = {"rule": "none", "rules in order": list(self.rules)}
        return self._policy_explanation(position, reason, facts=facts)


_SENTENCES = {
    "win": "{cells} completes a winning set of {mover}.",
    "block": "{cells} would complete a winning set of {other}.",
    "fork": "{cells} gives {mover} two ways to win at once.",
    "block-fork": "{cells} keeps {other} from a fork, two ways to win at once.",
    "centre": "{cells} is the middle of the board.",
    "opposite-corner": "{cells} is a corner opposite to one of {other}.",
    "corner": "{cells} is a corner.",
    "side": "{cells} is on the border, not in a corner.",
}


def _reason(name: str, cells: list[int], position: Position) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """Why a rule proposes these cells, in a sentence, and the winning sets that it refers to."""
    mover, other = ("X", "O") if position.to_move == "X" else ("O", "X")
    sentence = _SENTENCES[name].format(cells=named_cells(cells), mover=mover, other=other)
    own, others = (position.mine, position.theirs), (position.theirs, position.mine)
    sets: list[tuple[int, ...]] = []
    if name in ("win", "block"):
        sets = open_sets(position.game, *(own if name == "win" else others), missing=1)
    elif name == "fork":
        through = set(cells)
        sets = [s for s in open_sets(position.game, *own, missing=2) if through & set(s)]
    elif name == "block-fork":
        through = set(cells_of(int(RuleInput(Boards.of([position])).opponent_sets.forking()[0])))
        sets = [s for s in open_sets(position.game, *others, missing=2) if through & set(s)]
    return f"The rule {name} fires: {sentence}", tuple(sets)


class Block(Rules):
    """Blocks a winning set that the opponent could complete; otherwise moves at random.

    The second of the five rounds of Pascal Thormeier, "Self-built Tic-tac-toe AIs vs Human". Misère games: as
    `Rules`.

    Args:
        game: The game, or its id.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("block").explain(Position.parse("XX./OO./...")).cells
        [5]

    """

    def __init__(self, game: Game | str) -> None:
        super().__init__(game, "block")


class WinBlock(Rules):
    """Completes a winning set, else blocks one of the opponent's, else moves at random.

    The third of the five rounds of Pascal Thormeier, "Self-built Tic-tac-toe AIs vs Human". Misère games: as
    `Rules`.

    Args:
        game: The game, or its id.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("win-block").explain(Position.parse("XX./OO./...")).cells
        [2]

    """

    def __init__(self, game: Game | str) -> None:
        super().__init__(game, "win+block")


class NewellSimon(Rules):
    """Newell and Simon's rules: win, block, fork, block fork, centre, opposite corner, corner, side, random.

    The rules of Newell and Simon, Human Problem Solving, 1972, in the order of Crowley and Siegler, Flexible
    strategy use in young children's tic-tac-toe, 1993. Unbeatable on 3×3. Misère games: as `Rules`.

    Args:
        game: The game, or its id.

    Example:
        >>> from ttt_env import certify
        >>> certify("newell-simon", "tictactoe-v0").unbeatable
        True

    """

    def __init__(self, game: Game | str) -> None:
        super().__init__(game, "+".join(RULES))
