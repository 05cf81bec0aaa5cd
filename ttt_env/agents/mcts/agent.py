"""Monte Carlo tree search as an agent."""

from __future__ import annotations

from functools import cached_property
from math import isnan, sqrt
from secrets import randbits
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from ttt_env.agent import (
    Agent,
    AgentLike,
    CellNumbers,
    CopyableLock,
    Explanation,
    Floats,
    make_agent,
    of_legal_cells,
    sample,
)
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.errors import ParameterError, brief
from ttt_env.render.words import RESULTS
from ttt_env.rules import Between, Game, Position, Seconds, Seed, Share, checked

if TYPE_CHECKING:
    from ttt_env.agents.mcts.search import Search

Playout: TypeAlias = Literal["random", "win-block"]
MAX_C = 1e9
DEFAULT_SIMULATIONS = 1000
_EARLY: dict[str, str] = {
    "decided": " The search stopped early: with the rest of its budget no other move could catch up.",
    "settled": " The search stopped early: its answer had settled.",
}


class _MCTSBase:
    """The common part of MCTS with and without a fixed policy: search, budget and explanation."""

    game: Game
    _budget: tuple[int | None, float | None]
    _seed: int | None
    _settings: dict[str, Any]
    _lock: CopyableLock

    @cached_property
    def search(self) -> Search:
        """The last search, whose tree can be read."""
        from ttt_env.agents.mcts.search import Search  # imports numba: only where a search is needed

        return Search(self.game.start, seed=self._seed or 0, **self._settings)

    def _search_policy(self, position: Position, seed: int) -> Floats:
        """The policy after a search. Threads search one after the other, because they share one tree."""
        with self._lock:
            self._run(position, seed)
            policy: Floats = self.search.policy()
            return policy

    def _run(self, position: Position, seed: int) -> None:
        if self._seed is None:
            self.search.follow(position, seed)
        else:
            self.search.restart(position, seed)
        self.search.run(*self._budget)

    def _explain(self, position: Position) -> Explanation:
        """The last search, if it began in this position; else a new one."""
        with self._lock:
            search = self.search
            if search.position != position or not search.simulations:
                self._run(position, randbits(64) if self._seed is None else self._seed)
            visits, wins, values = search.visits, search.wins, search.values
            total, value, policy = search.simulations, search.value, search.policy()
            stopped_by = search.stopped_by
        cells = [cell for cell in position.legal_cells if policy[cell]]
        numbers = [
            CellNumbers("simulations", of_legal_cells(position, visits), "count"),
            CellNumbers(
                "won of them", {c: wins[c] / visits[c] for c in position.legal_cells if visits[c]}, "chance"
            ),
        ]
        proved = {cell: float(values[cell]) for cell in position.legal_cells if not isnan(values[cell])}
        if proved:
            numbers.append(CellNumbers("proved value", proved))
        reason = f"Of {total:,} simulations {visits[cells[0]]:,} began with {{cells}}"
        if value is None:
            of_all = visits[cells[0]] == max(visits[position.legal_cells])
            most = "the most" if of_all else "the most of the moves that are not proved to lose"
            reason += f", {most}.{_EARLY[stopped_by] if stopped_by else ''}"
        else:
            reason = f"The search has proved that {position.to_move} {RESULTS[value]}. {reason}."
        facts = {"simulations": total} | ({} if self._seed is None else {"seed": self._seed})
        return Explanation(position, of_legal_cells(position, policy), reason, tuple(numbers), facts)


class MCTS(_MCTSBase, Agent):
    """Monte Carlo tree search: UCT that also backs up proved values.

    Plays the most visited move, uniformly among ties. Each simulation descends the tree to the child with the
    largest w/n + c·sqrt(ln n_parent / n) (`select`), tries an untried move (`expand`), plays to the end of
    the game (`playout`), and adds the result to all nodes on its path (`backpropagate`): Kocsis and
    Szepesvári 2006; the bot of Nicolo Davis, "Tic-Tac-Toe Bots".

    With `seed` and a budget of simulations the agent is stationary: seed and position determine its policy.
    Without a seed every search differs: `choose` draws the seed from its `rng`, and reuses the tree of the
    last move if the game has continued from there. `search` is the last search, with its tree.

    Args:
        game: The game, or its id.
        simulations: The simulations per move; 1,000 if `seconds` is not given.
        seconds: The time per move, instead of `simulations`.
        c: The exploration constant.
        draw: The result of a draw, between 0 for a loss and 1 for a win.
        playout: "random", or "win-block": complete a winning set, else block one of the opponent's, else move
            at random. In a misère game "win-block" avoids the cells that complete a set of either player; if
            there are no others, those that complete its own.
        seed: The seed of the searches.
        solve: Whether proved values are backed up. What is proved, the root included, is searched no further;
            a proved win is played and a proved loss avoided (MCTS-Solver: Winands, Björnsson and Saito 2008).
        evaluate: `value-network`, or `value-network:PATH` for the network of a file: playouts are replaced by
            the network's value, between 0 for a loss and 1 for a win, as in Leela Zero.
        threats: Whether forced blocks are played at once, and winning sequences of threats, each of which
            leaves one reply, are searched before anything is simulated, at the root and in the tree (Allis
            1994). Needs `solve`. Off as in textbook UCT.
        early_stop: Whether a search ends when the rest of the budget cannot take the lead from the most
            visited move (*smart pruning* in Leela Chess Zero). With a seed this changes no move, except with
            `solve` where the rest would have proved something.
        tolerance: Ends a search whose answer has settled: at 64, 128, 256, … simulations, if the best moves
            are the same as at half as many and their mean result has changed by less than this, such as 0.01.

    Raises:
        ParameterError: Both `simulations` and `seconds` are given, or `playout` and `evaluate`, or `evaluate`
            is another agent.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("mcts:simulations=100,seed=0").explain(Position.parse("XX./OO./XO.")).cells
        [2]

    """

    is_stationary = True

    @checked
    def __init__(
        self,
        game: Game | str,
        simulations: Annotated[int, Between(1)] | None = None,
        seconds: Seconds | None = None,
        c: Annotated[float, Between(0, MAX_C)] = sqrt(2),
        draw: Share = 0.5,
        playout: Playout = "random",
        seed: Seed | None = None,
        solve: bool = True,
        evaluate: AgentLike | None = None,
        threats: bool = False,
        early_stop: bool = False,
        tolerance: Share | None = None,
    ) -> None:
        super().__init__(game)
        if simulations is not None and seconds is not None:
            raise ParameterError(f"mcts takes either simulations={simulations} or seconds={seconds:g}")
        if evaluate is not None and playout != "random":
            raise ParameterError(f"playout={brief(playout)} of mcts: with evaluate= there are no playouts")
        self._budget = (simulations or DEFAULT_SIMULATIONS if seconds is None else None, seconds)
        self._seed = seed
        network = None if evaluate is None else _network(evaluate, self.game)
        self._settings = {"c": c, "draw": draw, "playout": playout, "solve": solve, "network": network}
        self._settings |= {"threats": threats, "early_stop": early_stop, "tolerance": tolerance}
        self._lock = CopyableLock()
        if seed is None or seconds is not None:
            self.__class__ = _SampledMCTS  # type: ignore[assignment]

    def policy(self, position: Position) -> Floats:  # noqa: D102
        return self._search_policy(position, self._seed or 0)


class _SampledMCTS(_MCTSBase, Agent):
    """MCTS without a seed, or with a time budget: its searches differ."""

    variant_of = MCTS

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        seed = int(rng.integers(1 << 63)) if self._seed is None else self._seed
        return sample(self._search_policy(position, seed), rng.random())


def _network(evaluate: AgentLike, game: Game) -> BoardNetwork:
    """The network of the agent that `evaluate` names. Raises `ParameterError` if it is another agent."""
    agent = make_agent(evaluate, game)
    if not isinstance(agent, ValueNetwork):
        raise ParameterError(
            f"evaluate={brief(evaluate)} of mcts: expected value-network or value-network:PATH"
        )
    return agent.network
