"""How AlphaZero is trained: its hyperparameters, and those that a game is given."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ttt_env.agents.alphazero.network import NetworkSize
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.checks import as_integer, as_number
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_instant

KIND = "alphazero"
"""What messages call the algorithm."""
_MANY = 10**9


@dataclass(frozen=True)
class Settings:
    """How AlphaZero is trained.

    So many `games` are played at a time, each move by a search of so many `simulations` that ends as soon as
    its position is proved. The priors of the position have a share `noise` of noise, drawn from the Dirichlet
    distribution of the concentration `concentration` / (number of legal moves). The first `sampled_moves` of
    a game are drawn by how often the search visited them; the others are the most visited. A game begins with
    probability `random_starts` after a random number of random moves, with probability `blunder_starts` in
    one of the positions in which the agent gave value away when it was last judged, if it was exactly and
    there are any, and else with the empty board.

    After `moves` moves of all games the network takes `updates` steps of Adam, each on `batch` of the last
    `replay` positions, down the gradient of the squared error of the value, plus the cross entropy of the
    policy, plus `l2` times half the squared weights, at the rate `learning_rate`. The network has the size
    `channels`, `blocks`, `filters`, `units`: see `NetworkSize`.

    After every `pause` of these rounds the agent is judged by as many simulations as `judged` says, one after
    the other as long as it passes: 1 is the network alone. On a game that cannot be enumerated it plays some
    games with the `opponents`.
    """

    games: int = 256
    simulations: int = 50
    noise: float = 0.25
    concentration: float = 10.0
    sampled_moves: int = 4
    random_starts: float = 0.25
    blunder_starts: float = 0.25
    moves: int = 4
    updates: int = 16
    batch: int = 256
    replay: int = 20_000
    learning_rate: float = 2e-3
    l2: float = 1e-4
    channels: int = 32
    blocks: int = 2
    filters: int = 4
    units: int = 32
    pause: int = 2
    judged: tuple[int, ...] = (1, 50)
    opponents: tuple[str, ...] = ("random", "mcts:simulations=1000,seed=0")

    @property
    def size(self) -> NetworkSize:
        """The size of the network."""
        return NetworkSize(self.channels, self.blocks, self.filters, self.units)

    def adjusted(self, hyperparameters: Mapping[str, Any]) -> "Settings":
        """The settings with these in the place of their own.

        Raises `ParameterError` for a name that is none of them, or a value that cannot be.
        """
        names = [field.name for field in fields(self)]
        for name in hyperparameters:
            if name not in names:
                raise ParameterError(unknown(f"hyperparameter of {KIND}", name, names))
        changed = replace(self, **hyperparameters)
        changed.size.checked()
        for name in ("games", "simulations", "moves", "updates", "batch", "replay", "pause"):
            as_integer(name, getattr(changed, name), KIND, 1, _MANY)
        as_integer("sampled_moves", changed.sampled_moves, KIND, 0)
        for name, most in (("noise", 1.0), ("l2", 1.0), ("learning_rate", 1.0)):
            as_number(name, getattr(changed, name), KIND, most)
        shares = [
            as_number(name, getattr(changed, name), KIND, 1.0) for name in ("random_starts", "blunder_starts")
        ]
        if sum(shares) > 1:
            raise ParameterError(f"random_starts and blunder_starts of {KIND} are more than 1: {shares}")
        if not as_number("concentration", changed.concentration, KIND) > 0:
            raise ParameterError(f"concentration={changed.concentration!r} of {KIND}: it must be above 0")
        if not isinstance(changed.judged, list | tuple) or not changed.judged:
            raise ParameterError(f"judged={changed.judged!r} of {KIND}: numbers of simulations are needed")
        judged = tuple(as_integer("judged", number, KIND, 1) for number in changed.judged)
        return replace(changed, judged=judged)


def settings_for(game: Game) -> Settings:
    """The settings that a game is trained with if no others are given."""
    if is_instant(game):
        return Settings()
    return Settings(simulations=100, sampled_moves=8, replay=100_000, blocks=3, pause=20, judged=(200,))
