"""verifiers' agents play both sides of a game: a model itself, and two models each other, with exact rewards.

Follows https://docs.primeintellect.ai/verifiers/env (an environment with several agents)

The evaluation is that of `vf-eval tictactoe_self_play`: the module of that name beside this script. An
episode is a game and has a trace for each player, whose reward is minus the value that its moves gave away.
Both are the run's model, which is self-play, unless `--env.o.model` names another one. The models are the
scripted ones of `verifiers_rollouts.py`, behind an endpoint on this machine.

Every game is then played again in a `TwoPlayerTextEnv`: all messages are the same, letter by letter, and so
are the rewards. The perfect model never gives value away, and the result of each of its games with itself is
the value of the start.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[verifiers]", "verifiers==0.4.0"]
# ///

import asyncio
import tempfile

import verifiers.v1 as vf
from outcome import assert_unbeatable
from verifiers_rollouts import MODELS, SOLUTION, endpoint, evaluated

import ttt_env  # ttt_env
from ttt_env.text import (
    PromptAgent,  # ttt_env
    TwoPlayerTextEnv,  # ttt_env
)

WEIGHTS = {"result": {"weight": 0.0}, "regret": {"weight": 1.0}}
TASKSET = {"id": "tictactoe_self_play", "board": "line", "plies": 2, "seeds": 1}  # ttt_env
PAIRS = [("perfect", "perfect"), ("first", "first"), ("perfect", "first"), ("rubbish", "first")]


async def play(x: str, o: str, url: str, folder: str, **limits: int) -> list[vf.Episode]:
    """The games of two models from all starts of the set of tasks; the limits are those of X."""
    env = {"taskset": {**TASKSET, "task": {"rewards": WEIGHTS}}, "x": limits, "o": {"model": o}}
    return await evaluated(env, x, url, folder, f"{x} and {o} {limits}")


def by_seat(episode: vf.Episode) -> dict[str, vf.Trace]:
    """The traces of a game; a player who was never asked has none."""
    assert all(trace.ok for trace in episode.traces)
    return {trace.agent.name.upper(): trace for trace in episode.traces}


def compare(game: dict[str, vf.Trace]) -> None:
    """The messages and rewards are those of our environment, which is given the same replies."""
    texts = {seat: [each.content for each in trace.branches[-1].messages] for seat, trace in game.items()}
    env = TwoPlayerTextEnv(board="line", reward="regret")  # ttt_env
    message = env.reset(position=start_of(game))  # ttt_env
    while not env.done:
        seat = env.seat
        assert message == texts[seat].pop(0)
        message = env.reply(texts[seat].pop(0))  # ttt_env
    assert not any(texts.values())
    assert all(trace.reward == env.players[seat].total_reward for seat, trace in game.items())


def start_of(game: dict[str, vf.Trace]) -> ttt_env.Position:
    """The position in which a game began."""
    text = next(iter(game.values())).task.data.info["position"]
    return ttt_env.Position.parse(text) if text else SOLUTION.game.start


def results(game: dict[str, vf.Trace]) -> tuple[float, float]:
    """The results of X and O."""
    return game["X"].rewards["result"].score, game["O"].rewards["result"].score


async def main() -> None:
    """Play, compare, and say what the perfect model is worth."""
    games: dict[tuple[str, str], list[dict[str, vf.Trace]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with endpoint() as url:
            for x, o in PAIRS:
                games[x, o] = [by_seat(episode) for episode in await play(x, o, url, folder)]
                rewards = {"X": 0.0, "O": 0.0}
                for game in games[x, o]:
                    for seat, trace in game.items():
                        rewards[seat] += trace.reward
                print(f"{x} and {o}, {len(games[x, o])} games, value given away: {rewards}", flush=True)
            cut_off = [by_seat(each) for each in await play("perfect", "first", url, folder, max_turns=1)]
    for pair, played in games.items():
        for game in played:
            compare(game)
            for name, seat in zip(pair, "XO", strict=True):
                assert name != "perfect" or game[seat].reward == 0
    for game in games["perfect", "perfect"]:
        value = SOLUTION.value_of(start_of(game)) * (1 if start_of(game).to_move == "X" else -1)
        assert results(game) == (value, -value)
    assert all(results(game) == (-1, 1) for game in cut_off)

    player = PromptAgent("tictactoe-v0", MODELS["perfect"], board="line")  # ttt_env
    assert_unbeatable(player, ["verifiers"])


if __name__ == "__main__":
    asyncio.run(main())
