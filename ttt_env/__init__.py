"""Tic-tac-toe and every positional game like it, as reinforcement-learning environments.

Environments
    make                a game for two players (PettingZoo) or against an opponent (Gymnasium)
    make_vec            a batch of games (Gymnasium's vector env)
    envs.sb3            a batch of games as a `VecEnv` of Stable-Baselines3: `make_vec_env`
    tictactoe_v0, …     PettingZoo's convention: `tictactoe_v0.env()`; also square_v0, mnk_v0, qubic_v0
    collect_episode     one episode of two agents, as each player's own transitions

Games
    get_game            a game by id, such as "tictactoe-v0" or "mnk-v0:m=4,n=4,k=3"
    Game                a game of your own: a shape and its winning sets (`runs`, `squares`)
    register_game       lets all that takes an id know a game of yours; `save_game`, `load_game` keep it
    game_names          the ids that there are
    Position, Boards    one position, or a batch of them; `random_position` draws one
    planes_of           positions as the arrays that the environments show
    GameRecord          a played game; text in and out

Agents
    make_agent          an agent from a spec such as "minimax", a function or a trained model
    network_agent       the agent that plays by a network of your own
    agent_names         the names that a spec may begin with
    Agent, BatchAgent   the classes to derive your own agents from
    Recorded            an agent that is asked once in each position, and plays by these answers
    Explanation         why an agent moves as it does: what `Agent.explain` returns, with its `CellNumbers`
    play_game           one game between two agents

Exact strength
    match               win, draw and loss of one agent against another, on both seats
    exploitability      what the best response gains against an agent
    best_response       that best response, as an agent
    certify             the proof that an agent is unbeatable, or the game that beats it
    certify_all         the same for many agents at once, as `exploitability_all` is
    tournament          many agents against each other: table, ratings
    solve               the value of every position of a game
    enumerate_positions the same for games of up to 21 cells, in files, and how many positions they have
    prove               the value of one position of a larger game, by search

Learning
    train               trains anything that can be trained: "q-learning", "alphazero", "dqn" and others

Modules to import
    training            `sweep` and `population`; `SelfPlay`, a callback for Stable-Baselines3
    agents.mcts.search  a Monte Carlo tree search to run step by step and to look into
    text                games as conversations, for language models: `TextEnv`, `text.players`
    datasets            positions, games and conversations with exact values, as files

Results are objects to print, save and load: `Match` with its two `Result`s, `Exploitability`, `Certificate`,
`Tournament`, `Solution`, `Enumeration`, `Proof`. Rows of `collect_episode` are `Transition`s. Errors are
subclasses of `TttEnvError` that name the bad input and what is allowed. `ttt --help` lists what the command
line does.
"""

from ttt_env.agent import Agent, BatchAgent, ForfeitError, agent_names, make_agent
from ttt_env.agent.explanation import CellNumbers, Explanation
from ttt_env.agents.learned.network import network_agent
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.enumeration import Enumeration, enumerate_positions
from ttt_env.analysis.evaluation import Exploitability, Match, Result, best_response, exploitability, match
from ttt_env.analysis.many import certify_all, exploitability_all
from ttt_env.analysis.play import play_game
from ttt_env.analysis.recorded import Recorded
from ttt_env.analysis.solution import Solution, solve
from ttt_env.envs import sb3 as _sb3
from ttt_env.envs.observation import planes_of
from ttt_env.envs.two_player import Transition, collect_episode
from ttt_env.errors import (
    CellError,
    EpisodeOrderError,
    GameError,
    GameLogError,
    GameTooLargeError,
    IllegalMoveError,
    ImpossiblePositionError,
    NotationError,
    NotJudgedError,
    ParameterError,
    PlayerError,
    PolicyError,
    PolicyFileError,
    ProofError,
    ResultFileError,
    TaskTimeoutError,
    TournamentFileError,
    TttEnvError,
    UnknownAgentError,
    UnknownGameError,
    UntrustedAnswersError,
    WorkerError,
)
from ttt_env.proofs.proof import Proof, prove
from ttt_env.registration import PettingZooModule, make, make_vec, register_envs
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import game_names, get_game, register_game, runs, squares
from ttt_env.rules.game import Game, Position, random_position
from ttt_env.rules.notation import GameRecord
from ttt_env.storage.game_file import load_game, save_game
from ttt_env.tournament import Tournament, tournament
from ttt_env.training.loop import train

__version__ = "0.1.0"

tictactoe_v0 = PettingZooModule("tictactoe-v0")
square_v0 = PettingZooModule("square-v0")
mnk_v0 = PettingZooModule("mnk-v0")
qubic_v0 = PettingZooModule("qubic-v0")

register_envs()
del _sb3  # imported so that ttt_env.envs.sb3 is there

__all__ = [
    "Agent",
    "BatchAgent",
    "Boards",
    "CellError",
    "CellNumbers",
    "Certificate",
    "Enumeration",
    "EpisodeOrderError",
    "Explanation",
    "Exploitability",
    "ForfeitError",
    "Game",
    "GameError",
    "GameLogError",
    "GameRecord",
    "GameTooLargeError",
    "IllegalMoveError",
    "ImpossiblePositionError",
    "Match",
    "NotJudgedError",
    "NotationError",
    "ParameterError",
    "PlayerError",
    "PolicyError",
    "PolicyFileError",
    "Position",
    "Proof",
    "ProofError",
    "Recorded",
    "Result",
    "ResultFileError",
    "Solution",
    "TaskTimeoutError",
    "Tournament",
    "TournamentFileError",
    "Transition",
    "TttEnvError",
    "UnknownAgentError",
    "UnknownGameError",
    "UntrustedAnswersError",
    "WorkerError",
    "agent_names",
    "best_response",
    "certify",
    "certify_all",
    "collect_episode",
    "enumerate_positions",
    "exploitability",
    "exploitability_all",
    "game_names",
    "get_game",
    "load_game",
    "make",
    "make_agent",
    "make_vec",
    "match",
    "mnk_v0",
    "network_agent",
    "planes_of",
    "play_game",
    "prove",
    "qubic_v0",
    "random_position",
    "register_game",
    "runs",
    "save_game",
    "solve",
    "square_v0",
    "squares",
    "tictactoe_v0",
    "tournament",
    "train",
]
