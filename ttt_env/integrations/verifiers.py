"""Games as an environment of verifiers: a set of tasks, rewards, and the game that answers the player.

verifiers loads an environment by the name of a module that exports it. Two lines make one, in a file such as
`tictactoe.py` where Python finds it, or in the package that `vf-init` makes:

    from ttt_env.integrations.verifiers import GameEnv, GameHarness, GameTaskset
    __all__ = ["GameEnv", "GameHarness", "GameTaskset"]

Then `vf-eval tictactoe --env.taskset.opponent minimax` plays it, and in Python

    config = vf.resolve_env_config({"taskset": {"id": "tictactoe", "opponent": "minimax"}})
    env = vf.load_environment(config)

A module with `SelfPlayEnv` in the place of `GameEnv` is an environment in which models play both sides.
"""

import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import cache
from typing import Any, Literal

from ttt_env.agent import Outcome
from ttt_env.errors import extra_for
from ttt_env.rules import Seat
from ttt_env.text.answers import complete_reply
from ttt_env.text.env import Replies, TextEnv, start_rows
from ttt_env.text.two_player import TwoPlayerTextEnv
from ttt_env.text.wording import BoardStyle

with extra_for("verifiers needs", "verifiers"):
    import openai
    import verifiers.v1 as vf
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.errors import MODEL_TRANSPORT_ERROR_EXIT_CODE

__all__ = [
    "GameConfig",
    "GameEnv",
    "GameEnvConfig",
    "GameHarness",
    "GameTask",
    "GameTaskset",
    "SelfPlayEnv",
    "SelfPlayEnvConfig",
]

_IN_FORM: frozenset[Outcome] = frozenset({"played", "taken", "no cell"})


class GameConfig(vf.TasksetConfig):
    """The games to play: the arguments of `TextEnv` and of `start_rows` by their names."""

    game: str = "tictactoe-v0"
    opponent: str | list[str] = "random"
    illegal: Literal["lose", "retry"] = "lose"
    retries: int = 3
    replies: Replies = "by_position"
    board: BoardStyle = "grid"
    answer: str = "[{cell}]"
    plies: int = 0
    """Games start on the empty board, and in every position with up to this many stones."""
    seeds: int = 100
    """The number of times each start is played, each time with another seed of the opponent's replies."""


class GameData(vf.TaskData):
    """The prompt of a game, and in `info` the arguments of `TextEnv.reset` that it starts with."""

    info: dict[str, Any]


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):
    """A game and its rewards.

    The rewards are as in `TextEnv`: with the default weights 1, 0, 0 the reward "result", with 1, 1, 0 the
    reward "shaped".
    """

    @vf.reward(weight=1.0)
    async def result(self, trace: vf.Trace) -> float:
        """1 for a win, 0 for a draw, −1 for a loss, also by an answer that is not a move."""
        return float(trace.info["game"]["result"])

    @vf.reward(weight=0.0)
    async def regret(self, trace: vf.Trace) -> float:
        """Minus the value that the moves have given away, exactly; 0 for moves whose value is not known."""
        return 0.0 - sum(regret or 0 for regret in trace.info["game"]["regret"])

    @vf.reward(weight=0.0)
    async def format(self, trace: vf.Trace) -> float:
        """The share of the answers that name one cell in the agreed form, free or taken."""
        outcomes = trace.info["game"]["outcomes"]
        return sum(outcome in _IN_FORM for outcome in outcomes) / max(len(outcomes), 1)


class GameTaskset(vf.Taskset[GameTask, GameConfig]):
    """A task for each of `start_rows`, with its prompt, and the row as `info`.

    For a game of your own, or another argument of `TextEnv`, derive from this class and override `text_env`
    or, where models play both seats, `two_player_env`.
    """

    def text_env(self) -> TextEnv:
        """A new environment for a game against the opponent."""
        config = self.config
        return TextEnv(config.game, config.opponent, replies=config.replies, **self._shared_settings())

    def two_player_env(self) -> TwoPlayerTextEnv:
        """A new environment for a game of two models."""
        return TwoPlayerTextEnv(self.config.game, **self._shared_settings())

    def _shared_settings(self) -> dict[str, Any]:
        """The settings that both environments have."""
        settings: dict[str, Any] = self.config.model_dump(include={"illegal", "retries", "board", "answer"})
        return settings

    def load(self) -> Iterator[GameTask]:
        """The tasks, in the order of `start_rows`."""
        env = self.text_env()
        for row in start_rows(env.game, plies=self.config.plies, seeds=self.config.seeds):
            name = f"{env.game.name} {row['position'] or 'start'} {row['play_as']} {row['seed']}"
            yield GameTask(GameData(name=name, prompt=env.reset(**row), info=dict(row)), self.config.task)


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates, cached: reading them takes longer than the rest of a reply."""
    return ssl.create_default_context()


class GameHarnessConfig(vf.HarnessConfig):
    """No settings beyond the common ones of a harness."""


class GameHarness(vf.Harness[GameHarnessConfig]):
    """The player's program, which requests one reply of the model, in this process and without tools."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Request the reply to the conversation so far; verifiers records it."""
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += map(message_to_wire, prompt or [])
        try:
            http_client = openai.DefaultAsyncHttpxClient(verify=_ssl_context(), timeout=None)
            async with openai.AsyncOpenAI(
                base_url=endpoint, api_key=secret, http_client=http_client
            ) as client:
                await client.chat.completions.create(model=ctx.model, messages=messages)
        except openai.APIConnectionError as error:
            return vf.ProgramResult(MODEL_TRANSPORT_ERROR_EXIT_CODE, "", str(error))
        except openai.OpenAIError as error:  # also how verifiers ends a conversation that became too long
            return vf.ProgramResult(1, "", str(error))
        return vf.ProgramResult(0, "", "")


class GameEnvConfig(vf.EnvConfig):
    """The settings of the environment: `player` is the model, run by `GameHarness` here by default."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class GameEnv(vf.Env[GameEnvConfig]):
    """A game of the player against the opponent, in which each reply is a move.

    The outcome is in `trace.info["game"]`. A conversation that a limit of turns or tokens cuts off before its
    game is over counts as given up, and so as lost. A reply that ends at the limit of its tokens is not read:
    it counts as one that names no cell, which loses the game or, with `illegal="retry"`, may be retried.
    """

    async def run(self, task: GameTask, agents: vf.Agents) -> None:
        """Play the game of one task."""
        env = self.taskset.text_env()
        env.reset(**task.data.info)
        outcomes: list[Outcome | None] = []
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                text = env.reply(_complete_reply(interaction, segment))
                outcomes.append(env.outcome)
                if env.done:
                    break
                segment = await interaction.turn(text)
            if not env.done:
                env.give_up()
            interaction.trace.info["game"] = _game_info(env, outcomes)


class SelfPlayEnvConfig(vf.EnvConfig):
    """The settings of self-play: the players on both seats, by default both the run's model."""

    x: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    o: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class SelfPlayEnv(vf.Env[SelfPlayEnvConfig]):
    """A game between two models, or of a model with itself; an episode has the traces of both players.

    The task gives the start; its seat, opponent and seed are ignored. Each trace has its player's rewards,
    and is otherwise as in `GameEnv`. For an opponent that does not learn, name a model in `env.o.model`, for
    example, and set `agents.o.trainable` to False in `setup`.
    """

    async def run(self, task: GameTask, agents: vf.Agents) -> None:
        """Play the game of one task."""
        env = self.taskset.two_player_env()
        message = env.reset(position=task.data.info["position"])
        outcomes: dict[Seat, list[Outcome | None]] = {}
        async with AsyncExitStack() as stack:
            interactions: dict[Seat, Any] = {}
            while not env.done:
                seat = env.seat
                if seat not in interactions:
                    player = agents.x if seat == "X" else agents.o
                    session = player.interaction(task.with_data(prompt=None))
                    interactions[seat] = await stack.enter_async_context(session)
                    outcomes[seat] = []
                segment = await interactions[seat].turn(message)
                if segment.terminated:
                    env.give_up()
                else:
                    message = env.reply(_complete_reply(interactions[seat], segment))
                    outcomes[seat].append(env.outcome)
            for seat, interaction in interactions.items():
                interaction.trace.info["game"] = _game_info(env.players[seat], outcomes[seat])


def _complete_reply(interaction: vf.Interaction, segment: vf.Segment) -> str:
    """The player's reply, empty if it was cut off."""
    return complete_reply(segment.last_reply, interaction.trace.calls[-1].finish_reason)


def _game_info(env: TextEnv, outcomes: list[Outcome | None]) -> dict[str, Any]:
    """The outcome of a conversation, for the rewards."""
    cells = [move.cell for move in env.moves]
    return {**env.info, "cells": cells, "outcomes": outcomes, "result": env.result}
