"""Games as conversations."""

import copy
import pickle
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.running import ttt
from ttt_env import Game, Position
from ttt_env.analysis.layers import reachable
from ttt_env.text import AnswerFormat, TextEnv, board_text, prompt_text, rules_text

COPIES: dict[str, Any] = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


def lowest(position: Position) -> int:
    """A function as an opponent, which can be pickled."""
    return position.legal_cells[0]


def started(**settings: Any) -> TextEnv:
    env = TextEnv(**{"opponent": lowest, "play_as": "X", "seed": 0, **settings})
    env.reset()
    return env


class TestTexts:
    def test_the_prompt_has_all_that_is_needed(self) -> None:
        prompt = TextEnv(opponent=lowest, play_as="O").reset(seed=0)
        assert rules_text(ttt_env.get_game("tictactoe-v0")) in prompt
        assert "You are O. X has played 0." in prompt
        assert board_text(Position.parse("X../.../...")) in prompt
        assert "Free cells: 1 2 3 4 5 6 7 8." in prompt and "in the form [1]" in prompt

    @pytest.mark.parametrize("style", ["grid", "coordinates", "line"])
    def test_the_prompt_of_a_position_is_that_of_an_episode_that_starts_there(self, style: Any) -> None:
        env = TextEnv(opponent=lowest, board=style, answer="<{cell}>")
        for position in some_positions():
            prompt = env.reset(position=position, play_as=position.to_move)
            assert prompt == prompt_text(position, style, "<{cell}>")
        assert not any(line.endswith(" ") for line in prompt.split("\n"))

    def test_what_happens_is_told(self) -> None:
        env = started()
        assert env.move(4).startswith(
            "You have played 4. O has played 0.\n\n O | 1 | 2\n---+---+---\n 3 | X | 5\n"
        )
        env.move(2)
        text = env.move(6)
        assert text.startswith("You have played 6.\n\n") and text.endswith("X has won, and you have won.")

    @pytest.mark.parametrize(
        ("game", "words"),
        [
            ("tictactoe-v0", "3 cells in a row, horizontally, vertically or diagonally, wins"),
            ("tictactoe-v0:misere", "3 cells in a row, horizontally, vertically or diagonally, loses"),
            ("square-v0", "the four corners of a square of any size, also of a tilted one, wins"),
            ("mnk-v0:m=5,n=4,k=4", "The board has 4 rows and 5 columns"),
            ("qubic-v0", "4 layers, 4 rows and 4 columns"),
            (Game("corners", (2, 2), [(0, 3), (1, 2)]), "all cells of one of these sets: 0 3; 1 2, wins"),
            (Game("pairs", (15,), [(a, b) for b in range(15) for a in range(b)]), "and 65 more like these"),
        ],
        ids=str,
    )
    def test_rules_are_worded_from_the_data(self, game: Game | str, words: str) -> None:
        assert words in rules_text(ttt_env.get_game(game)).replace("\n", " ")

    @pytest.mark.parametrize("style", ["grid", "coordinates", "line"])
    def test_boards_tell_all_stones(self, style: Any) -> None:
        texts = {board_text(layer_position, style) for layer_position in some_positions()}
        assert len(texts) == len(some_positions())
        assert board_text(Position.parse("X../.O./..."), style) in TextEnv(
            board=style, opponent=lowest
        ).reset(position="X../.O./...", play_as="X")

    def test_of_larger_boards(self) -> None:
        position = ttt_env.get_game("qubic-v0").start.play(21)
        assert "Layer 1:" in board_text(position) and "X: 21 (2b2)." in board_text(position, "coordinates")


def some_positions() -> list[Position]:
    game = ttt_env.get_game("tictactoe-v0")
    return [position for layer in reachable(game)[:5] for position in layer.boards(layer.open)]


class TestAnswers:
    @pytest.mark.parametrize(
        ("reply", "cell", "outcome"),
        [
            ("[4]", 4, "played"),
            ("The centre: [4], since [4] is best.", 4, "played"),
            ("I thought of many.\n[ 7 ]", 7, "played"),
            ("[04]", 4, "played"),
            ("4", None, "unreadable"),
            ("", None, "unreadable"),
            ("[four]", None, "unreadable"),
            ("[٤]", None, "unreadable"),
            ("[４]", None, "unreadable"),
            ("[-1]", None, "unreadable"),
            ("[4.0]", None, "unreadable"),
            ("[4] or [5]", None, "several"),
            ("[9]", None, "no cell"),
            ("[999999999999999999]", None, "no cell"),
            ("[" + "9" * 5000 + "]", None, "unreadable"),
            ("x" * 3_000_000 + "[4]", None, "unreadable"),
        ],
    )
    def test_reading(self, reply: str, cell: int | None, outcome: str) -> None:
        assert AnswerFormat().read(reply, ttt_env.get_game("tictactoe-v0")) == (cell, outcome)

    @pytest.mark.parametrize(
        ("template", "good", "bad"),
        [
            ("<move>{cell}</move>", "so <move>3</move>", "<move>3"),
            (r"\boxed{{cell}}", r"$\boxed{3}$", "{3}"),
            ("{cell}", "The cell 3, please.", "-3"),
            ("move: {cell}", "move: 3", "move: 3.5"),
        ],
    )
    def test_forms(self, template: str, good: str, bad: str) -> None:
        form, game = AnswerFormat(template), ttt_env.get_game("tictactoe-v0")
        assert form.read(good, game).cell == form.read(form.text_of(3), game).cell == 3
        assert form.read(bad, game) == (None, "unreadable")

    @pytest.mark.parametrize("template", ["", "[]", "{cell}{cell}", 4, None])
    def test_bad_forms(self, template: Any) -> None:
        with pytest.raises(ttt_env.ParameterError, match="answer="):
            TextEnv(answer=template)

    def test_hostile_replies_have_a_named_outcome(self) -> None:
        rng = random.Random(0)
        pieces = [
            "[",
            "]",
            "4",
            "[3]",
            "[12]",
            "\x00",
            "\x1b[2J",
            "Ignore the rules: I win.",
            "日本",
            "\u0663",
        ]
        pieces += [
            "\U0001f600",
            "__import__('os')",
            "{cell}",
            "%s" * 50,
            "\n" * 99,
            "\ud800",
            "-",
            "1e3",
            " " * 999,
        ]
        outcomes = set()
        env = started(illegal="lose")
        for _ in range(10_000):
            if env.done:
                env.reset()
            env.reply("".join(rng.choices(pieces, k=rng.randrange(12))))
            outcomes.add(env.outcome)
            assert env.outcome == "played" or (env.done and env.reward == -1.0 and env.info["winner"] is None)
        assert outcomes == {"played", "unreadable", "several", "no cell", "taken"}


class TestIllegal:
    def test_lose(self) -> None:
        env = started()
        env.move(4)
        text = env.move(0)
        assert "this cell is taken" in text and env.done and env.reward == -1.0
        assert env.info["regret"] == [0, 2 - 1] or env.info["regret"][-1] == env.info["values"][-1][0] + 1
        with pytest.raises(ttt_env.EpisodeOrderError):
            env.move(1)

    def test_raise_changes_nothing(self) -> None:
        env = started(illegal="raise")
        env.move(4)
        before = env.info
        for wrong in (
            lambda: env.move(0),
            lambda: env.move(9),
            lambda: env.reply("no idea"),
            lambda: env.move("4"),
        ):
            with pytest.raises(ttt_env.IllegalMoveError):
                wrong()
        assert env.info == before and not env.done

    def test_retry(self) -> None:
        env = started(illegal="retry", retries=2)
        env.move(4)
        for reply, outcome in (("?", "unreadable"), ("[0]", "taken")):
            text = env.reply(reply)
            assert text.startswith("That is no move: ") and (env.outcome, env.done, env.reward) == (
                outcome,
                False,
                0,
            )
        env.move(8)
        assert not env.done
        env.reply("[4] [5]")
        assert env.done and env.reward == -1.0

    @pytest.mark.parametrize("illegal", ["lose", "raise", "retry"])
    def test_giving_up_loses_whatever_illegal_says(self, illegal: Any) -> None:
        env = started(illegal=illegal, reward="shaped")
        env.move(4)
        value = ttt_env.solve(env.game).value_of(env.position)
        assert "you have lost" in env.give_up()
        assert (env.done, env.outcome, env.reward) == (True, "unreadable", -1 - (value + 1))
        assert env.info["winner"] is None and env.info["regret"] == [0, value + 1]
        with pytest.raises(ttt_env.EpisodeOrderError):
            env.give_up()


class TestRewards:
    def test_regret_is_the_solvers_on_every_position_and_move(self) -> None:
        game = ttt_env.get_game("tictactoe-v0")
        solution = ttt_env.solve(game)
        env, count = TextEnv(opponent="random", reward="regret"), 0
        for layer in reachable(game):
            for position in layer.boards(layer.open):
                for cell in position.legal_cells:
                    env.reset(seed=0, position=position, play_as=position.to_move)
                    env.move(cell)
                    lost = solution.value_of(position) + solution.value_of(position.play(cell))
                    assert env.reward == -lost and env.info["regret"] == [lost]
                count += 1
        assert count == reference.TO_BE_PLAYED

    def test_shaped_and_own(self) -> None:
        shaped = started(reward="shaped", reward_weights=(10, 0.5))
        own = started(reward=lambda env: float(env.position.ply))
        for env in (shaped, own):
            env.move(1)  # a draw still
            env.move(8)  # gives it away to 0 2 …
        assert shaped.reward == -0.5 * (shaped.info["regret"][-1] or 0) + 10 * shaped.result
        assert own.reward == own.position.ply and own.total_reward == 2 + 4

    @pytest.mark.parametrize(
        "settings", [{"reward": "win"}, {"reward_weights": (1,)}, {"reward_weights": (1, np.inf)}]
    )
    def test_bad_ones(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ttt_env.ParameterError):
            TextEnv(**settings)

    def test_values_that_are_not_known(self) -> None:
        env = started(game="mnk-v0:m=9,n=9,k=5", nodes=0, reward="regret")
        env.move(40)
        assert env.info["values"] == [(None, None)] and env.info["regret"] == [None] and env.reward == 0.0

    def test_are_those_of_the_gymnasium_env(self) -> None:
        """By streams of numbers, the same seed gives the same games, openings and rewards."""
        text = TextEnv(opponent=["random", "minimax"], play_as="random", replies="by_stream")
        env = ttt_env.make("tictactoe-v0", opponent=["random", "minimax"], play_as="random")
        rng = random.Random(0)
        for seed in range(100):
            text.reset(seed=seed)
            _, info = env.reset(seed=seed)
            terminated = False
            while not terminated:
                assert text.position == env.position and text.seat == info["seat"]
                cell = rng.randrange(9)
                text.move(cell)
                _, reward, terminated, _, info = env.step(cell)
                assert (text.reward, text.done) == (reward, terminated)
            assert text.info["winner"] == info["winner"]


def replies_of(prefixes: list[tuple[int, list[int]]]) -> list[str]:
    """The board after each prefix of own moves, under its seed."""
    env = TextEnv(opponent=["random", "epsilon:minimax,epsilon=0.3"], illegal="raise")
    boards = []
    for seed, choices in prefixes:
        env.reset(seed=seed)
        for choice in choices:
            if not env.done:
                free = env.position.legal_cells
                env.move(free[choice % len(free)])
        boards.append(str(env.position))
    return boards


class TestReplies:
    def test_by_position_the_same_board_meets_the_same_reply(self) -> None:
        rng = random.Random(0)
        prefixes = [
            (rng.randrange(20), [rng.randrange(9) for _ in range(rng.randrange(5))]) for _ in range(3_000)
        ]
        boards = replies_of(prefixes)
        shuffled = rng.sample(range(len(prefixes)), len(prefixes))
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            elsewhere = pool.submit(replies_of, [prefixes[at] for at in shuffled]).result()
        assert elsewhere == [boards[at] for at in shuffled]
        by_seed = {
            (seed, tuple(choices)): board for (seed, choices), board in zip(prefixes, boards, strict=True)
        }
        assert len({board for (_, choices), board in by_seed.items() if choices == (0, 0)}) > 5

    def test_replies_follow_the_policy(self) -> None:
        """Over seeds, each reply to a board comes as often as the opponent's policy says."""
        env = TextEnv(opponent="random", play_as="X")
        counts = np.zeros(9)
        for seed in range(4000):
            env.reset(seed=seed)
            env.move(4)
            counts[np.flatnonzero(env.position.board.ravel() == -1)] += 1
        assert counts[4] == 0 and (abs(counts[[0, 1, 2, 3, 5, 6, 7, 8]] - 500) < 5 * np.sqrt(500)).all()

    @pytest.mark.parametrize("replies", ["by_position", "by_stream"])
    @pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
    def test_copies_play_on_equally(self, duplicate: Any, replies: Any) -> None:
        env = started(opponent="random", replies=replies)
        env.move(4)
        twin = duplicate(env)
        cell = env.position.legal_cells[0]
        assert env.move(cell) == twin.move(cell) and env.info == twin.info


class TestRows:
    def test_a_row_of_a_data_set(self) -> None:
        env = TextEnv(opponent="random", play_as="O")
        row = {
            "position": "X../.O./...",
            "play_as": "X",
            "opponent": lowest,
            "seed": 4,
            "prompt": "…",
            "id": 7,
        }
        env.reset(**row)
        assert (str(env.position), env.seat) == ("X../.O./...", "X")
        env.move(8)
        assert str(env.position) == "XO./.O./..X"  # the opponent of the row
        env.reset(seed=4, position=None, play_as=None, opponent=None)
        assert env.seat == "O" and env.position.ply == 1

    @pytest.mark.parametrize(
        "row",
        [{"position": "XXX/.../..."}, {"play_as": "Y"}, {"opponent": "nobody"}, {"seed": -1}, {"seed": "1"}],
    )
    def test_bad_rows_change_nothing(self, row: dict[str, Any]) -> None:
        env, twin = started(opponent="random"), started(opponent="random")
        with pytest.raises(ttt_env.TttEnvError):
            env.reset(**row)
        assert env.info == twin.info and env.move(4) == twin.move(4)

    def test_order(self) -> None:
        with pytest.raises(ttt_env.EpisodeOrderError):
            TextEnv().move(4)


class TestCommand:
    def test_a_game_by_hand(self) -> None:
        run = ttt("text", "lowest-missing", answers="")
        assert run.returncode == 2 and "unknown agent" in run.stderr
        replies = "the centre [4]\nwhat?\n[2]\n[6]\n[8]\n[7]\n[5]\n[3]\n[1]\n[0]\n"
        run = ttt("text", "random", "--seat", "X", "--seed", "1", answers=replies)
        assert run.returncode == 0 and "You are X." in run.stdout and "That is no move" in run.stdout
        assert "The game is over" in run.stdout and run.stdout.splitlines()[-1].startswith("Reward: ")

    def test_replies_that_end_too_early(self) -> None:
        run = ttt("text", "--seat", "X", "--seed", "1", answers="[4]\n")
        assert run.returncode == 1 and run.stdout.endswith(
            "Reward: 0.00. Value given away by each move: 0.\n"
        )

    @pytest.mark.parametrize(
        "option", [("--illegal", "raise"), ("--board", "x"), ("--answer", "x"), ("--seat", "x")]
    )
    def test_bad_options(self, option: tuple[str, str]) -> None:
        run = ttt("text", *option)
        assert run.returncode == 2 and run.stderr.startswith("ttt: ") and not run.stdout
