"""The hyperparameters of AlphaZero, and those that are chosen for a game."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ttt_env.agents.alphazero.network import NetworkSize
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules import Game, as_bool, as_integer, as_number, is_instant

KIND = "alphazero"
"""The name of the algorithm in messages."""
_MANY = 10**9
_DROP = 0.3  # the factor by which the learning rate falls


@dataclass(frozen=True)
class AlphaZeroSettings:
    """The hyperparameters of AlphaZero.

    It plays `games` games at a time, each move by a search of `simulations` simulations, with or without
    `threats`, that ends as soon as its position is proved. The priors of the position have a share `noise` of
    noise, drawn from the Dirichlet distribution of the concentration `concentration` / (number of legal
    moves). The first `sampled_moves` of a game are drawn by how often the search visited them; the others are
    the most visited. A game begins with probability `random_starts` after a random number of random moves,
    with probability `blunder_starts` in one of the positions in which the agent gave value away when it was
    last judged, if it was exactly and there are any, and else with the empty board.

    After `moves` moves of all games the network takes `updates` steps of Adam, each on `batch` of the last
    `replay` positions, down the gradient of the squared error of the value, plus the cross entropy of the
    policy, plus `l2` times half the squared weights. The rate is `learning_rate`, and falls to 0.3 times
    its value after each of the numbers of games in `drops`. The network has the size `channels`, `blocks`,
    `filters`, `units`: see `NetworkSize`.

    After every `pause` of these rounds the agent is judged by as many simulations as `judged` says, one after
    the other as long as it passes: 1 is the network alone. On a game that cannot be enumerated it plays some
    games with the `opponents`.
    """

    games: int = 256
    simulations: int = 50
    threats: bool = False
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
    drops: tuple[int, ...] = ()
    l2: float = 1e-4
    channels: int = 32
    blocks: int = 2
    filters: int = 4
    units: int = 32
    pause: int = 2
    judged: tuple[int, ...] = (1, 50)
    opponents: tuple[str, ...] = ("random", "mcts:simulations=1000")

    def rate(self, games: int) -> float:
        """The learning rate after this number of games."""
        return self.learning_rate * _DROP ** sum(games >= drop for drop in self.drops)

    @property
    def size(self) -> NetworkSize:
        """The size of the network."""
        return NetworkSize(self.channels, self.blocks, self.filters, self.units)

    def adjusted(self, hyperparameters: Mapping[str, Any]) -> "AlphaZeroSettings":
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
        as_bool("threats", changed.threats, KIND)
        judged = _integers("judged", changed.judged)
        if not judged:
            raise ParameterError(f"judged=() of {KIND}: numbers of simulations are needed")
        return replace(changed, judged=judged, drops=_integers("drops", changed.drops))


def _integers(name: str, value: object) -> tuple[int, ...]:
    """These numbers, of 1 or more. Raises `ParameterError` if they are none."""
    if not isinstance(value, list | tuple):
        raise ParameterError(f"{name}={value!r} of {KIND}: several numbers are needed, such as (1, 50)")
    return tuple(as_integer(name, number, KIND, 1) for number in value)


def settings_for(game: Game) -> AlphaZeroSettings:
    """The settings that a game is trained with if no others are given."""
    if is_instant(game):
        return AlphaZeroSettings()
    of_larger = AlphaZeroSettings(threats=True, sampled_moves=8, replay=100_000, pause=20, judged=(200,))
    if len(game.shape) == 3:  # 27 neighbours a cell make the network slow: it learns more from each game
        return replace(of_larger, simulations=64, updates=32)
    return replace(of_larger, simulations=100, blocks=3)
