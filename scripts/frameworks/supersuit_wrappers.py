"""SuperSuit's wrappers and vector environments around our environments, with SB3's DQN learning inside.

Follows https://github.com/Farama-Foundation/SuperSuit (its wrappers, and `stable_baselines3_vec_env_v0`)
and for the learner https://stable-baselines3.readthedocs.io/en/master/modules/dqn.html

The wrappers of SuperSuit go around the two-player environment as around any of PettingZoo's: with
`observation="planes"`, because they flatten, stack and convert boxes and no dictionaries; the mask stays in
the infos. Then SuperSuit makes a vector environment of 64 copies of the single-agent one, in which DQN
learns, and learns of illegal moves by losing. What differs from the examples: the environments; that nine
in ten games begin at a random position; and that after each round the best response to what was learned so
far joins the opponents. The training ends when the exact certificate says that nobody beats the policy, at
most after 20 rounds.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[train]", "supersuit==3.11.0", "stable-baselines3==2.9.2"]
# ///

from collections import deque

import numpy as np
import supersuit
import torch
from outcome import assert_unbeatable, is_unbeatable
from stable_baselines3 import DQN

import ttt_env  # ttt_env
from ttt_env.training import RandomStarts  # ttt_env

ROUNDS = 20
STEPS = 8_192


def compare(games: int = 200) -> None:
    """SuperSuit's wrappers show what the two-player environment itself shows, converted."""
    plain = ttt_env.make("tictactoe-v0", observation="planes")
    env = ttt_env.make("tictactoe-v0", observation="planes")  # ttt_env
    env = supersuit.dtype_v0(supersuit.flatten_v0(supersuit.frame_stack_v1(env, 2)), np.float32)
    rng = np.random.default_rng(0)
    for _ in range(games):
        plain.reset()
        env.reset()
        before = {agent: np.zeros((3, 3, 2)) for agent in plain.possible_agents}
        for agent in env.agent_iter():
            seen, *signals, info = env.last()
            planes, *signals_of_plain, info_of_plain = plain.last()
            if not signals[1]:
                stacked = np.concatenate([before[agent], planes], axis=-1).ravel()
                assert seen.dtype == np.float32 and np.array_equal(seen, stacked)
            before[agent] = planes
            assert signals == signals_of_plain
            assert np.array_equal(info["action_mask"], info_of_plain["action_mask"])
            cells = np.flatnonzero(info["action_mask"])
            cell = None if signals[1] else int(rng.choice(cells))
            env.step(cell)
            plain.step(cell)


def main() -> None:
    """Compare, train, and say what was learned."""
    compare()
    print("SuperSuit shows what the environment shows", flush=True)

    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    scripted, responses = ["random", "minimax"], deque(maxlen=4)
    start = RandomStarts("tictactoe-v0", 0.9)  # ttt_env
    env = ttt_env.make("tictactoe-v0", opponent=scripted, start=start)  # ttt_env
    env = supersuit.dtype_v0(supersuit.flatten_v0(env), np.float32)
    envs = supersuit.stable_baselines3_vec_env_v0(env, 64)
    model = DQN(
        "MlpPolicy",
        envs,
        buffer_size=100_000,
        learning_starts=4096,
        batch_size=512,
        train_freq=4,
        gradient_steps=8,
        learning_rate=5e-4,
        gamma=1.0,
        target_update_interval=4096,
        exploration_initial_eps=0.2,
        exploration_final_eps=0.2,
        policy_kwargs={"net_arch": [256, 256]},
        seed=0,
        device="cpu",
    )
    for number in range(1, ROUNDS + 1):
        model.learn(STEPS, reset_num_timesteps=False)
        agent = ttt_env.make_agent(model)  # ttt_env
        if is_unbeatable(agent, f"{number * STEPS:,} steps"):
            break
        responses.append(ttt_env.best_response(agent))  # ttt_env
        envs.env_method("set_opponent", [*scripted, *responses])  # ttt_env
    assert_unbeatable(agent, ["supersuit", "stable-baselines3"])


if __name__ == "__main__":
    main()
