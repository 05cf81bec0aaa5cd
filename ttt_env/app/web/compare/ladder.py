"""The ladder of all agents, a match and a game of it; which games and agents are small enough for that."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from ttt_env.agent import Agent
from ttt_env.analysis.dossier import LADDER
from ttt_env.analysis.evaluation import Match, match
from ttt_env.analysis.play import play_game
from ttt_env.analysis.recorded import RecordedAgent, declared_agent
from ttt_env.app.web.games import parse_game
from ttt_env.app.web.roster import PERSON, Roster
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError
from ttt_env.render.words import signed
from ttt_env.rules import TABLE_CELLS, Game, GameRecord
from ttt_env.tournament.meetings import Meeting, pooled

GAMES = {
    "tictactoe-v0": "Tic-tac-toe",
    "tictactoe-v0:misere=true": "Misère",
    "mnk-v0:m=4,n=3,k=3": "4 × 3, three in a row",
}
"""The games that are offered by name; an address may name others of up to `TABLE_CELLS`."""
MAX_SIMULATIONS = 1_000  # a move: a match needs one in each of thousands of positions
ENTRANTS = (*LADDER, "softmax:temperature=0.2", "mcts:simulations=100,seed=0", "q-learning")


@dataclass(frozen=True, eq=False)
class Ladder:
    """Everyone against everyone, exactly.

    `names` are by mean score, the highest first, `matches` hold each pairing from both sides, `missing` says
    who is not there and why.
    """

    names: tuple[str, ...]
    matches: Mapping[tuple[str, str], Match]
    missing: tuple[str, ...]

    def shown(self, row: str, column: str) -> str:
        """The score of the row's agent against the column's, with two decimals."""
        return signed(self.matches[row, column].score, 2)

    def mean(self, name: str) -> float:
        """The mean score of an agent against the others."""
        return _mean(name, self.names, self.matches)


def _mean(name: str, names: tuple[str, ...], matches: Mapping[tuple[str, str], Match]) -> float:
    return sum(matches[name, other].score for other in names if other != name) / (len(names) - 1)


def compared_game(text: str) -> Game:
    """The game of an id. Raises as `parse_game` does, and `GameTooLargeError` for one that takes too long."""
    game = parse_game(text)
    if game.n_cells > TABLE_CELLS:
        raise GameTooLargeError(
            f"{game.name} has {game.n_cells} cells. Games of up to {TABLE_CELLS} are compared on this "
            "page, in seconds; larger ones in minutes by ttt bench and ttt certify."
        )
    return game


def compared_agent(text: str, roster: Roster) -> str:
    """An agent in the usual form.

    Raises as `Roster.parse` does, and `ParameterError` for a person or a search that takes too long.
    """
    agent = roster.parse(text)
    if agent == PERSON:
        raise ParameterError("Agents are compared here; a person has no policy that could be computed with.")
    if int(roster.values(agent).get("simulations") or 0) > MAX_SIMULATIONS:
        raise ParameterError(f"{agent}: up to {MAX_SIMULATIONS} simulations a move are allowed on this page")
    return agent


def ladder(roster: Roster, game: Game) -> Ladder:
    """The usual agents and the models of the command line, each against each on both seats."""
    agents: dict[str, Agent] = {}
    missing = []
    for agent in (*ENTRANTS, *roster.models):
        try:
            agents[agent] = RecordedAgent(declared_agent(roster.make(agent, game), game))
        except (TttEnvError, ImportError) as error:
            missing.append(f"{agent} is not here: {error}")
    pairs = (Meeting(1, *pair) for pair in combinations(agents, 2))
    matches = pooled({each: match(agents[each.first], agents[each.second], game) for each in pairs})
    names = sorted(agents, key=lambda name: (-round(_mean(name, tuple(agents), matches), 9), name))
    return Ladder(tuple(names), matches, tuple(missing))


def met(roster: Roster, game: Game, row: str, column: str) -> Match:
    """The exact match of two agents. Raises `PolicyError` if one of them has no fixed policy."""
    first, second = (declared_agent(roster.make(agent, game), game) for agent in (row, column))
    return match(first, second, game)


def drawn_game(roster: Roster, game: Game, x: str, o: str, number: int) -> GameRecord:
    """One of the games that two agents play; the same number gives the same game."""
    return play_game(roster.make(x, game), roster.make(o, game), game, number)
