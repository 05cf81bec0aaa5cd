"""A learner that sees no difference between Shimmy's tic-tac-toe of OpenSpiel and ours.

Follows https://shimmy.farama.org/environments/open_spiel/

Shimmy makes a PettingZoo environment of a game of OpenSpiel. A thousand random games are played in both
environments with the same moves: after each move the agents, their turns, rewards, ends, legal moves and
boards are the same. Then a tabular Q-learner, which knows nothing but PettingZoo's interface, plays itself
with the same random numbers in both and learns the same table to the last bit. In the faster environment,
ours, it goes on until the exact certificate says that nobody beats it, at most for 300,000 episodes.

What differs: our environment, whose agents are named as Shimmy's, and a function that gives its boards as
bytes. Shimmy has no learner of its own. Where it leaves PettingZoo's rules, it is not followed: at the end
of a game it keeps the observation before the last move, gives the reward of the last agent twice, and calls
a full board truncated as well as terminated. So the learner reads the last rewards from `env.rewards`.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "shimmy==2.0.1", "open-spiel==2.0.2"]
# ///

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from outcome import assert_unbeatable, is_unbeatable
from pettingzoo import AECEnv
from shimmy import OpenSpielCompatibilityV0

import ttt_env  # ttt_env

GAMES = 1_000
EPISODES = 300_000
EVERY = 20_000
AGENTS = ("player_0", "player_1")
Table = dict[tuple[bytes, int], float]
View = Callable[[Any, str], bytes]


def view_of_shimmy(observation: np.ndarray, agent: str) -> bytes:
    """The stones of the agent and of the other, of OpenSpiel's planes of no stone, O and X."""
    _, o, x = observation.reshape(3, 3, 3).astype(np.int8)
    return np.stack([x, o] if agent == AGENTS[0] else [o, x], axis=-1).tobytes()


def view(observation: dict[str, np.ndarray], agent: str) -> bytes:  # ttt_env
    """The stones of the agent and of the other."""
    return observation["observation"].tobytes()  # ttt_env


def compare(shimmy: AECEnv, env: AECEnv, rng: np.random.Generator) -> None:
    """Both environments say the same in a random game."""
    shimmy.reset()
    env.reset()
    while True:
        agent = env.agent_selection
        assert shimmy.agent_selection == agent
        assert view_of_shimmy(shimmy.observe(agent), agent) == view(env.observe(agent), agent)
        masks = [each.infos[agent]["action_mask"] for each in (shimmy, env)]
        assert np.array_equal(*masks)
        action = int(rng.choice(np.flatnonzero(masks[0])))
        shimmy.step(action)
        env.step(action)
        assert shimmy.agents == env.agents
        assert shimmy.rewards == env.rewards and shimmy.terminations == env.terminations
        if env.terminations[agent]:
            return


def learn(env: AECEnv, q: Table, view: View, rng: np.random.Generator, episodes: int) -> None:
    """Q-learning by playing oneself: half of the moves are random, the step size is 0.2."""
    for _ in range(episodes):
        env.reset()
        before: dict[str, tuple[bytes, int]] = {}
        over = False
        while not over:
            agent = env.agent_selection
            observation, _, _, _, info = env.last()
            board, legal = view(observation, agent), np.flatnonzero(info["action_mask"]).tolist()
            values = [q[board, action] for action in legal]
            best = max(values)
            if agent in before:
                q[before[agent]] += 0.2 * (best - q[before[agent]])
            random = rng.random() < 0.5
            action = legal[int(rng.random() * len(legal))] if random else legal[values.index(best)]
            env.step(action)
            before[agent] = board, action
            over = env.terminations[agent]
        for agent in before:
            q[before[agent]] += 0.2 * (env.rewards[agent] - q[before[agent]])


def main() -> None:
    """Compare, train, and say what was learned."""
    shimmy = OpenSpielCompatibilityV0(game_name="tic_tac_toe")
    env = ttt_env.make("tictactoe-v0", agent_names=AGENTS)  # ttt_env
    rng = np.random.default_rng(0)
    for _ in range(GAMES):
        compare(shimmy, env, rng)
    print(f"{GAMES:,} random games are the same in both environments", flush=True)

    tables: list[Table] = []
    seconds: list[float] = []
    for each, board_of in ((shimmy, view_of_shimmy), (env, view)):
        q: Table = defaultdict(float)
        rng = np.random.default_rng(0)
        started = perf_counter()
        learn(each, q, board_of, rng, GAMES)
        seconds.append(perf_counter() - started)
        tables.append(q)
    assert tables[0] == tables[1]
    print(
        f"The learner learns the same in both, in ours {seconds[0] / seconds[1]:.1f} times as fast",
        flush=True,
    )

    def scores(planes: np.ndarray) -> list[list[float]]:  # ttt_env
        return [[q[board.tobytes(), cell] for cell in range(9)] for board in planes]  # ttt_env

    agent = ttt_env.make_agent(scores, "tictactoe-v0", observation="planes")  # ttt_env
    for episode in range(EVERY, EPISODES + 1, EVERY):
        learn(env, q, view, rng, EVERY)
        if is_unbeatable(agent, f"{episode:,} episodes"):
            break
    assert_unbeatable(agent, ["shimmy", "open-spiel"])


if __name__ == "__main__":
    main()
