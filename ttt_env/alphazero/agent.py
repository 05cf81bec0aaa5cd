"""AlphaZero as an agent: a network alone, or a search guided by it."""

from __future__ import annotations

from functools import cached_property
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    Agent,
    CellNumbers,
    CopyableLock,
    Explanation,
    Floats,
    Unit,
    of_legal_cells,
)
from ttt_env.agents.pretrained import pretrained_file
from ttt_env.alphazero.network import MAX_SIMULATIONS, PolicyValueNetwork, load_network
from ttt_env.render.words import RESULTS
from ttt_env.rules import (
    Between,
    Boards,
    Game,
    Position,
    Seed,
    checked,
    get_game,
    motions,
)

if TYPE_CHECKING:
    from ttt_env.alphazero.search import PuctSearch

Simulations: TypeAlias = Annotated[int, Between(0, MAX_SIMULATIONS)]
Exploration: TypeAlias = Annotated[float, Between(0, 1e6)]


class AlphaZero(Agent):
    """AlphaZero: a tree search guided by a policy-value network; plays the most visited move.

    Each simulation follows the moves with the largest Q + c·P·√n / (1 + n_move) down the tree to a position
    that it has not visited; the network gives its value, which is added to all positions on the path, and a
    prior probability P for each of its moves (Silver et al., A general reinforcement learning algorithm that
    masters chess, shogi and Go through self-play, Science 2018). An unvisited move counts 0.2 less than its
    position; there is no noise. Finished games have exact values.

    Only the choice among equal moves is random, drawn from `seed` and the position, so the agent is
    stationary. Of symmetric positions only one is searched and evaluated. `ttt train alphazero` trains a
    network.

    The included networks: on 3×3 the agent is certified unbeatable with 200 simulations and also alone; on
    Square 4×4 and 4,4,4 with 200 simulations, the default, and seed 0, but alone it can lose. On 6,5,4, with
    these settings, it is proved to win every game as X. On Qubic that is proved for
    `symmetric:(alphazero:simulations=2)`, while with 200 simulations it can lose. For 5,5,4 there are only
    results of games.

    Args:
        game: The game, or its id.
        path: The file of a network; by default the one that comes with this package for the game.
        simulations: The simulations per move; by default as the training judged the network, or 200 if the
            file does not say. The first one evaluates the position itself, so with 0 or 1 the network alone
            plays its most probable move.
        seed: The seed of the choice among equal moves.
        c: The exploration constant.
        solve: Whether proved values are backed up, which the original does not do: a proved win is played, a
            proved loss avoided, and a proved position searched no further (MCTS-Solver: Winands, Björnsson
            and Saito 2008).
        threats: Whether forced blocks are played at once, and winning sequences of threats, each of which
            leaves one reply, are searched before the network is queried (Allis 1994). Needs `solve`. By
            default as the training judged the network, or True if the file does not say.

    Raises:
        FileError: The file is not such a network of this game, or none comes with this package for it.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("alphazero:simulations=50").explain(Position.parse("XX./OO./XO.")).cells
        [2]

    """

    is_stationary = True

    @checked
    def __init__(
        self,
        game: Game | str,
        path: str | None = None,
        simulations: Simulations | None = None,
        seed: Seed = 0,
        c: Exploration = 1.25,
        solve: bool = True,
        threats: bool | None = None,
    ) -> None:
        game = get_game(game)
        file = pretrained_file("alphazero", game) if path is None else Path(path)
        self._initialise(load_network(file, game), simulations, seed, c, solve, threats)

    def _initialise(
        self,
        network: PolicyValueNetwork,
        simulations: int | None,
        seed: int,
        c: float,
        solve: bool,
        threats: bool | None,
    ) -> None:
        Agent.__init__(self, network.game)
        self.network, self.seed, self.c, self.solve = network, seed, c, solve
        self.simulations = max(1, network.simulations if simulations is None else simulations)
        self.threats = network.threats if threats is None else threats
        self._lock = CopyableLock()

    @cached_property
    def _search(self) -> PuctSearch:
        from ttt_env.alphazero.search import PuctSearch, prepare  # imports numba: only where it is needed

        prepare()
        return PuctSearch(self.network, c_init=self.c, solve=self.solve, threats=self.threats)

    @classmethod
    @checked
    def of(
        cls,
        network: PolicyValueNetwork,
        simulations: Simulations | None = None,
        seed: Seed = 0,
        c: Exploration = 1.25,
        solve: bool = True,
        threats: bool | None = None,
    ) -> AlphaZero:
        """The agent with this network."""
        agent = cls.__new__(cls)
        agent._initialise(network, simulations, seed, c, solve, threats)
        return agent

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        from ttt_env.compiled.canonical import answers_by_class

        def searched(boards: Boards) -> Floats:
            with self._lock:  # threads search one after the other, because they share the cache
                return self._search.search_boards(boards, self.simulations, self.seed).policies(boards.legal)

        return answers_by_class(boards, motions(self.game).astype(np.uint8), searched)

    def _explain(self, position: Position) -> Explanation:
        from ttt_env.alphazero.search import canonical_images

        canonical, (cells,) = canonical_images(Boards.of([position]))
        with self._lock:
            results = self._search.search_boards(canonical, self.simulations, self.seed)
        policy = of_legal_cells(position, results.policies(canonical.legal)[0, cells])
        numbers: list[tuple[str, NDArray[np.number], Unit]] = [
            ("network’s probability", results.priors, "chance")
        ]
        if self.simulations > 1:
            numbers += [("simulations", results.visits, "count"), ("mean result", results.means, "value")]
            numbers += [("proved value", results.values, "value")]
        columns = []
        for name, rows, unit in numbers:
            by_cell = {c: n for c, n in of_legal_cells(position, rows[0, cells]).items() if not isnan(n)}
            if by_cell:
                columns.append(CellNumbers(name, by_cell, unit))
        if self.simulations == 1:
            reason = "The network gives {cells} the largest probability."
            return Explanation(position, policy, reason, tuple(columns))
        reason = f"Of {results.visits[0].sum():,} simulations most began with {{cells}}."
        visits = of_legal_cells(position, results.visits[0, cells])
        if max(visits[cell] for cell in policy if policy[cell]) < max(visits.values()):
            reason = f"{reason[:-1]}, of the moves that are not proved to lose."
        if not isnan(results.proved[0]):
            proved = RESULTS[int(results.proved[0])]
            reason = f"The search has proved that {position.to_move} {proved}, and plays {{cells}}."
        facts = {"simulations": self.simulations, "seed": self.seed}
        return Explanation(position, policy, reason, tuple(columns), facts)
