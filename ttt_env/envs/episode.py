"""A whole episode of the two-player environment, sorted by player."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ttt_env.agent import AgentLike, make_agent
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.errors import ParameterError
from ttt_env.rules.game import SEATS, Seat


class Transition(NamedTuple):
    """What one player saw, did, got for it, and saw when it was next asked (or when the game was over).

    `reward` is all that the player got between the two observations: a loss by the other's reply is here.
    """

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool


def collect_episode(
    env: TwoPlayerEnv, agents: Mapping[Seat, AgentLike], seed: int | None = None
) -> dict[Seat, list[Transition]]:
    """Play one episode, reset included, and return each player's own transitions.

    The agents see `env.position` and draw from `env.np_random`, so `seed` decides the episode.

    This is what the loop of PettingZoo leaves to its user: `last()` gives the reward of the move
    *before* together with the observation for the move to come.
    """
    if set(agents) != set(SEATS):
        raise ParameterError(f"agents for {sorted(map(str, agents))}: one for X and one for O are needed")
    players = {seat: make_agent(agents[seat], env.game) for seat in SEATS}
    rows: dict[Seat, list[Transition]] = {seat: [] for seat in SEATS}
    pending: dict[Seat, tuple[Any, int]] = {}
    env.reset(seed=seed)
    for seat in env.agent_iter():
        observation, reward, terminated, _, _ = env.last()
        if seat in pending:
            rows[seat].append(Transition(*pending[seat], reward, observation, terminated))
        action = None if terminated else players[seat].choose(env.position, env.np_random)
        if action is not None:
            pending[seat] = (observation, action)
        env.step(action)
    return rows
