"""The players of a data set's games, and these games."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from ttt_env.agent import Agent, make_agent
from ttt_env.analysis.play import play_cells
from ttt_env.rules import Game, GameRecord, as_integer, check_enumerable, get_game, one_of

Level = Literal["expert", "novice", "mixed"]
"""The players: the expert, who draws among the perfect moves; novices, who err; or all of them."""

EXPERT = "minimax:prefer=fast"
NOVICES = "softmax:temperature=0.3", "softmax:temperature=1", "epsilon:minimax,epsilon=0.3"
_SPECS: dict[Level, tuple[str, ...]] = {"expert": (EXPERT,), "novice": NOVICES, "mixed": (EXPERT, *NOVICES)}


class Player(NamedTuple):
    """An agent, and the spec string that it was made from."""

    spec: str
    agent: Agent


class PlayedGame(NamedTuple):
    """A whole game, and the spec strings of its players."""

    record: GameRecord
    x: str
    o: str


def players_of(level: Level, game: Game) -> list[Player]:
    """The players of a level.

    Raises `ParameterError` for another level, `GameTooLargeError` for a game of too many positions.
    """
    specs = _SPECS[one_of("level", level, get_args(Level))]
    check_enumerable(game)
    return [Player(spec, make_agent(spec, game)) for spec in specs]


def drawn(players: list[Player], rng: np.random.Generator) -> Player:
    """One of the players, all of them equally likely."""
    return players[int(rng.random() * len(players))]


def numbers_of(seed: int, level: Level, number: int) -> np.random.Generator:
    """The random numbers of one game of a data set, by its number.

    Each game has its own, so that a longer data set begins with the games of a shorter one, and the games of
    different levels are independent.
    """
    return np.random.default_rng((seed, get_args(Level).index(level), number))


def play_games(
    game: Game | str = "tictactoe-v0", level: Level = "expert", games: int = 1000, *, seed: int = 0
) -> list[PlayedGame]:
    """A list of `games` games, both players of each drawn from the players of the level.

    The same seed gives the same games, and more games of it begin with these.

    Raises `ParameterError` for another level, for a seed below 0, and for less than one game;
    `GameTooLargeError` for a game of too many positions.

    >>> from ttt_env.datasets import play_games
    >>> played = play_games("tictactoe-v0", "expert", games=2)[0]
    >>> played.x, str(played.record)
    ('minimax:prefer=fast', 'tictactoe-v0: 0 4 7 8 5 3 2 1 6')
    """
    game = get_game(game)
    games, seed = as_integer("games", games, "a data set", 1), as_integer("seed", seed, "a data set", 0)
    players = players_of(level, game)
    played = []
    for number in range(games):
        rng = numbers_of(seed, level, number)
        x, o = drawn(players, rng), drawn(players, rng)
        played.append(PlayedGame(GameRecord(game, play_cells(x.agent, o.agent, rng)), x.spec, o.spec))
    return played
