"""Tic-tac-toe and every positional game like it, as reinforcement-learning environments.

Environments
    make                a game for two players (PettingZoo) or against an opponent (Gymnasium)
    make_vec            a batch of games (Gymnasium's vector env)
    envs.sb3            a batch of games as a `VecEnv` of Stable-Baselines3: `make_vec_env`
    tictactoe_v0, …     PettingZoo's convention: `tictactoe_v0.env()`; also square_v0, mnk_v0, qubic_v0,
                        connect_four_v0, score_four_v0
    collect_episode     one episode of two agents, as each player's own transitions

Games
    get_game            a game by id, such as "tictactoe-v0" or "mnk-v0:m=4,n=4,k=3"
    Game                a game of your own: a shape and its winning sets (`Game.runs`, `Game.squares`)
    register_game       makes a game of yours known by its id
    game_names          the ids of all games
    Position, Boards    one position, or a batch of them; `random_position` draws one
    GameRecord          a played game; text in and out

Agents
    make_agent          an agent from a spec such as "minimax", a function, a network or a trained model
    agent_names         the names that a spec may begin with
    Agent               the class to derive your own agents from
    PolicyTable         the answers of an agent, each given once: what exact results are about
    Explanation         the reasons of an agent for its moves, as `Agent.explain` returns them
    play_game           one game between two agents

Exact strength
    match               win, draw and loss of one agent against another, on both seats
    exploitability      what the best response gains against an agent
    best_response       that best response, as an agent
    certify             the proof that an agent is unbeatable, or the game that beats it
    tournament          many agents against each other: table, ratings
    solve               the value of every position of a game
    prove               the value of one position of a larger game, by search

Learning
    train               trains anything that can be trained: "q-learning", "alphazero", "dqn" and others

Modules to import
    training            `SelfPlayCallback`, a callback for Stable-Baselines3, and its opponents
    agents.mcts.search  a Monte Carlo tree search to run step by step and to look into
    text                games as conversations, for language models: `TextEnv`
    bots                programs, and models behind an endpoint, as players
    datasets            positions and games with exact values, as files

The core is `rules`, `compiled`, `storage`, `render`, `workers`, `agent`, `analysis`, `envs`, `agents`,
`training`, `tournament`, `web` and `app`, each importing only those before it. `proofs`, `alphazero`, `text`,
`bots`, `datasets` and `integrations` are wings, which the core does not import.

Results are objects to print, save and load: `Match` with its two `Result`s, `Exploitability`, `Certificate`,
`Tournament`, `Solution`, `Proof`. Rows of `collect_episode` are `Transition`s. Errors are
subclasses of `TttEnvError`, in `ttt_env.errors`, that name the bad input and what is allowed. `ttt --help`
lists the commands of the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ttt_env.agent import Agent, agent_names, make_agent
from ttt_env.agent.explanation import Explanation
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import best_response, exploitability, match
from ttt_env.analysis.play import play_game
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.results import Exploitability, Match, Result
from ttt_env.analysis.solution import Solution, solve
from ttt_env.envs import sb3 as _sb3
from ttt_env.envs.registration import PettingZooModule, make, make_vec, register_envs
from ttt_env.envs.two_player import Transition, collect_episode
from ttt_env.errors import IllegalMoveError, TttEnvError
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import game_names, get_game, register_game
from ttt_env.rules.game import Game, Position, random_position
from ttt_env.rules.notation import GameRecord
from ttt_env.tournament import Tournament, tournament
from ttt_env.training.loop import train

if TYPE_CHECKING:
    from ttt_env.proofs.proof import Proof, prove

__version__ = "0.1.0"

tictactoe_v0 = PettingZooModule("tictactoe-v0")
square_v0 = PettingZooModule("square-v0")
mnk_v0 = PettingZooModule("mnk-v0")
qubic_v0 = PettingZooModule("qubic-v0")
connect_four_v0 = PettingZooModule("connect-four-v0")
score_four_v0 = PettingZooModule("score-four-v0")

register_envs()
del _sb3  # imported so that ttt_env.envs.sb3 is there

__all__ = [
    "Agent",
    "Boards",
    "Certificate",
    "Explanation",
    "Exploitability",
    "Game",
    "GameRecord",
    "IllegalMoveError",
    "Match",
    "PolicyTable",
    "Position",
    "Proof",
    "Result",
    "Solution",
    "Tournament",
    "Transition",
    "TttEnvError",
    "agent_names",
    "best_response",
    "certify",
    "collect_episode",
    "connect_four_v0",
    "exploitability",
    "game_names",
    "get_game",
    "make",
    "make_agent",
    "make_vec",
    "match",
    "mnk_v0",
    "play_game",
    "prove",
    "qubic_v0",
    "random_position",
    "register_game",
    "score_four_v0",
    "solve",
    "square_v0",
    "tictactoe_v0",
    "tournament",
    "train",
]


def __getattr__(name: str) -> object:
    """The names of a wing, which is imported when one of them is first asked for."""
    if name in ("Proof", "prove"):
        return getattr(import_module("ttt_env.proofs.proof"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__doc__", "__version__", "envs", "errors"]
