"""Answers to the five questions that need Python: policy, value, verdict, training and record.

Each question is a dataclass that the page sends as JSON. Agents and games are named, never defined: a game of
the page, an agent of the command line by its label, or an agent of the package with plain parameters.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from ttt_env.agents.mcts.search import Search, tree_limit
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.known import PROOF_NODES, is_solved, known_value, known_values_of_moves
from ttt_env.analysis.solution import distances
from ttt_env.analysis.verdict import verdict_in_a_line
from ttt_env.compiled.stopping import StoppedError, check_stopped, stopped_by
from ttt_env.errors import NotationError, ParameterError, TttEnvError, unknown
from ttt_env.rules import Boards, Game, GameRecord, Position, canonical, is_tabulated
from ttt_env.storage.game_log import GameLog
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import train
from ttt_env.web.data import certificate_facts
from ttt_env.web.players import PERSON, PROOF, Players

_SOURCE = "web"
_SEARCHES, _SIMULATIONS = 4, 16_000  # the spread of their results shows the error of the estimate
_MOST_TREE = 1 << 21  # nodes of an agent's search, 67 MB
_MOST_POSITIONS = 20_000_000  # that a certificate holds
_TRAINED_SECONDS = 60.0


@dataclass(frozen=True)
class PolicyQuestion:
    """The question for an agent's policy in a position."""

    game: str
    moves: tuple[int, ...]
    agent: str


@dataclass(frozen=True)
class EvaluateQuestion:
    """The question for the value of a position and of each move; a `brief` answer omits the moves."""

    game: str
    moves: tuple[int, ...]
    brief: bool = False


@dataclass(frozen=True)
class CertifyQuestion:
    """The question for an agent's certificate and its refutations."""

    game: str
    agent: str


@dataclass(frozen=True)
class TrainQuestion:
    """A training of this algorithm on tic-tac-toe."""

    algorithm: str


@dataclass(frozen=True)
class RecordQuestion:
    """A finished game of these players."""

    game: str
    x: str
    o: str
    moves: tuple[int, ...]


class Answers:
    """Answers questions about these games and players. Finished games go to the `log`, if there is one."""

    def __init__(self, players: Players, games: Sequence[Game], log: GameLog | None = None) -> None:
        self.players, self._log = players, log
        self._games = {game.name: game for game in games}
        self._moves = Lock()  # a program answers one question at a time

    def _game(self, name: str) -> Game:
        if name not in self._games:
            raise ParameterError(unknown("game", name[:60], self._games))
        return self._games[name]

    def _position(self, game: str, moves: Sequence[int]) -> Position:
        return GameRecord(self._game(game), tuple(moves)).positions()[-1]

    def policy(self, question: PolicyQuestion) -> dict[str, Any]:
        """The probability of each move; for an agent that is not stationary, one sampled move."""
        position = self._position(question.game, question.moves)
        if position.is_over:
            raise NotationError("The game is over in this position: there is no move.")
        with self._moves, tree_limit(_MOST_TREE):
            agent = self.players.make(question.agent, position.game)
            if not agent.is_stationary:
                return {"moves": [[agent.choose(position, np.random.default_rng()), 1.0]], "isSample": True}
            policy = agent.policy(position)
        return {"moves": [[cell, float(policy[cell])] for cell in position.legal_cells], "isSample": False}

    def evaluate(self, question: EvaluateQuestion) -> dict[str, Any]:
        """The value for X, its basis, and the value of each move for the player who makes it.

        Values are from a solution or a proof; without one, they are the range of the results of some
        searches.
        """
        position = self._position(question.game, question.moves)
        if (proved := self._by_proof(position)) is not None:
            return proved
        sign = 1 if position.to_move == "X" else -1
        value = known_value(position)
        facts: dict[str, Any] = {"value": None if value is None else sign * value}
        facts["basis"] = "solved" if is_solved(position.game) else "proved"
        if question.brief:
            return facts | {"moves": []}
        nodes = 0 if value is None else PROOF_NODES  # if the position is not proved, hardly any move is
        moves: dict[int, dict[str, Any]] = {
            cell: {"cell": cell, "value": worth}
            for cell, worth in known_values_of_moves(position, nodes).items()
        }
        if moves and is_tabulated(position.game):
            after = Boards.of([position.play(cell) for cell in moves])
            for move, plies in zip(moves.values(), distances(position.game).of(after), strict=True):
                move["plies"] = int(plies) + 1
        if any(move["value"] is None for move in moves.values()):
            whole, ranges = _estimate_by_search(position)
            for cell, (low, high) in ranges.items():
                if moves[cell]["value"] is None:
                    moves[cell] |= {"low": low, "high": high}
            if value is None:
                low, high = sorted(sign * end for end in whole)
                facts |= {"basis": "estimated", "low": low, "high": high}
        return facts | {"moves": list(moves.values())}

    def _by_proof(self, position: Position) -> dict[str, Any] | None:
        """The entry of this package's proof for a position of its strategy; None for any other."""
        if PROOF not in [level.agent for level in self.players.levels(position.game)] or position.is_over:
            return None
        agent = self.players.make(PROOF, position.game)
        if position.to_move == "X":
            cell = agent.strategy_cell(position)  # type: ignore[attr-defined]
            if cell is None:
                return None
            winning = canonical(position.child(cell))
            moves = [
                {"cell": each, "value": 1 if canonical(position.child(each)) == winning else None}
                for each in position.legal_cells
            ]
        elif all(_is_won(agent, position.child(cell)) for cell in position.legal_cells):
            moves = [{"cell": each, "value": -1} for each in position.legal_cells]
        else:
            return None
        return {
            "value": 1,
            "basis": "proved",
            "source": "Patashnik 1980, and the proof file of this package",
            "moves": moves,
        }

    def certify(self, question: CertifyQuestion) -> dict[str, Any]:
        """The verdict on an agent in words, and the games that beat it."""
        game = self._game(question.game)
        if question.agent == PERSON:
            raise ParameterError("Only agents are certified: a person has no fixed policy.")
        certificate = certify(self.players.make(question.agent, game), game, most=_MOST_POSITIONS)
        return certificate_facts(question.agent, certificate)

    def train(self, question: TrainQuestion) -> Iterator[dict[str, Any]]:
        """The evaluations of a training as they are made, and finally the verdict on the agent."""
        events: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        departure = Event()

        def report(evaluation: Evaluation) -> None:
            check_stopped()
            assert evaluation.exploitability is not None
            worst = evaluation.exploitability.exploitability
            events.put({"steps": evaluation.steps, "seconds": evaluation.seconds, "exploitability": worst})

        def run() -> None:
            try:
                with stopped_by(departure):
                    agent = train("tictactoe-v0", question.algorithm, seconds=_TRAINED_SECONDS, report=report)
                    events.put({"verdict": verdict_in_a_line(certify(agent))})
            except StoppedError:
                pass  # the client has disconnected
            except (TttEnvError, ImportError) as error:
                events.put({"error": str(error)})
            finally:
                events.put(None)

        thread = Thread(target=run, name="training", daemon=True)
        thread.start()
        try:
            while (event := events.get()) is not None:
                yield event
        finally:
            departure.set()

    def record(self, question: RecordQuestion) -> dict[str, Any]:
        """Write a finished game to the log, after checking its moves."""
        game = self._game(question.game)
        record = GameRecord(game, question.moves)
        if not record.positions()[-1].is_over:
            raise NotationError("The game is not over: only finished games are recorded.")
        for player in (question.x, question.o):
            if player != PERSON:
                self.players.make(player, game)  # or it raises
        if self._log is None:
            raise ParameterError("Games are not recorded here: ttt web was started with --no-record.")
        x, o = (self.players.labels.get(player, player) for player in (question.x, question.o))
        self._log.add(record, x=x, o=o, source=_SOURCE)
        self.players.make.cache_clear()  # for agents that learn from the log
        return {"recorded": True}


def _is_won(agent: Any, position: Position) -> bool:
    """True if X has won, or the strategy continues from there."""
    return position.winner == "X" if position.is_over else agent.strategy_cell(position) is not None


def _estimate_by_search(position: Position) -> tuple[tuple[float, float], dict[int, tuple[float, float]]]:
    """The ranges of the results of some searches for the position and each move, in [−1, 1] for the mover.

    Symmetric moves have the same range.
    """
    wholes: list[float] = []
    classes = {cell: canonical(position.child(cell)) for cell in position.legal_cells}
    results: dict[Position, list[float]] = defaultdict(list)
    for seed in range(_SEARCHES):
        search = Search(position, seed=seed)
        search.run(simulations=_SIMULATIONS)
        wholes.append(float(search.expected))
        totals: dict[Position, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for cell, child in classes.items():
            totals[child][0] += float(search.wins[cell])
            totals[child][1] += float(search.visits[cell])
        for child, (wins, visits) in totals.items():
            if visits:
                results[child].append(2 * wins / visits - 1)
    ranges = {
        cell: (min(results[child]), max(results[child]))
        for cell, child in classes.items()
        if child in results
    }
    return (min(wholes), max(wholes)), ranges
