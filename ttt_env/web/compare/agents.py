"""Agents compared: the ladder of all, a match and a game of it, certificates, and the results of people."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ttt_env.agent import Agent, stationary_agent
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.dossier import LADDER, Strength, dossier
from ttt_env.analysis.evaluation import match
from ttt_env.analysis.play import play_game
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.results import Exploitability, Match
from ttt_env.analysis.tally import Expectation, Tally, expected, tallies_of
from ttt_env.errors import GameTooLargeError, ParameterError, TttEnvError
from ttt_env.render.words import signed
from ttt_env.rules import TABLE_CELLS, Game, GameRecord, Seat
from ttt_env.storage.game_log import GameLog
from ttt_env.tournament.tournament import Tournament, tournament
from ttt_env.web.games import parse_game
from ttt_env.web.roster import PERSON, Roster
from ttt_env.web.table import PlayTable

GAMES = {
    "tictactoe-v0": "Tic-tac-toe",
    "tictactoe-v0:misere=true": "Misère",
    "mnk-v0:m=4,n=3,k=3": "4 × 3, three in a row",
}
"""The games that are offered by name; an address may name others of up to `TABLE_CELLS`."""
MAX_SIMULATIONS = 1_000  # a move: a match needs one in each of thousands of positions
TRAINED = ("q-learning", "dqn", "ppo", "value-network")
ENTRANTS = (*LADDER, "softmax:temperature=0.2", "mcts:simulations=100,seed=0", *TRAINED)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Everyone against everyone, exactly.

    `names` are by mean score, the highest first, `missing` says who is not there and why, `unbeatable` are
    those that have been proved to be.
    """

    names: tuple[str, ...]
    played: Tournament
    missing: tuple[str, ...]
    unbeatable: frozenset[str]

    def marks(self, name: str) -> list[str]:
        """The marks of an agent: that it has been trained, and that it has been proved unbeatable."""
        return ["trained"] * (name in TRAINED) + ["unbeatable"] * (name in self.unbeatable)

    def shown(self, row: str, column: str) -> str:
        """The score of the row's agent against the column's, as narrow as a column: `+.50`, or `0`."""
        shown = signed(self.played.matches[row, column].score, 2)
        return "0" if shown == "0.00" else shown.replace("0.", ".")


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
        raise ParameterError("Only agents can be compared: a person has no fixed policy.")
    if int(roster.values(agent).get("simulations") or 0) > MAX_SIMULATIONS:
        raise ParameterError(f"{agent}: up to {MAX_SIMULATIONS} simulations a move are allowed on this page")
    return agent


def ladder(roster: Roster, game: Game) -> Ladder:
    """The usual agents and the models of the command line, each against each on both seats."""
    agents: dict[str, Agent] = {}
    missing = []
    for agent in (*ENTRANTS, *roster.models):
        try:
            agents[agent] = PolicyTable.of(stationary_agent(roster.make(agent, game), game))
        except (TttEnvError, ImportError) as error:
            missing.append(f"{agent} is missing: {error}")
    played = tournament(agents, game)
    names = sorted(agents, key=lambda name: (-round(played.scores[name], 9), name))
    unbeatable = frozenset(name for name, proof in certify(agents, game).items() if proof.unbeatable)
    return Ladder(tuple(names), played, tuple(missing), unbeatable)


def met(roster: Roster, game: Game, row: str, column: str) -> Match:
    """The exact match of two agents. Raises `PolicyError` if one of them has no fixed policy."""
    first, second = (stationary_agent(roster.make(agent, game), game) for agent in (row, column))
    return match(first, second, game)


def drawn_game(roster: Roster, game: Game, x: str, o: str, number: int) -> GameRecord:
    """One of the games that two agents play; the same number gives the same game."""
    return play_game(roster.make(x, game), roster.make(o, game), game, number)


@dataclass(frozen=True, eq=False)
class Proved:
    """An agent's certificate, exploitability and results against the ladder; `facts` are its `dossier`."""

    certificate: Certificate
    exploitability: Exploitability
    matches: dict[str, Match]
    facts: dict[str, Any]

    @property
    def refutations(self) -> dict[Seat, PlayTable]:
        """The games that a person wins against the agent, by the agent's seat."""
        agent, games = self.facts["agent"]["name"], self.certificate.refutations
        players: dict[Seat, tuple[str, str]] = {"X": (agent, PERSON), "O": (PERSON, agent)}
        return {
            seat: PlayTable(record.game, *players[seat], record.cells, len(record.cells))
            for seat, record in games.items()
            if record is not None
        }


def prove(roster: Roster, game: Game, agent: str) -> Proved:
    """The certificate of an agent. Raises as `Roster.fixed` does."""
    player = roster.fixed(agent, game)
    strength = Strength(PolicyTable.of(player, complete=True))
    facts = dossier(player, name=agent, strength=strength)
    matches = {opponent: strength.match(opponent) for opponent in LADDER}
    return Proved(strength.certificate, strength.exploitability, matches, facts)


MAX_AGENTS = 30
"""The maximum number of agents in a table: the ones with the most games."""


def tallies_here(log: GameLog, roster: Roster, game: Game) -> list[Tally]:
    """The tallies of the agents that this page knows, by the names that it has for them."""
    names = {spec: name for name, spec in roster.models.items()}

    def known(agent: str) -> str | None:
        try:
            return roster.parse(names.get(agent, agent))
        except TttEnvError:
            return None

    return tallies_of(log.games(game), known)


def random_against(roster: Roster, game: Game, agent: str) -> Expectation:
    """The exact result of a random player against an agent of this page, or why there is none."""
    return expected(agent, game, roster.make)


def games_of(log: GameLog) -> dict[str, int]:
    """The number of games in the log, by name, for each game that this page offers."""
    offered = {}
    for name, count in log.counts().items():
        with suppress(TttEnvError):
            if parse_game(name).name == name:
                offered[name] = count
    return offered
