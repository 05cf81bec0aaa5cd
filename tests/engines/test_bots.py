"""Bots over standard input: what they are asked, and how they play in matches, tournaments and envs."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support import hostile_bots
from tests.support.faults import end
from tests.support.games import TICTACTOE
from tests.support.hostile_bots import HOSTILE
from tests.support.marks import slow
from tests.support.refusals import all_raise
from ttt_env import Position, errors
from ttt_env.agent import Forfeit, make_agent
from ttt_env.analysis.layers import reachable
from ttt_env.text.protocol import Question, read_question

ONLY_LINUX = {"kills its parent"}  # elsewhere nobody ends who has killed his keeper


FAILS_UNLESS_X_HAS_THE_LAST_CELL = """\
while read -r line; do
    case $line in
    *X\\",*) cells=${line#*legal*[}; echo "{\\"cell\\": ${cells%%,*}}" ;;
    *) echo lost >&2; exit 1 ;;
    esac
done
"""


def spec(name: str, pids: Path, parameters: str = "") -> str:
    return f"process:({sys.executable} -I -S '{hostile_bots.__file__}' '{name}' '{pids}'){parameters}"


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    path = tmp_path / "pids"
    path.touch()
    return path


class TestQuestions:
    @pytest.mark.parametrize(
        ("name", "plies"),
        [("tictactoe-v0", 6), ("tictactoe-v0:misere=true", 4), ("mnk-v0:m=4,n=3,k=3", 4)],
    )
    def test_are_read_as_they_are_asked(self, name: str, plies: int) -> None:
        game = ttt_env.get_game(name)
        for layer in reachable(game)[:plies]:
            for position in layer.boards(layer.open):
                question = Question(position, 1.5)
                assert read_question(question.line) == question
                assert question.line.isascii() and "\n" not in question.line

    def test_of_a_game_of_ones_own(self) -> None:
        game = ttt_env.Game("my game", (2, 2), [(0, 1), (2, 3)])
        question = Question(game.start.play(3))
        assert read_question(question.line, game) == question
        with pytest.raises(errors.UnknownGameError):
            read_question(question.line)

    def test_bad_ones(self) -> None:
        start = '"position": ".../.../..."'
        for error, lines in {
            errors.NotationError: ["", "XO./.X./..O", "[]", "{}", "[" * 5000, "\0", '{"position": 4}',
                            '{"position": "X../..."}'],
            errors.ImpossiblePositionError: ['{"position": "XX./.../..."}', '{"position": "XXX/OO./..."}'],
            errors.UnknownGameError: [f'{{{start}, "game": "chess"}}'],
            errors.ParameterError: [f'{{{start}, "seconds": -1}}', f'{{{start}, "seconds": "1"}}'],
        }.items():  # fmt: skip
            all_raise(error, "", read_question, lines)


class TestSpecs:
    def test_parameters_and_commas(self, tmp_path: Path) -> None:
        agent: Any = make_agent(f"process:sh -c 'echo 1,2',timeout=3,folder={tmp_path},memory=99,startup=9")
        assert agent.arguments == ("sh", "-c", "echo 1,2")
        assert (agent.timeout, agent.folder, agent.memory, agent.startup) == (3.0, tmp_path, 99, 9.0)
        assert ttt_env.agent.name_of(agent) == "process"
        in_brackets: Any = make_agent("process:(sh -c 'a,timeout=5'),timeout=7")
        assert in_brackets.arguments == ("sh", "-c", "a,timeout=5") and in_brackets.timeout == 7

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("process", "process needs command"),
            ("process:no-such-program", "no program 'no-such-program'"),
            ("process:sh,timout=3", "did you mean timeout"),
            ("process:sh,timeout=soon", "timeout='soon'"),
            ("process:sh 'x", "No closing quotation"),
        ],
    )
    def test_bad_ones(self, text: str, words: str) -> None:
        with pytest.raises(errors.ParameterError, match=words):
            make_agent(text)


class TestForfeits:
    def test_in_a_match(self, pids: Path) -> None:
        played = ttt_env.match(spec("crashes later", pids), "minimax", games=2)
        assert played.as_x == played.as_o == (0, 0, 1) and not played.exact
        ((lost,), of_second) = played.forfeits
        assert (lost.outcome, lost.games, of_second) == ("crashed", 2, ())
        assert "IndexError: list index out of range" in lost.said
        assert (
            f"The first agent lost 2 games by naming no free cell: crashed (first in {lost.position}: "
            in str(played)
        )
        assert ttt_env.Match.from_dict(played.to_dict()) == played
        assert end(pids.read_text())

    def test_of_the_second_agent(self, pids: Path) -> None:
        played = ttt_env.match("minimax", spec("says no cell", pids), games=2)
        assert played.score == 1 and played.forfeits[0] == ()
        assert [(lost.outcome, lost.games) for lost in played.forfeits[1]] == [("no cell", 2)]

    def test_in_a_single_game(self, pids: Path) -> None:
        with pytest.raises(errors.ForfeitError, match="names no cell") as caught:
            ttt_env.play_game("random", spec("says a number", pids), rng=0)
        assert caught.value.forfeit.outcome == "unreadable" and caught.value.forfeit.position.ply == 1
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value) and again.forfeit == caught.value.forfeit

    def test_certified_as_it_answers(self, pids: Path) -> None:
        certificate = ttt_env.certify(spec("says another key", pids))
        assert not certificate.unbeatable and certificate.source == "recorded"
        assert certificate.asked == 10 and {each.outcome for each in certificate.forfeits} == {"unreadable"}


class TestEnvironments:
    def test_the_user_wins(self, pids: Path) -> None:
        rewards = {"win": 3.0}
        env = ttt_env.make(
            TICTACTOE.name, opponent=spec("repeats its move", pids), play_as="X", rewards=rewards
        )
        for _ in range(2):
            env.reset(seed=0)
            _, reward, over, _, info = env.step(8)
            assert (reward, over) == (0.0, False)
            observation, reward, over, _, info = env.step(7)
            assert (reward, over, info["winner"], info["seat"]) == (3.0, True, 0, 0)
            position = Position.parse("O../.../.XX", TICTACTOE)
            assert info["forfeit"] is True
            assert env.unwrapped.forfeit == Forfeit(position, "taken", '{"cell": 0}')
            assert info["action_mask"].all() and np.array_equal(observation[..., 0].ravel(), [0] * 7 + [1, 1])
            assert env.unwrapped.position == position
            with pytest.raises(ttt_env.errors.EpisodeOrderError):
                env.step(6)

    def test_who_cannot_begin_is_an_error_and_nothing_changes(self, pids: Path) -> None:
        env = ttt_env.make(TICTACTOE.name, opponent=spec("says no JSON", pids), play_as="X")
        env.reset(seed=0)
        with pytest.raises(errors.ForfeitError, match="unreadable"):
            env.reset(options={"play_as": "O"})
        assert env.step(4)[1] == 1.0

    @pytest.mark.parametrize(
        ("game", "autoreset"),
        [(TICTACTOE.name, "next_step"), (TICTACTOE.name, "disabled"), ("mnk-v0:m=4,n=4,k=4", "same_step"),
         slow(TICTACTOE.name, "same_step"), slow("mnk-v0:m=4,n=4,k=4", "next_step"),
         slow("mnk-v0:m=4,n=4,k=4", "disabled")],
    )  # fmt: skip
    def test_vector_is_as_single(self, game: str, autoreset: Any, tmp_path: Path) -> None:
        """The bot fails, wherever it is asked, unless X has the last cell."""
        (tmp_path / "bot.sh").write_text(FAILS_UNLESS_X_HAS_THE_LAST_CELL)
        settings: dict[str, Any] = {"opponent": f"process:sh bot.sh,folder={tmp_path}", "play_as": "X"}
        settings["rewards"] = {"win": 3.0}
        envs = ttt_env.make_vec(game, num_envs=3, autoreset_mode=autoreset, **settings)
        env = ttt_env.make(game, **settings)
        last = env.unwrapped.game.n_cells - 1
        envs.reset(seed=0)
        observations, rewards, over, _, info = envs.step([last, 4, 5])
        told = info["final_info"] if autoreset == "same_step" else info
        assert rewards.tolist() == [0.0, 3.0, 3.0] and over.tolist() == [False, True, True]
        assert told["winner"].tolist() == [-1, 0, 0] and told["_forfeit"].tolist() == [False, True, True]
        for index, cell in enumerate([last, 4, 5]):
            env.reset(seed=0)
            observation, reward, is_over, _, alone = env.step(cell)
            assert (reward, is_over) == (rewards[index], over[index])
            assert told["forfeit"][index] == alone.get("forfeit", False)
            assert envs.forfeits.get(index) == env.unwrapped.forfeit
            final = autoreset == "same_step" and is_over
            seen = info["final_obs"][index] if final else observations[index]
            assert np.array_equal(seen, observation)
        assert envs.forfeits[2].outcome == "crashed" and envs.forfeits[2].said == "exit status 1: lost"
        env.reset(seed=0)
        assert env.unwrapped.forfeit is None
        if autoreset == "next_step":
            assert "forfeit" not in envs.step([3, 3, 3])[4] and not envs.forfeits
        envs.reset()
        assert not envs.forfeits

    def test_of_stable_baselines3(self, pids: Path) -> None:
        pytest.importorskip("stable_baselines3")
        opponent = spec("repeats its move", pids)
        envs = ttt_env.envs.sb3.make_vec_env(TICTACTOE.name, n_envs=1, opponent=opponent, play_as="X")
        envs.reset()
        assert not envs.step(np.array([8]))[2].any()
        _, rewards, over, infos = envs.step(np.array([7]))
        assert rewards.tolist() == [1.0] and over.all() and infos[0]["episode"]["r"] == 1.0


@pytest.mark.slow
def test_a_tournament_in_several_processes(pids: Path) -> None:
    names = {"honest": "honest", "crashing": "crashes later", "wrong": "says no cell"}
    entrants = {name: spec(bot, pids) for name, bot in names.items()}
    table = ttt_env.tournament(entrants, max_games=4, workers=2)
    assert table.ranking == ["honest", "crashing", "wrong"]
    assert [(lost.outcome, lost.games) for lost in table.forfeits["wrong"]] == [("no cell", 8)]
    assert table.matches["crashing", "wrong"].score == 1  # which fails in an earlier move, as X and as O
    assert "crashing lost 4 games by naming no free cell: crashed (first in " in str(table)
    assert "IndexError: list index out of range" in str(table)
    again = ttt_env.Tournament.from_dict(table.to_dict())
    assert again.forfeits == table.forfeits and "honest" not in again.forfeits
    assert end(pids.read_text())


# One for each way to end a program and to mistrust it; by lines that are read, and by crashes, bots lose in
# `test_players.py`, and others in `test_tournament_file.py`.
FAST = {"kills its parent", "floods errors", "floods after its move", "says two lines of the same",
        "says goodbye", "drips", "echoes a wrong id", "closes output", "ignores signals",
        "forks and hangs", "greets"}  # fmt: skip


@pytest.mark.parametrize("name", [name if name in FAST else slow(name) for name in HOSTILE])
def test_a_hostile_bot_loses_by_its_reason(name: str, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "closes output":  # and never ends, for which it is given time
        monkeypatch.setattr("ttt_env.text.players.process._GRACE", 0.05)
    if name in ONLY_LINUX and sys.platform != "linux":
        pytest.skip("only Linux ends who has killed his keeper")
    fault = HOSTILE[name]
    bot = spec(name, pids, fault.parameters)
    if not fault.outcomes:  # no game counts
        with pytest.raises(errors.UntrustedAnswersError, match="line too many"):
            ttt_env.match(bot, "minimax", games=2)
        assert end(pids.read_text())
        return
    played = ttt_env.match(bot, "minimax", games=2)
    assert played.as_x == played.as_o == (0, 0, 1)
    (lost,) = played.forfeits[0]
    assert lost.outcome in fault.outcomes.split(",") and lost.games == 2
    assert end(pids.read_text())
