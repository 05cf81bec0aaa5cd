"""Data sets of Minari: episodes against an opponent, with exact reference scores."""

from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import AgentLike, chosen_cell, make_agent
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.saved import write_json
from ttt_env.datasets.players import Level, Player, drawn, numbers_of, players_of
from ttt_env.envs.registration import make
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.errors import ParameterError, PolicyError, UnknownGameError, extra_for, shown
from ttt_env.rules import Game, as_integer, as_path, get_game
from ttt_env.storage import as_file_name, write_atomically

OPPONENT = "epsilon:minimax,epsilon=0.2"
"""The opponent of the players unless another one is named: it punishes mistakes, and makes some itself."""


class ReferenceScores(NamedTuple):
    """The mean reward of an episode against an opponent: of random moves, and of the best reply to it."""

    random: float
    best: float


def reference_scores(opponent: AgentLike, game: Game | str = "tictactoe-v0") -> ReferenceScores:
    """The scores against an opponent, computed exactly, each the mean of both seats.

    Raises `PolicyError` for an opponent that declares no fixed policy, `GameTooLargeError` for a game of too
    many positions.

    >>> from ttt_env.datasets import reference_scores
    >>> reference_scores("random")
    ReferenceScores(random=0.0, best=0.959829695767195)
    """
    game = get_game(game)
    agent = make_agent(opponent, game)
    if not agent.is_fixed:
        raise PolicyError(f"{agent!r} declares no fixed policy, so that no score against it is exact")
    of_random = match("random", agent, game, exact=True).score
    return ReferenceScores(of_random, exploitability(agent, game).exploitability)


def write_minari(
    folder: str | Path,
    game: Game | str = "tictactoe-v0",
    level: Level = "expert",
    episodes: int = 1000,
    *,
    opponent: str = OPPONENT,
    seed: int = 0,
) -> str:
    """Write a data set of Minari below a folder and return its id, such as `ttt_env/tictactoe-v0/expert-v0`.

    A player of the level, drawn for each episode, meets the opponent in `make(game, opponent)`. With the
    folder as `MINARI_DATASETS_PATH`, `minari.load_dataset(id)` loads it, and its `recover_environment`
    makes the same environment again, in which each episode can be replayed by its seed and its actions.
    `infos` hold the masks, and the metadata of an episode its seed and its player. The reference scores are
    those of `reference_scores`. An existing data set of this id is replaced.

    The same seed gives the same episodes, and more episodes of it begin with these. They are held in memory,
    some kilobytes each, until the files are written.

    Needs the extra `data`. Raises `UnknownGameError` for a game that is not in the catalogue, by whose id the
    environment is made again; `ParameterError` for an opponent that is no spec string, and for other values
    that are not allowed; `PolicyError` and `GameTooLargeError` as `reference_scores`; and `OSError`, which
    names the file, if one cannot be written.

    >>> import tempfile
    >>> from ttt_env.datasets import write_minari
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_minari(folder, "tictactoe-v0", "expert", episodes=2)
    'ttt_env/tictactoe-v0/expert-v0'
    """
    folder, game = as_path("folder", folder, "a data set"), _of_catalogue(game)
    episodes = as_integer("episodes", episodes, "a data set", 1)
    seed = as_integer("seed", seed, "a data set", 0)
    if not isinstance(opponent, str):
        raise ParameterError(f"opponent={shown(opponent)} of a data set: a spec string is needed")
    players, scores = players_of(level, game), reference_scores(opponent, game)
    h5py, minari, as_text = import_minari()
    env = make(game.name, opponent)
    name = f"ttt_env/{as_file_name(game.name)}/{level}-v0"
    content, n_steps = BytesIO(), 0  # HDF5 crashes the process when a file of its own cannot be written
    with h5py.File(content, "w") as file:
        for number in range(episodes):
            rng = numbers_of(seed, level, number)
            player, seed_of_episode = drawn(players, rng), int(rng.random() * 2**32)
            group = file.create_group(f"episode_{number}")
            for part, values in _episode(env, player, seed_of_episode, rng).items():
                group[part] = values
            n_moves = len(group["actions"])
            group.attrs.update(id=number, seed=seed_of_episode, total_steps=n_moves, player=player.spec)
            n_steps += n_moves
    assert env.spec is not None
    metadata = {
        "dataset_id": name,
        "data_format": "hdf5",
        "minari_version": minari.__version__,
        "env_spec": env.spec.to_json(),
        "observation_space": as_text(env.observation_space),
        "action_space": as_text(env.action_space),
        "total_episodes": episodes,
        "total_steps": n_steps,
        "dataset_size": round(content.getbuffer().nbytes / 1e6, 1),  # in megabytes
        "algorithm_name": ", ".join(player.spec for player in players),
        "author": ["The ttt_env maintainers"],
        "description": f"{game.name}: {level} play against {opponent}, random moves and best replies "
        "to whom have the reference scores, computed exactly.",
        "ref_min_score": scores.random,
        "ref_max_score": scores.best,
        "requirements": ["ttt-env"],
    }
    data = folder / name / "data"
    write_atomically(data / "main_data.hdf5", lambda file: file.write(content.getbuffer()))
    write_json(metadata, data / "metadata.json")
    return name


def _of_catalogue(game: Game | str) -> Game:
    game = get_game(game)
    try:
        if get_game(game.name) == game:
            return game
    except UnknownGameError:
        pass
    raise UnknownGameError(f"{game!r} is not in the catalogue, so that no id makes its environment again")


def import_minari() -> tuple[Any, Any, Any]:
    """h5py, Minari, and its function that writes a space as text.

    Raises `ImportError` without the extra `data`.
    """
    with extra_for("data sets of Minari need", "data"):
        import h5py
        import minari
        from minari.serialization import serialize_space
    return h5py, minari, serialize_space


def _episode(
    env: SingleAgentEnv[Any], player: Player, seed: int, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """One episode as arrays, by the names that they have in Minari's files."""
    observation, info = env.reset(seed=seed)
    observations, masks = [observation], [info["action_mask"]]
    cells: list[int] = []
    rewards: list[float] = []
    terminated = False
    while not terminated:
        cells.append(chosen_cell(player.agent, env.position, rng))
        observation, reward, terminated, _, info = env.step(cells[-1])
        observations.append(observation)
        masks.append(info["action_mask"])
        rewards.append(reward)
    never = np.zeros(len(cells), np.bool_)
    ends = never.copy()
    ends[-1] = True
    return {
        "observations": np.array(observations),
        "actions": np.array(cells),
        "rewards": np.array(rewards),
        "terminations": ends,
        "truncations": never,
        "infos/action_mask": np.array(masks),
    }
