"""One of our agents as a bot that is asked by lines of JSON (`docs/bots.md`)."""

import json
from collections.abc import Callable

import numpy as np

from ttt_env.agent import AgentLike
from ttt_env.engines.serving import Engine
from ttt_env.engines.thinking import DEFAULT_SECONDS, Thinker, seconds_of_limit
from ttt_env.rules import Game, as_generator
from ttt_env.text.protocol import answer_line, read_question


class JsonEngine(Engine):
    """Answers questions about the positions of `game` or, by default, of the games that they name.

    The agent is made again where a question is about another game than the one before. What cannot be
    answered, because the line is no question or the agent does not play the game, gets an `{"error": …}`.
    Raises as `make_agent` does for an agent that does not play a game that is given.
    """

    def __init__(
        self,
        agent: AgentLike,
        game: Game | None,
        say: Callable[[str], object],
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(say)
        self._agent, self._given, self._rng = agent, game, as_generator(rng)
        self._game = game
        self._id: int | None = None  # of the question that is being answered
        if game is not None:
            self._thinker = Thinker(agent, game, self._rng)

    def _obey(self, line: str) -> bool:
        if line:
            self._id = None
            position, seconds, self._id = read_question(line, self._given)
            thinker = self._thinker_for(position.game)
            limit = DEFAULT_SECONDS if seconds is None else seconds_of_limit(seconds)
            thinker.begin(position, limit, self._tell)
            thinker.wait()
        return True

    def _thinker_for(self, game: Game) -> Thinker:
        if self._thinker is None or game != self._game:
            self._thinker, self._game = Thinker(self._agent, game, self._rng), game
        return self._thinker

    def _tell(self, move: int | str) -> None:
        if isinstance(move, str):
            self._complain(move)
        else:
            self._say(answer_line(move, self._id))

    def _complain(self, why: str) -> None:
        self._say(json.dumps({"error": why} if self._id is None else {"error": why, "id": self._id}))
