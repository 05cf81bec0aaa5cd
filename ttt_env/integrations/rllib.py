"""Games as environments of RLlib: both players as a `MultiAgentEnv`, a batch of games, and modules as agents.

    from ray.rllib.algorithms.ppo import PPOConfig
    from ttt_env.integrations.rllib import MultiAgentGameEnv, module_agent

    config = PPOConfig().environment(MultiAgentGameEnv, env_config={"game": "tictactoe-v0"})
    ...
    agent = module_agent(algorithm.get_module("both"), "tictactoe-v0")

Observations are what RLlib's action-masking modules read: the stones as floating-point numbers under
`observations`, the free cells under `action_mask`. scripts/frameworks/rllib_self_play.py trains with it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import TransformObservation

from ttt_env.agent import Agent, make_agent
from ttt_env.envs.observation import DictObservation, flat_of, observation_space
from ttt_env.envs.registration import make_vec
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.errors import extra_for
from ttt_env.rules import Game, get_game

with extra_for("RLlib's environments need", "rllib"):
    import torch
    from ray.rllib.env.multi_agent_env import MultiAgentEnv

__all__ = ["MaskedObservation", "MultiAgentGameEnv", "module_agent", "vector_env"]

MaskedObservation = dict[str, np.ndarray[Any, Any]]
"""`observations`, `float32[2 * cells]`, and `action_mask`, `int8[actions]`."""


def masked_space(game: Game) -> spaces.Dict:
    """The space of a `MaskedObservation` of this game."""
    n_actions = len(game.columns)
    mask = spaces.Box(0, 1, (n_actions,), np.int8)
    return spaces.Dict({"observations": observation_space(game, "flat", n_actions), "action_mask": mask})


class MultiAgentGameEnv(MultiAgentEnv):
    """Both players of a game, "X" and "O": one acts at a time, and at the end both get their rewards.

    `config` has the `game` and other arguments of `ttt_env.make` by name. Only the player to move has an
    observation, so the other one makes no step; a loss by the other's last move arrives with the last
    observation.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.env: TwoPlayerEnv[Any] = TwoPlayerEnv(**{**(config or {}), "observation": "flat"})
        self.agents = self.possible_agents = list(self.env.possible_agents)
        space = masked_space(self.env.game)
        self.observation_spaces: dict[str, Space[Any]] = dict.fromkeys(self.agents, space)
        self.action_spaces: dict[str, Space[Any]] = dict(self.env.action_spaces)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, Any]]:
        """Start a game, with the `options` of `TwoPlayerEnv.reset`."""
        self.env.reset(seed=seed, options=options)
        return self._observations_of(self.env.agent_selection), {}

    def step(
        self, action_dict: Mapping[str, int]
    ) -> tuple[
        dict[str, MaskedObservation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]
    ]:
        """Play the cell of the player to move; then the other one gets an observation, at the end both."""
        self.env.step(action_dict[self.env.agent_selection])
        mover = self.env.agent_selection
        is_over = self.env.terminations[mover]
        names = self.agents if is_over else [mover]
        rewards = {name: self.env.rewards[name] for name in names}
        return self._observations_of(*names), rewards, {"__all__": is_over}, {"__all__": False}, {}

    def _observations_of(self, *names: str) -> dict[str, MaskedObservation]:
        infos = self.env.infos
        return {
            name: {"observations": self.env.observe(name), "action_mask": infos[name]["action_mask"]}
            for name in names
        }


def vector_env(config: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
    """A batch of games against an opponent, for RLlib's `gym_env_vectorize_mode="vector_entry_point"`.

    `config` has the `game` and other arguments of `ttt_env.make_vec` by their names; RLlib sets `num_envs`.
    """
    settings = dict(config)
    envs = make_vec(settings.pop("game", "tictactoe-v0"), **settings, observation="dict")
    return TransformObservation(envs, _masked, single_observation_space=masked_space(envs.game))


def _masked(observation: DictObservation) -> MaskedObservation:
    return {"observations": flat_of(observation["observation"]), "action_mask": observation["action_mask"]}


def module_agent(module: Any, game: Game | str) -> Agent:
    """The agent that plays the likeliest cell of an `RLModule` trained in these environments."""
    game = get_game(game)

    def logits(flat: Any) -> Any:
        observation = {
            "observations": torch.as_tensor(flat),
            "action_mask": torch.ones(len(flat), len(game.columns)),
        }
        return module.forward_inference({"obs": observation})["action_dist_inputs"]

    return make_agent(logits, game, observation="flat")
