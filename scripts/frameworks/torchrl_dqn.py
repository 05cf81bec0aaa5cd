"""Masked DQN with TorchRL's collector, replay buffer and loss, over the vector environment.

Follows the example of TorchRL's own implementation of DQN,
https://github.com/pytorch/rl/blob/main/sota-implementations/dqn/dqn_cartpole.py

What differs: a batch of games stands in the place of one CartPole, wrapped by `GymWrapper`. TorchRL finds the
mask in `info["action_mask"]` and wants it as `bool`; its actor and its exploration are told that name. Of the
autoreset modes `GymWrapper` takes "same_step" and "disabled" (with observations that are dicts only the
latter, whatever environment of Gymnasium it is given). The opponent plays a random cell half of the time and
best play the other half, so it comes to every position, and the best reply to it never loses.

TorchRL's own check of environments is run on this one, on `GymEnv` of the registered id, and on the
environment of two players in `PettingZooWrapper`. There the trained network plays against itself in the end,
which between two players who do not lose is a draw.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "torchrl==0.14.1", "tensordict==0.14.3"]
# [tool.frameworks]
# teacher = "solver"
# ///

import torch
from outcome import GAME, MakeEnv, Report, assert_unbeatable, learned
from tensordict import TensorDict
from tensordict.nn import TensorDictSequential
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import (
    DTypeCastTransform,
    EnvBase,
    GymEnv,
    GymWrapper,
    MarlGroupMapType,
    PettingZooWrapper,
    RewardSum,
    check_env_specs,
)
from torchrl.modules import MLP, EGreedyModule, QValueActor
from torchrl.objectives import DQNLoss, SoftUpdate

import ttt_env  # ttt_env

FRAMES_PER_BATCH, BATCHES, UPDATES_PER_BATCH = 2048, 200, 8
OPPONENT = "epsilon:minimax,epsilon=0.5"  # ttt_env


def make_games(make_env: MakeEnv) -> EnvBase:
    """A batch of 128 games against the opponent, as TorchRL steps them."""
    how = {"observation": "flat", "autoreset_mode": "same_step"}  # ttt_env
    envs = make_env(num_envs=128, opponent=OPPONENT, **how)  # ttt_env
    env = GymWrapper(envs)  # ttt_env
    env.append_transform(DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))  # ttt_env
    env.append_transform(RewardSum())
    return env


def self_play(network: torch.nn.Module) -> TensorDict:
    """A game of the network against itself, both players in one group as TorchRL steps them."""
    env = PettingZooWrapper(
        ttt_env.make("tictactoe-v0", observation="flat"),
        use_mask=True,
        group_map=MarlGroupMapType.ALL_IN_ONE_GROUP,
    )
    check_env_specs(env)
    players = QValueActor(
        network,
        in_keys=[("agents", "observation")],
        spec=env.full_action_spec_unbatched,
        action_key=("agents", "action"),
        action_value_key=("agents", "action_value"),
        chosen_action_value_key=("agents", "chosen_action_value"),
        action_mask_key=("agents", "action_mask"),
    )
    return env.rollout(9, players)


def train(make_env: MakeEnv, seed: int, report: Report) -> ttt_env.Agent:
    """The agent, trained until the report says that it is enough."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # so small a network gains nothing from a second one
    env, n = make_games(make_env), make_env.game.n_cells  # ttt_env
    env.set_seed(seed)

    network = MLP(in_features=2 * n, out_features=n, num_cells=[256, 256], activation_class=torch.nn.ReLU)
    spec = env.action_spec_unbatched
    actor = QValueActor(network, spec=spec, action_mask_key="action_mask")  # ttt_env
    explore = EGreedyModule(
        spec,
        eps_init=1.0,
        eps_end=0.2,
        annealing_num_steps=FRAMES_PER_BATCH * BATCHES // 4,
        action_mask_key="action_mask",  # ttt_env
    )
    collector = Collector(
        env,
        TensorDictSequential(actor, explore),
        frames_per_batch=FRAMES_PER_BATCH,
        total_frames=FRAMES_PER_BATCH * BATCHES,
        auto_register_policy_transforms=True,
    )
    replay_buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(100_000), batch_size=1024)
    loss_module = DQNLoss(actor, loss_function="smooth_l1", delay_value=True, double_dqn=True)
    loss_module.make_value_estimator(gamma=1.0)
    target_updater = SoftUpdate(loss_module, eps=0.98)
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, BATCHES)

    agent = ttt_env.make_agent(network, make_env.game, observation="flat")  # ttt_env
    for batch, data in enumerate(collector, start=1):
        replay_buffer.extend(data.reshape(-1))
        explore.step(data.numel())
        for _ in range(UPDATES_PER_BATCH):
            loss = loss_module(replay_buffer.sample())["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target_updater.step()
        scheduler.step()
        collector.update_policy_weights_()
        if batch % 20 == 0:
            reward = data["next", "episode_reward"][data["next", "done"]].mean().item()
            print(f"{batch * FRAMES_PER_BATCH:7,} moves: reward {reward:+.2f}")
            if report(agent):  # ttt_env
                break  # ttt_env
    collector.shutdown()
    return agent


def main() -> None:
    """Train the network, and compute what it is worth."""
    check_env_specs(GymEnv(f"ttt_env/{GAME.name}"))
    check_env_specs(make_games(MakeEnv()))
    agent = learned(train, seed=0)
    played = self_play(agent.network)
    assert len(played) == 9 and played["next", "done"][-1]
    assert not played["next", "agents", "reward"].any()
    assert_unbeatable(agent, ["torchrl", "tensordict"])


if __name__ == "__main__":
    main()
