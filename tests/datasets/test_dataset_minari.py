"""Minari loads its data sets, plays them again, and has exact reference scores."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import minari
import numpy as np
import pytest

import ttt_env
from ttt_env.datasets.minari_sets import OPPONENT, reference_scores, write_minari
from ttt_env.datasets.players import Level
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError, UnknownGameError

LEVELS: list[Level] = list(get_args(Level))
EPISODES = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the data sets of all levels, in which Minari looks for them."""
    folder = tmp_path_factory.mktemp("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        for level in LEVELS:
            assert write_minari(folder, level=level, episodes=EPISODES) == f"ttt_env/tictactoe-v0/{level}-v0"
        yield folder


def loaded(level: Level) -> Any:
    return minari.load_dataset(f"ttt_env/tictactoe-v0/{level}-v0")


def metadata_of(dataset: Any) -> list[dict[str, Any]]:
    return list(dataset.storage.get_episode_metadata(range(dataset.total_episodes)))


class TestLoaded:
    def test_minari_finds_all_and_nothing_else(self, folder: Path) -> None:
        assert list(minari.list_local_datasets()) == [
            f"ttt_env/tictactoe-v0/{level}-v0" for level in sorted(LEVELS)
        ]
        assert [path.name for path in folder.iterdir()] == ["ttt_env"]

    @pytest.mark.parametrize("level", LEVELS)
    def test_episodes_are_played_again_in_the_recovered_environment(self, folder: Path, level: Level) -> None:
        dataset = loaded(level)
        env = dataset.recover_environment()
        assert env.unwrapped.game.name == "tictactoe-v0" and len(dataset) == EPISODES
        assert dataset.observation_space == env.observation_space
        assert dataset.action_space == env.action_space
        for episode, metadata in zip(dataset, metadata_of(dataset), strict=True):
            player = ttt_env.make_agent(metadata["player"])
            observation, info = env.reset(seed=metadata["seed"])
            observations, masks, rewards, ends = [observation], [info["action_mask"]], [], []
            for cell in episode.actions:
                assert player.policy(env.unwrapped.position)[cell] > 0
                observation, reward, terminated, truncated, info = env.step(cell)
                observations.append(observation)
                masks.append(info["action_mask"])
                rewards.append(reward)
                ends.append(terminated)
                assert not truncated
            assert np.array_equal(episode.observations, observations)
            assert np.array_equal(episode.infos["action_mask"], masks)
            assert np.array_equal(episode.rewards, rewards)
            assert np.array_equal(episode.terminations, ends) and ends[-1] and not episode.truncations.any()

    def test_levels_have_the_players_that_they_name(self, folder: Path) -> None:
        for level in LEVELS:
            dataset = loaded(level)
            named = dataset.storage.metadata["algorithm_name"].split(", ")
            assert {metadata["player"] for metadata in metadata_of(dataset)} == set(named)
        assert min(episode.rewards.sum() for episode in loaded("expert")) >= 0

    def test_scores_are_normalised_by_exact_ones(self, folder: Path) -> None:
        low, high = reference_scores(OPPONENT)
        for level in LEVELS:
            assert minari.get_normalized_score(loaded(level), np.array([low, high])).tolist() == [0, 1]


@pytest.mark.parametrize("opponent", ["random", "minimax", OPPONENT])
@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=4,n=2,k=2"])
def test_reference_scores_are_those_of_matches(opponent: str, game: str) -> None:
    low, high = reference_scores(opponent, game)
    best = ttt_env.best_response(opponent, game)
    assert low == ttt_env.match("random", opponent, game).score
    assert high == pytest.approx(ttt_env.match(best, opponent, game).score, abs=1e-13)


class TestWriting:
    def test_the_same_seed_gives_the_same_bytes(self, folder: Path, tmp_path: Path) -> None:
        again, other = tmp_path / "again", tmp_path / "other"
        for root, seed in ((again, 0), (other, 1)):
            write_minari(root, level="mixed", episodes=EPISODES, seed=seed)
        for name in ("main_data.hdf5", "metadata.json"):
            files = [root / "ttt_env/tictactoe-v0/mixed-v0/data" / name for root in (folder, again, other)]
            first, same, different = (path.read_bytes() for path in files)
            assert first == same and (name == "metadata.json" or first != different)

    def test_a_longer_data_set_begins_with_a_shorter_one_and_replaces_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)  # folders are told from here
        game = "mnk-v0:m=4,n=2,k=2"

        def written(episodes: int) -> Any:
            name = write_minari("data", game, "novice", episodes, opponent="random")
            assert name == "ttt_env/mnk-v0-m-4-n-2-k-2/novice-v0"
            return minari.MinariDataset(tmp_path / "data" / name / "data")

        shorter = [episode.actions.tolist() for episode in written(3)]
        dataset = written(5)
        longer = [episode.actions.tolist() for episode in dataset]
        assert len(longer) == 5 and longer[:3] == shorter
        assert dataset.recover_environment().unwrapped.game == ttt_env.get_game(game)

    def test_a_full_disk_is_an_error_that_names_the_file(self, folder: Path, tmp_path: Path) -> None:
        script = """
from sys import argv
from tests.support.faults import files_of_at_most
from ttt_env.datasets import write_minari
write_minari(argv[1], episodes=5)
with files_of_at_most(10_000):
    try:
        write_minari(argv[1], episodes=50)
    except OSError as error:
        print(error)
"""
        run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
        data = tmp_path / "ttt_env/tictactoe-v0/expert-v0/data"
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.endswith(f"File too large: '{data / 'main_data.hdf5'}'\n")
        assert len(minari.MinariDataset(data)) == 5  # the old one

    @pytest.mark.parametrize(
        ("settings", "error", "text"),
        [
            ({"game": ttt_env.Game("own", (2, 2), [(0, 1)])}, UnknownGameError, "own"),
            ({"game": "qubic-v0"}, GameTooLargeError, "64 cells"),
            ({"level": "master"}, ParameterError, "master"),
            ({"episodes": 0}, ParameterError, "episodes=0"),
            ({"seed": -1}, ParameterError, "seed=-1"),
            ({"opponent": lambda position: position.legal_cells[0]}, ParameterError, "spec string"),
            ({"opponent": "minimax:seconds=1"}, PolicyError, "no fixed policy"),
            ({"folder": 5}, ParameterError, "folder=5"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_bad_values_are_named_and_nothing_is_written(
        self, settings: dict[str, Any], error: type[Exception], text: str, tmp_path: Path
    ) -> None:
        with pytest.raises(error, match=text):
            write_minari(**{"folder": tmp_path / "new", **settings})
        assert not (tmp_path / "new").exists()
