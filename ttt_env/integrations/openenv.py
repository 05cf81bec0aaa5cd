"""Games as an environment of OpenEnv: its models, the environment, the server, and the client.

The command serves games on the loopback address, against the first of the named agents, or another one of
them that a client chooses:

    python -m ttt_env.integrations.openenv minimax random --game tictactoe-v0

A client plays in a session of its own:

    with TttEnv(base_url="http://127.0.0.1:8000").sync() as client:
        result = client.reset(seed=3, play_as="X")
        while not result.done:
            result = client.step(TttAction(reply=model(result.observation.text)))

`make_app` makes the server's app in Python, for an own `server/app.py` or `uvicorn --factory`; for OpenEnv's
`create_app` itself, `TttEnvironment` is the environment. See https://meta-pytorch.org/OpenEnv/.
"""

import argparse
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, get_args
from uuid import uuid4

from ttt_env.agent import Agent, AgentLike, make_agent, named_agents
from ttt_env.envs.board import PlayAs
from ttt_env.errors import EpisodeOrderError, TttEnvError, extra_for
from ttt_env.rules import Game, Position, Seat, as_integer, one_of
from ttt_env.text.answers import complete_reply
from ttt_env.text.env import IllegalReply, RewardName, TextEnv
from ttt_env.text.wording import BoardStyle

with extra_for("OpenEnv needs", "openenv"):
    import uvicorn
    from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
    from fastapi.responses import JSONResponse
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.types import EnvironmentMetadata
    from pydantic import Field, model_validator
    from pydantic_core import PydanticCustomError


class TttAction(Action):
    """A player's answer, either a `cell` or a `reply` in free text that names one.

    A reply that was cut off, with a `finish_reason` of "length" or "content_filter", is not read: it counts
    as one that names no cell, which loses the game or, with `illegal="retry"`, may be retried.
    """

    cell: int | None = Field(None, strict=True, description="the cell to play, as TextEnv.move takes it")
    reply: str | None = Field(None, description="free text that names a cell, as TextEnv.reply takes it")
    finish_reason: str | None = Field(None, description="why the reply ended, as a chat completion says it")

    @model_validator(mode="after")
    def _is_one_answer(self) -> "TttAction":
        if (self.cell is None) == (self.reply is None):
            # No ValueError: OpenEnv would try to send the exception itself, fail, and end the session.
            raise PydanticCustomError("one_answer", "an action has either a cell or a reply")
        return self


class TttObservation(Observation):
    """An observation: the text shown to the player, and `info` for training code."""

    text: str = Field(description="what happened and what to do next; after reset the whole prompt")
    info: dict[str, Any] = Field(description="TextEnv.info: seat, legal cells, winner, regret and more")


class TttState(State):
    """The state of a session; everything but `game` is None before its first `reset`."""

    game: str = Field(description="the name of the game")
    position: str | None = Field(None, description="the board in one line, such as XO./.X./..O")
    seat: Seat | None = Field(None, description="the player's seat: X or O")
    total_reward: float | None = Field(None, description="what this game has earned so far")


class TttEnvironment(Environment[TttAction, TttObservation, TttState]):
    """The games of one session on the server, a `TextEnv` behind OpenEnv's interface.

    `opponent` is the default opponent of `reset`. Clients may name it if it is a spec string, or several, and
    the `opponents`: agents, or a mapping from names to agents. They can name no others, as a stranger's spec
    string could load a file or search for hours. An agent that is given as an object is shared by all
    sessions, which query it in threads of their own. `options` are the settings of `TextEnv`.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        opponent: AgentLike | Sequence[AgentLike] = "random",
        *,
        opponents: Sequence[AgentLike] | Mapping[str, AgentLike] = (),
        **options: Any,
    ) -> None:
        super().__init__()
        self._env = TextEnv(game, opponent, **options)
        usual = opponent if isinstance(opponent, Sequence) and not isinstance(opponent, str) else [opponent]
        by_name: dict[str, AgentLike] = {spec: spec for spec in usual if isinstance(spec, str)}
        by_name |= named_agents(opponents)
        self._opponents = {name: make_agent(agent, self._env.game) for name, agent in by_name.items()}
        self._episode_id: str | None = None
        self._n_steps = 0

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        position: Position | str | None = None,
        play_as: PlayAs | None = None,
        opponent: str | Sequence[str] | None = None,
        **columns: object,
    ) -> TttObservation:
        """Begin a game and return the prompt, as `TextEnv.reset` does; also from the row of a data set.

        Raises `ParameterError` for an opponent that clients may not name, and the errors of `TextEnv.reset`;
        nothing has changed then.
        """
        episode = TttState(episode_id=str(uuid4()) if episode_id is None else episode_id, game="")
        allowed: list[Agent] | None = None
        if opponent is not None:
            names = opponent if isinstance(opponent, list | tuple) else [opponent]
            allowed = [self._opponents[one_of("opponent", name, list(self._opponents))] for name in names]
        text = self._env.reset(seed=seed, position=position, play_as=play_as, opponent=allowed)
        self._episode_id, self._n_steps = episode.episode_id, 0
        return self._observation(text)

    def step(self, action: TttAction, timeout_s: float | None = None, **options: object) -> TttObservation:
        """Play the cell, or reply the text, of an action; raises as `TextEnv.move`."""
        if action.cell is None:
            text = self._env.reply(complete_reply(action.reply or "", action.finish_reason))
        else:
            text = self._env.move(action.cell)
        self._n_steps += 1
        return self._observation(text)

    @property
    def state(self) -> TttState:
        """The state of the session."""
        facts: dict[str, Any] = {"game": self._env.game.name}
        if self._episode_id is not None:
            facts |= {"position": str(self._env.position), "seat": self._env.seat}
            facts["total_reward"] = self._env.total_reward
        return TttState(episode_id=self._episode_id, step_count=self._n_steps, **facts)

    def get_metadata(self) -> EnvironmentMetadata:
        """The description of the environment for OpenEnv's tools."""
        return EnvironmentMetadata(
            name="ttt_env",
            description=f"{self._env.game.name} against an opponent, as a conversation with exact rewards",
            version=version("ttt-env"),
        )

    def _observation(self, text: str) -> TttObservation:
        env = self._env
        return TttObservation(text=text, info=dict(env.info), reward=env.reward, done=env.done)


class TttEnv(EnvClient[TttAction, TttObservation, TttState]):
    """The client: `reset(seed=…, position=…, play_as=…, opponent=…)`, `step(TttAction(…))` and `state()`.

    Each client has a game of its own on the server. `reset(**row)` takes a row of a data set. An invalid
    request raises OpenEnv's `RuntimeError` with the reason and leaves the game as it was.
    """

    def _step_payload(self, action: TttAction) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump(exclude_none=True)
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TttObservation]:
        reward, done = payload["reward"], payload["done"]
        return StepResult(TttObservation(**payload["observation"], reward=reward, done=done), reward, done)

    def _parse_state(self, payload: dict[str, Any]) -> TttState:
        return TttState(**payload)


def make_app(
    game: Game | str = "tictactoe-v0",
    opponent: AgentLike | Sequence[AgentLike] = "random",
    *,
    opponents: Sequence[AgentLike] | Mapping[str, AgentLike] = (),
    max_concurrent_envs: int = 64,
    **options: Any,
) -> FastAPI:
    """The server's app, made by OpenEnv's `create_app`, for up to `max_concurrent_envs` sessions at once.

    The other arguments are as in `TttEnvironment`, whose errors are raised here, not in the first session.
    """

    def environment() -> TttEnvironment:
        return TttEnvironment(game, opponent, opponents=opponents, **options)

    environment()
    app: FastAPI = create_app(
        environment, TttAction, TttObservation, env_name="ttt_env", max_concurrent_envs=max_concurrent_envs
    )
    app.add_exception_handler(TttEnvError, _error_response)
    app.add_exception_handler(WebSocketDisconnect, _ignore_disconnect)
    return app


def _error_response(request: Request, error: Exception) -> JSONResponse:
    """The answer to a bad request over HTTP; over a WebSocket, OpenEnv sends the text of the error itself."""
    detail = str(error)
    if isinstance(error, EpisodeOrderError):
        detail += " over the WebSocket /ws: each request over HTTP is a session of its own"
    return JSONResponse({"detail": detail}, 422)


async def _ignore_disconnect(websocket: WebSocket, error: Exception) -> None:
    """Do nothing: OpenEnv 0.3 answers a client that has just left, and reports a failure of the server."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve games until the process is ended."""
    parser = argparse.ArgumentParser(
        prog="python -m ttt_env.integrations.openenv",
        description="Serve games as an OpenEnv environment, without any check of who connects.",
    )
    parser.add_argument(
        "opponents",
        nargs="*",
        default=["random"],
        help="agents: the first plays unless a client names another one of them; random if none is given",
    )
    parser.add_argument("--game", default="tictactoe-v0", help="default: %(default)s")
    parser.add_argument("--illegal", default="lose", choices=get_args(IllegalReply))
    parser.add_argument("--reward", default="result", choices=get_args(RewardName))
    parser.add_argument("--board", default="grid", choices=get_args(BoardStyle))
    parser.add_argument("--sessions", default=64, type=int, help="at most at once; default: %(default)s")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; any but this one lets others in"
    )
    parser.add_argument("--port", default=8000, type=int, help="0 is any free one; default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        port = as_integer("port", options.port, "the server", 0, 65535)
        app = make_app(
            options.game,
            options.opponents[0],
            opponents=options.opponents,
            max_concurrent_envs=options.sessions,
            illegal=options.illegal,
            reward=options.reward,
            board=options.board,
        )
    except ValueError as error:
        parser.error(str(error))
    uvicorn.run(app, host=options.host, port=port)


if __name__ == "__main__":
    main()
