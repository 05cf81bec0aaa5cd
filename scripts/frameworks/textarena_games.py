"""TextArena's agents play this package's games in TextArena's own loop, and its agents are certified.

Follows https://github.com/LeonGuertler/TextArena#offline-play

Two agents play as in the example; no model is asked, all of them are scripted. First 500 games of agents that
now and then reply with what is not a move: TextArena's own tic-tac-toe ends each at the same reply and with
the same rewards, and so does a `TextEnv` in which one player stands against what the other has played, with
the same regrets. Then `minimax` plays as an agent of TextArena on both seats and never loses, with each of
TextArena's wrappers of observations, on 3×3, 4,3,3, Square and Qubic boards.

The other direction: what `-train` shows an agent is the prompt of the position, so that every agent of
TextArena can be asked in all positions. The one that is certified reads the board from the text.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[textarena]", "textarena==0.7.4"]
# ///

import io
from random import Random

import textarena as ta
from outcome import assert_unbeatable

import ttt_env  # ttt_env
from ttt_env.errors import NoVerdictError  # ttt_env
from ttt_env.integrations.textarena import AgentPlayer  # ttt_env
from ttt_env.text import (  # ttt_env
    AnswerFormat,
    PromptAgent,  # ttt_env
    TextEnv,
    prompt_text,
)

GAMES = 500
SOLUTION = ttt_env.solve("tictactoe-v0")


def free_cells(observation: str) -> list[str]:
    """The free cells that the last message names."""
    return observation.rpartition("Free cells: ")[2].partition(".")[0].split()


class First(ta.Agent):
    """Takes the first free cell."""

    def __call__(self, observation: str) -> str:
        """Its number alone: TextArena's wrapper puts the brackets around it."""
        return free_cells(observation)[0]


class Careless(ta.Agent):
    """Takes any free cell, and in one reply of eight any cell or none."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, observation: str) -> str:
        """A reply with a word or two around the number."""
        if self.random.random() < 1 / 8:
            return self.random.choice(["Let me see.", "[9]", f"[{self.random.randrange(9)}]"])
        return f"I take [{self.random.choice(free_cells(observation))}]."


class Perfect(ta.Agent):
    """Reads the board from the text, a line of its own, and keeps the value of the position."""

    def __call__(self, observation: str) -> str:
        """The first best cell."""
        line = observation.rpartition("\n\nIt is your turn.")[0].rpartition("\n")[2]
        return f"[{SOLUTION.best_cells(ttt_env.Position.parse(line))[0]}]"


def play(env: ta.Env, agents: dict[int, ta.Agent]) -> tuple[list[tuple[int, str]], dict, dict]:
    """A game in the loop of TextArena's example: the replies, the rewards, and the infos of the players."""
    replies = []
    env.reset(num_players=len(agents))
    done = False
    while not done:
        player_id, observation = env.get_observation()
        action = agents[player_id](observation)
        done, _ = env.step(action=action)
        replies.append((player_id, action))
    return replies, *env.close()


def compare_with_textarena(replies: list[tuple[int, str]], rewards: dict) -> None:
    """TextArena's own tic-tac-toe goes on as long and ends with the same rewards."""
    env = ta.make("TicTacToe-v0-raw")
    env.reset(num_players=2)
    for number, (player_id, action) in enumerate(replies, 1):
        assert env.get_observation()[0] == player_id
        done, _ = env.step(action=action)
        assert done == (number == len(replies))
    assert env.close()[0] == rewards


def compare_with_text_env(replies: list[tuple[int, str]], rewards: dict, infos: dict) -> None:
    """A `TextEnv` ends with the same rewards and regrets, each player against what the other has played."""
    position, cells = ttt_env.get_game("tictactoe-v0").start, {}
    for _, action in replies:
        cell = AnswerFormat().answer(action, position).cell
        if cell is not None:
            cells[position] = cell
            position = position.play(cell)
    for player_id, seat in enumerate("XO"):
        if infos[1 - player_id]["invalid_move"]:
            continue  # an opponent in `TextEnv` always plays
        env = TextEnv(opponent=cells.__getitem__, play_as=seat, illegal="lose")
        env.reset()
        for player, action in replies:
            if player == player_id:
                env.reply(action)
        assert env.done and env.reward == rewards[player_id]
        assert env.info["regret"] == infos[player_id]["regret"]


def compare() -> None:
    """Games of careless agents, one after which none more is allowed, are as elsewhere."""
    ended = 0
    for seed in range(GAMES):
        agents = {0: Careless(2 * seed), 1: Careless(2 * seed + 1)}
        replies, rewards, infos = play(ta.make("ttt_env/tictactoe-v0"), agents)  # ttt_env
        compare_with_textarena(replies, rewards)
        env = ta.make("ttt_env/tictactoe-v0", error_allowance=0)  # ttt_env
        replies, rewards, infos = play(env, agents)
        compare_with_text_env(replies, rewards, infos)
        ended += any(info["invalid_move"] for info in infos.values())
    assert 0 < ended < GAMES
    print(
        f"{GAMES} games, of which {ended} end by a reply that is not a move, are the same everywhere",
        flush=True,
    )


def never_loses() -> None:
    """`minimax` plays under all wrappers and on other boards."""
    wrappers = ta.wrappers
    for wrapper in (
        wrappers.LLMObservationWrapper,
        wrappers.GameBoardObservationWrapper,
        wrappers.GameMessagesObservationWrapper,
        wrappers.GameMessagesAndCurrentBoardObservationWrapper,
    ):
        for seat in (0, 1):
            raw = ta.make("ttt_env/tictactoe-v0-raw", board="coordinates")  # ttt_env
            env = wrappers.ActionFormattingWrapper(wrapper(raw))
            minimax = AgentPlayer("minimax", env, rng=seat)  # ttt_env
            _, rewards, _ = play(env, {seat: minimax, 1 - seat: AgentPlayer("random", env, rng=7)})  # ttt_env
            assert rewards[seat] >= 0
    for name, settings in {"mnk-v0": {"m": 4, "n": 3, "k": 3}, "square-v0": {}, "qubic-v0": {}}.items():
        env = ta.make(f"ttt_env/{name}", **settings)  # ttt_env
        agent = "minimax" if name == "mnk-v0" else "weights"  # ttt_env
        _, rewards, infos = play(env, {0: AgentPlayer(agent, env, rng=0), 1: First()})  # ttt_env
        print(f"{agent} against the first free cell in {name}: {rewards[0]:+d}, {infos[0]['reason']}")
        assert rewards[0] == 1


def answers_nothing() -> None:
    """An agent whose reply was cut off has none, and loses as by a reply that names no cell."""

    def cut_off(prompt: str) -> str:
        raise NoVerdictError("a model", None, "the reply was cut off", "unreadable")

    env = ta.make("ttt_env/tictactoe-v0", error_allowance=0)  # ttt_env
    model = AgentPlayer(PromptAgent("tictactoe-v0", cut_off), env)  # ttt_env
    _, rewards, infos = play(env, {0: model, 1: First()})
    assert rewards == {0: -1, 1: 0} or rewards == {0: -1, 1: 1}
    assert infos[0]["invalid_move"]


def main() -> None:
    """Play, compare, and say what the perfect agent is worth."""
    agents = {0: Perfect(), 1: First()}
    env = ta.make(env_id="ttt_env/tictactoe-v0-train", board="line")  # ttt_env
    env = ta.wrappers.SimpleRenderWrapper(env=env, render_mode="board")
    env.console.file = io.StringIO()  # what it draws is not looked at here
    env.reset(num_players=len(agents))
    done = False
    while not done:
        player_id, observation = env.get_observation()
        assert observation.replace("\n\n\n", "\n\n") == prompt_text(env.position, "line")
        action = agents[player_id](observation)
        done, _ = env.step(action=action)
    rewards, game_info = env.close()
    print(f"The game of the example: {rewards}, {game_info}", flush=True)
    assert rewards == {0: 1, 1: -1} and game_info[0]["regret"] == [0] * game_info[0]["turn_count"]

    compare()
    never_loses()
    answers_nothing()
    player = PromptAgent("tictactoe-v0", Perfect(), board="line")  # ttt_env
    assert_unbeatable(player, ["textarena"])


if __name__ == "__main__":
    main()
