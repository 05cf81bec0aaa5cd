"""verifiers' agents play both sides of a game: a model itself, and two models each other, with exact rewards.

Follows https://docs.primeintellect.ai/verifiers/env (an environment with several agents)

The evaluation is that of `vf-eval tictactoe_self_play`: the module of that name beside this script. An
episode is a game and has a trace for each player, whose reward is minus the value that its moves gave away.
Both are the run's model, which is self-play, unless `--env.o.model` names another one. The models are the
scripted ones of `verifiers_rollouts.py`, behind an endpoint on this machine.

Every game is then played again in a `TwoPlayerTextEnv`: all messages are the same, letter by letter, and so
are the rewards. The perfect model never gives value away, and the result of each of its games with itself is
the value of the start. At the end stands its certificate.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[verifiers]", "verifiers==0.4.0"]
# ///

import asyncio
import tempfile

import verifiers.v1 as vf
from outcome import outcome
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers_rollouts import MODELS, SOLUTION, endpoint

import ttt_env  # ttt_env
from ttt_env.text import TwoPlayerTextEnv  # ttt_env
from ttt_env.text.players import PromptAgent  # ttt_env

WEIGHTS = {"result": {"weight": 0.0}, "regret": {"weight": 1.0}}
TASKSET = {"id": "tictactoe_self_play", "board": "line", "plies": 2, "seeds": 1}  # ttt_env
PAIRS = [("perfect", "perfect"), ("first", "first"), ("perfect", "first"), ("rubbish", "first")]


async def play(x: str, o: str, url: str, folder: str) -> list[vf.Episode]:
    """The games of two models from all starts of the set of tasks."""
    config = EvalConfig(
        env={"taskset": {**TASKSET, "task": {"rewards": WEIGHTS}}, "o": {"model": o}},
        model=x,
        client={"base_url": url},
        run={"name": f"{x} and {o}"},
        output_dir=folder,
        push=False,
        rich=None,
    )
    return await run_eval(config)


def compare(episode: vf.Episode) -> dict[str, vf.Trace]:
    """The traces by seat, after the game has been played again in our environment."""
    traces = {trace.agent.name.upper(): trace for trace in episode.traces}
    assert all(trace.ok for trace in episode.traces)
    texts = {seat: [each.content for each in trace.branches[-1].messages] for seat, trace in traces.items()}
    env = TwoPlayerTextEnv(board="line", reward="regret")  # ttt_env
    message = env.reset(position=episode.traces[0].task.data.info["position"])  # ttt_env
    while not env.done:
        seat = env.seat
        assert message == texts[seat].pop(0)
        message = env.reply(texts[seat].pop(0))  # ttt_env
    assert not any(texts.values())
    assert all(trace.reward == env.players[seat].total_reward for seat, trace in traces.items())
    return traces


async def main() -> None:
    """Play, compare, and say what the perfect model is worth."""
    with tempfile.TemporaryDirectory() as folder:
        async with endpoint() as url:
            for x, o in PAIRS:
                games = [compare(episode) for episode in await play(x, o, url, folder)]
                given = {seat: 0 - sum(game[seat].reward for game in games if seat in game) for seat in "XO"}
                print(
                    f"{x} and {o}, {len(games)} games: X gave {given['X']:g} away, O {given['O']:g}",
                    flush=True,
                )
                for game in games:
                    for name, seat in ((x, "X"), (o, "O")):
                        assert seat not in game or name != "perfect" or game[seat].reward == 0
                    if x == o == "perfect":
                        start = game["X"].task.data.info["position"]
                        position = ttt_env.Position.parse(start) if start else SOLUTION.game.start
                        value = SOLUTION.value_of(position) * (1 if position.to_move == "X" else -1)
                        assert (
                            game["X"].rewards["result"].score == value == -game["O"].rewards["result"].score
                        )

    player = PromptAgent("tictactoe-v0", MODELS["perfect"], board="line")  # ttt_env
    certificate = outcome(player, ["verifiers"])
    assert certificate.unbeatable


if __name__ == "__main__":
    asyncio.run(main())
