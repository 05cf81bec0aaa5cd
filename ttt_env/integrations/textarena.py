"""Games as environments of TextArena, for two players, and our agents as players there.

Importing this registers the games, so that TextArena makes them and lets two of its agents play:

    import textarena as ta
    from ttt_env.integrations.textarena import AgentPlayer

    env = ta.make("ttt_env/tictactoe-v0")
    players = {0: ta.agents.OpenAIAgent("gpt-4o"), 1: AgentPlayer("minimax", env)}

As with TextArena's own games, each has variants: `ttt_env/tictactoe-v0-train` shows a player the rules and
the board but no history, and `ttt_env/tictactoe-v0-raw` has no wrappers. Make a new environment for each
game, as a reset does not clear TextArena's wrappers.

An agent of TextArena is a function of a text, and `-train` shows it the prompt of the position, so that
`ttt_env.certify(PromptAgent("tictactoe-v0", agent))` judges it.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ttt_env.agent import AgentLike, chosen_cell, make_agent
from ttt_env.analysis.known import PROOF_NODES
from ttt_env.errors import EpisodeOrderError, ForfeitError, extra_for
from ttt_env.rules import CATALOGUE, Between, Game, Seat, as_generator, checked, get_game
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.env import MoveRecord
from ttt_env.text.wording import BoardStyle, board_text, fault_text, intro_text, turn_text

with extra_for("textarena needs", "textarena"):
    import textarena as ta
    from textarena.envs.registration import register_with_versions

__all__ = ["AgentPlayer", "GameEnv"]

_SEATS: tuple[Seat, Seat] = ("X", "O")


class GameEnv(ta.Env):
    """A game of two players who read texts and reply with texts; player 0 is X, player 1 is O.

    `game`, `board`, `answer` and `nodes` are as in `TextEnv`, and so are the texts and the reading of
    replies. A player may give `error_allowance` replies in a row that are not moves, and loses with the next
    one. The other player learns only the cell that was played, so that players cannot talk to each other.

    The rewards are 1, 0 and −1. The game info that `close` returns has, in addition to TextArena's entries,
    `regret`, the value that each move of a player has given away (None where it is not known). Raises the
    errors of `get_game`.
    """

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        *,
        board: BoardStyle = "grid",
        answer: str | AnswerFormat = "[{cell}]",
        error_allowance: Annotated[int, Between(0)] = 1,
        nodes: Annotated[int, Between(0)] = PROOF_NODES,
        **parameters: Any,
    ) -> None:
        self.game = get_game(game, **parameters)
        self.answer = answer if isinstance(answer, AnswerFormat) else AnswerFormat(answer)
        self.board, self.error_allowance, self.nodes = board, error_allowance, nodes
        self.position = self.game.start
        self.state: Any = None

    def reset(self, num_players: int = 2, seed: int | None = None) -> None:
        """Begin a game; `seed` has no effect, as nothing is random."""
        self.position = self.game.start
        self.state = ta.TwoPlayerState(num_players, error_allowance=self.error_allowance)
        seats = dict(enumerate(_SEATS))
        self.state.reset(player_prompt_function=self._prompt, role_mapping=dict(seats), secret_roles=seats)
        for player in seats:
            self.state.game_info[player]["regret"] = []
        self._send_turn_text()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the cell that the reply of the player to move names.

        Returns True if the game is over, and TextArena's infos of the step. Raises `EpisodeOrderError` before
        `reset` and after the end, and `ParameterError` for anything but a str.
        """
        if self.state is None or self.state.done:
            raise EpisodeOrderError("no game in progress: call reset()")
        cell, outcome, _ = self.answer.answer(action, self.position)
        player = self.state.current_player_id
        kind = ta.ObservationType.PLAYER_ACTION
        self.state.add_observation(from_id=player, to_id=player, message=action, observation_type=kind)
        if cell is None:
            self.state.set_invalid_move(
                f"{fault_text(outcome, self.answer.text_of(0, self.game), self.game)}."
            )
            if self.state.done:
                self._record(player, None)
        else:
            self._record(player, cell)
            self.position = self.position.play(cell)
            message = f"{_SEATS[player]} has played {cell}."
            described = ta.ObservationType.GAME_ACTION_DESCRIPTION
            self.state.add_observation(message=message, observation_type=described)
            winner = self.position.winner
            if winner is not None:
                self.state.set_winner(_SEATS.index(winner), f"{winner} has won.")
            elif self.position.is_over:
                self.state.set_draw("It is a draw.")
        is_over, info = self.state.step()
        if not is_over:
            self._send_turn_text()
        return is_over, info

    def get_board_str(self) -> str:
        """The board, for TextArena's renderer."""
        return board_text(self.position, "grid")

    def _prompt(self, player_id: int, game_state: Any) -> str:
        return intro_text(self.game, _SEATS[player_id])

    def _send_turn_text(self) -> None:
        text = "\n" + turn_text(
            self.position, self.board, self.answer.template
        )  # wrappers put "[GAME]" before
        player = self.state.current_player_id
        self.state.add_observation(to_id=player, message=text, observation_type=ta.ObservationType.GAME_BOARD)

    def _record(self, player: int, cell: int | None) -> None:
        regret = MoveRecord.of(self.position, cell, self.nodes).regret
        self.state.game_info[player]["regret"].append(regret)


class AgentPlayer(ta.Agent):
    """An agent of this package as a player of TextArena, in the games that `env` plays, also under wrappers.

    It reads the position of the environment, not the text that it is shown. `rng` is the generator of its
    moves, or a seed. An agent without an answer replies with an empty text, which is not a move.

    TextArena's own models do not report that a reply was cut off. `AgentPlayer("chat:URL,model=NAME", env)`
    requests such a reply once more, and then has no answer.
    """

    def __init__(
        self, agent: AgentLike, env: ta.Env, *, rng: np.random.Generator | int | None = None
    ) -> None:
        self.agent, self._env, self._rng = make_agent(agent, env.game), env, as_generator(rng)

    def __call__(self, observation: str) -> str:
        """The agent's move, as a reply."""
        try:
            cell = chosen_cell(self.agent, self._env.position, self._rng)
        except ForfeitError:
            return ""
        return str(self._env.answer.text_of(cell, self._env.game))


for _id in CATALOGUE:
    register_with_versions(
        f"ttt_env/{_id}",
        f"{__name__}:GameEnv",
        {
            "default": [ta.wrappers.LLMObservationWrapper, ta.wrappers.ActionFormattingWrapper],
            "-train": [ta.wrappers.GameBoardObservationWrapper, ta.wrappers.ActionFormattingWrapper],
        },
        game=_id,
    )
