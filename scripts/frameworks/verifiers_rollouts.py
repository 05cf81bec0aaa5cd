"""verifiers evaluates scripted models in games against an opponent, with exact rewards.

Follows https://docs.primeintellect.ai/verifiers/getting_started

The evaluation is that of `vf-eval reverse-text -n 2 -r 1` with `tictactoe` in the place of `reverse-text`:
the module of that name beside this script. Nothing is downloaded and nothing is sent: the models are
functions of the last message behind an endpoint on this machine, one that plays perfectly, one that takes the
first free cell, and one that never names a cell. They play from 17 starts, against random players. Every
conversation is then held again in a `TextEnv`: the texts are the same, letter by letter, and so is the reward
of each game, with three weightings of result and regret. A model that is cut off after one turn has lost, and
one whose replies are cut off at the limit of tokens, though a cell is named in them.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[verifiers]", "verifiers==0.4.0"]
# ///

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import verifiers.v1 as vf
from aiohttp import web
from outcome import assert_unbeatable
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

import ttt_env  # ttt_env
from ttt_env.text import (
    PromptAgent,  # ttt_env
    TextEnv,  # ttt_env
)

TASKSET = {"id": "tictactoe", "opponent": "random", "board": "line", "plies": 2, "seeds": 2}  # ttt_env
STARTS = 17  # the empty board on both seats, 3 positions after one move and 12 after two, up to symmetry
SOLUTION = ttt_env.solve("tictactoe-v0")


def position_in(message: str) -> ttt_env.Position:
    """The position that a message of the game shows: the line above the player's turn."""
    return ttt_env.Position.parse(message.partition("\n\nIt is your turn.")[0].splitlines()[-1])


MODELS: dict[str, Callable[[str], str]] = {
    "perfect": lambda message: f"I have thought about it. [{SOLUTION.best_cells(position_in(message))[0]}]",
    "first": lambda message: f"[{position_in(message).legal_cells[0]}]",
    "endless": lambda message: f"{MODELS['perfect'](message)} Now let me explain",
    "rubbish": lambda message: "As a language model I do not play games.",
}

PLAYERS = ["perfect", "first", "rubbish"]


async def complete(request: web.Request) -> web.Response:
    """The answer of an OpenAI-compatible endpoint."""
    body = await request.json()
    reply = MODELS[body["model"]](body["messages"][-1]["content"])
    choice = {"index": 0, "message": {"role": "assistant", "content": reply}}
    choice["finish_reason"] = "length" if body["model"] == "endless" else "stop"
    completion = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return web.json_response({**completion, "choices": [choice]})


@asynccontextmanager
async def endpoint() -> AsyncIterator[str]:
    """The address of an endpoint on this machine, whose models are the scripted ones."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
    await runner.cleanup()


async def evaluated(env: dict, model: str, url: str, folder: str, name: str) -> list[vf.Episode]:
    """The episodes of an evaluation of this name, as `vf-eval` runs it."""
    config = EvalConfig(
        env=env,
        model=model,
        client={"base_url": url},
        run={"name": name},
        output_dir=folder,
        push=False,
        rich=None,
    )
    return await run_eval(config)


async def evaluate(model: str, url: str, folder: str, weights: tuple[float, float], **limits: int):
    """The conversations of a model, as verifiers records them."""
    rewards = dict(zip(("result", "regret"), ({"weight": weight} for weight in weights), strict=True))
    env = {"taskset": {**TASKSET, "task": {"rewards": rewards}}, "player": limits}  # ttt_env
    episodes = await evaluated(env, model, url, folder, f"{model} {weights} {limits}")
    traces = [episode.traces[0] for episode in episodes]
    assert len(traces) == STARTS * TASKSET["seeds"] and all(trace.ok for trace in traces)
    return traces


def compare(trace: vf.Trace, weights: tuple[float, float]) -> None:
    """The conversation and its reward are those of a `TextEnv` that is given the same replies."""
    env = TextEnv(opponent="random", board="line", reward="shaped", reward_weights=weights)
    messages = [message.content for message in trace.branches[-1].messages]
    assert messages[0] == env.reset(**trace.task.data.info)
    for reply, answer in zip(messages[1::2], messages[2::2], strict=False):
        assert env.reply(reply) == answer
    env.reply(messages[-1])
    assert env.done and trace.reward == env.total_reward
    assert trace.rewards["format"].score == float(env.outcome == "played")


async def main() -> None:
    """Evaluate, compare, and say what the perfect model is worth."""
    results: dict[str, Counter[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with endpoint() as url:
            for model, weights in zip(PLAYERS, [(1.0, 0.0), (1.0, 1.0), (0.0, 0.5)], strict=True):
                traces = await evaluate(model, url, folder, weights)
                for trace in traces:
                    compare(trace, weights)
                results[model] = Counter(trace.rewards["result"].score for trace in traces)
                won, drawn, lost = (results[model][result] for result in (1.0, 0.0, -1.0))
                given = sum(abs(trace.rewards["regret"].score) for trace in traces)
                print(
                    f"{model}: {won} won, {drawn} drawn, {lost} lost; {given:g} of value given away",
                    flush=True,
                )
            cut_off = await evaluate("perfect", url, folder, (1.0, 0.0), max_turns=1)
            cut_off += await evaluate("endless", url, folder, (1.0, 0.0))
    assert results["perfect"][-1.0] == 0 < results["first"][-1.0] < results["rubbish"][-1.0]
    assert all(trace.num_turns == 1 and trace.reward == -1.0 for trace in cut_off)

    player = PromptAgent("tictactoe-v0", MODELS["perfect"], board="line")  # ttt_env
    assert_unbeatable(player, ["verifiers"])


if __name__ == "__main__":
    asyncio.run(main())
