"""An OpenEnv server with games as conversations, and scripted models that play them over the net.

Follows https://huggingface.co/docs/openenv/getting_started/environment-builder: the server's app and the
games of a client, one after another and several at once.

No language model is needed: one scripted model reads the board in the text and answers a best cell in a
sentence, others play the first free cell, always the centre, or talk. Each text, reward and end that comes
over the net is compared with what `TextEnv` gives for the same replies, in whole games and after a move in
every position. At the end the package's own command serves in a process of its own: it passes `openenv
validate`, and the perfect model is asked over the net in each position of its certificate.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[openenv]", "openenv-core==0.3.0"]
#
# [tool.frameworks]
# tests = ["tests/integrations/test_openenv.py"]
# ///

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from threading import Thread
from typing import Any

import requests
import uvicorn
from openenv.core.env_server import create_app
from outcome import assert_unbeatable

import ttt_env  # ttt_env
from ttt_env.analysis.layers import reachable  # ttt_env
from ttt_env.integrations.openenv import TttAction, TttEnv, TttEnvironment, TttObservation  # ttt_env
from ttt_env.text import AnswerFormat, TextEnv  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")
OPPONENTS = ["random", "minimax"]
OPTIONS: dict[str, Any] = {"board": "line", "reward": "shaped", "illegal": "retry", "retries": 1}
SEEDS = range(6)

app = create_app(
    partial(TttEnvironment, "tictactoe-v0", opponents=OPPONENTS, **OPTIONS),  # ttt_env
    TttAction,  # ttt_env
    TttObservation,  # ttt_env
    env_name="ttt_env",  # ttt_env
    max_concurrent_envs=8,
)


def position_in(text: str) -> ttt_env.Position:
    """The position that a text shows last, in one line."""
    return ttt_env.Position.parse(re.findall(r"[XO.]{3}/[XO.]{3}/[XO.]{3}", text)[-1], GAME)


def perfect(text: str) -> TttAction:
    """Says a best cell."""
    cell = ttt_env.solve(GAME).best_cells(position_in(text))[0]
    return TttAction(reply=f"I look at the board, and play [{cell}].")


def first_free(text: str) -> TttAction:
    """Plays the first free cell."""
    return TttAction(cell=position_in(text).legal_cells[0])


def careless(text: str) -> TttAction:
    """Always wants the centre."""
    return TttAction(reply="The centre is best: [4]")


def talkative(text: str) -> TttAction:
    """Names no cell."""
    return TttAction(reply="What a lovely game! 四 \ud800 \x00")


MODELS = [perfect, first_free, careless, talkative]
ROWS = [
    {"seed": seed, "play_as": play_as, "opponent": opponent, "prompt": "is no argument"}
    for seed, play_as, opponent in product(SEEDS, ("X", "O"), OPPONENTS)
]


def compare(observation: TttObservation, text: str, env: TextEnv) -> None:
    """Raise `AssertionError` unless the client was told what `TextEnv` says."""
    told = (observation.text, observation.reward, observation.done, observation.info)
    assert told == (text, env.reward, env.done, json.loads(json.dumps(env.info)))


def play(client: Any, model: Callable[[str], TttAction], row: dict[str, Any]) -> Iterator[TttObservation]:
    """The server's observations in a game, compared move by move with the same game in this process."""
    env = TextEnv(GAME, **OPTIONS)
    text = env.reset(**row)
    result = client.reset(**row)
    compare(result.observation, text, env)
    while not result.done:
        yield result.observation
        action = model(result.observation.text)
        text = env.reply(action.reply) if action.cell is None else env.move(action.cell)
        result = client.step(action)
        compare(result.observation, text, env)
    state = client.state()
    assert (state.position, state.seat, state.total_reward) == (str(env.position), env.seat, env.total_reward)
    yield result.observation


def end_of(observation: TttObservation) -> str:
    """The end of a game for its player."""
    info = observation.info
    if info["outcome"] != "played":
        return "forfeited"
    return {None: "drawn", info["seat"]: "won"}.get(info["winner"], "lost")


def play_all(url: str, model: Callable[[str], TttAction]) -> set[str]:
    """The ends of a model's games, each of them in the session of one client."""
    with TttEnv(base_url=url).sync() as client:  # ttt_env
        return {end_of(list(play(client, model, row))[-1]) for row in ROWS}


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of a server of the app on a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def command(*arguments: str) -> Iterator[str]:
    """The address of a server that the package's own command has started."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    module = [sys.executable, "-m", "ttt_env.integrations.openenv"]  # ttt_env
    process = subprocess.Popen([*module, *arguments, "--port", port], stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        while process.poll() is None and not is_up(url):
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def is_up(url: str) -> bool:
    """True if a server answers there."""
    try:
        return requests.get(f"{url}/health", timeout=5).ok
    except requests.ConnectionError:
        return False


def check_every_position(url: str) -> None:
    """The prompt of each position, and what the first free cell earns there."""
    positions = [position for layer in reachable(GAME) for position in layer.boards(layer.open_slots)]
    assert len(positions) == 4_520
    env = TextEnv(GAME, **OPTIONS)
    with TttEnv(base_url=url).sync() as client:  # ttt_env
        for position in positions:
            row = {"seed": 0, "position": str(position), "play_as": position.to_move, "opponent": "minimax"}
            compare(client.reset(**row).observation, env.reset(**row), env)
            action = first_free(str(position))
            compare(client.step(action).observation, env.move(action.cell), env)


started = time.perf_counter()
with served(app) as url:
    ends = {model.__name__: play_all(url, model) for model in MODELS}
    print(ends)
    assert ends["perfect"] == {"won", "drawn"} and "lost" in ends["first_free"]
    assert ends["talkative"] == {"forfeited"} and "forfeited" in ends["careless"]

    # Two clients whose games go on in turn, and four that play at the same time.
    with TttEnv(base_url=url).sync() as one, TttEnv(base_url=url).sync() as two:  # ttt_env
        for row, other in zip(ROWS, reversed(ROWS), strict=True):
            both = zip(play(one, perfect, row), play(two, first_free, other), strict=False)
            assert len(list(both)) > 1
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(partial(play_all, url), MODELS))
    assert together == list(ends.values())

    check_every_position(url)
print(f"all the same after {time.perf_counter() - started:.0f} seconds")

with command("minimax", "random", "--board", "line") as url:
    openenv = [sys.executable, "-m", "openenv.cli", "validate", "--url", url]
    assert json.loads(subprocess.run(openenv, stdout=subprocess.PIPE, check=True).stdout)["passed"]
    with TttEnv(base_url=url).sync() as client:  # ttt_env

        def asked(position: ttt_env.Position) -> int:
            """The cell that the model answers to the prompt that the server gives for a position."""
            prompt = client.reset(position=str(position), play_as=position.to_move).observation.text
            reading = AnswerFormat().read(perfect(prompt).reply, GAME.start)
            assert reading.cell is not None and position_in(prompt) == position
            return reading.cell

        assert_unbeatable(asked, ["openenv-core"])
print(f"done in {time.perf_counter() - started:.0f} seconds")
