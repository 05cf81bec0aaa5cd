"""The parts of the environment for verifiers; scripts/frameworks runs verifiers itself."""

import itertools
from typing import Any

import pytest

import ttt_env
from tests import reference
from tests.support.games import TICTACTOE
from ttt_env.rules.symmetry import canonical
from ttt_env.text import TextEnv
from ttt_env.text.env import start_rows


class TestStartRows:
    def test_start_on_both_seats(self) -> None:
        assert list(start_rows(TICTACTOE, seeds=2)) == [
            {"position": None, "play_as": seat, "seed": seed} for seat in "XO" for seed in (0, 1)
        ]

    def test_positions_are_unique_up_to_symmetry(self) -> None:
        """138 classes of positions are over (91 won by X, 44 by O, 3 drawn), and one is the start."""
        positions = [row["position"] for row in start_rows(TICTACTOE, plies=9)]
        expected = reference.POSITIONS_UP_TO_SYMMETRY - 138 - 1
        assert positions[:2] == [None, None] and len(positions[2:]) == len(set(positions[2:])) == expected
        parsed = [ttt_env.Position.parse(text, TICTACTOE) for text in positions[2:] if text]
        assert all(canonical(position) == position and not position.is_over for position in parsed)
        assert [position.ply for position in parsed] == sorted(position.ply for position in parsed)

    def test_game_starts_from_each_row(self) -> None:
        env = TextEnv(opponent="minimax")
        for row in start_rows(TICTACTOE, plies=3, seeds=2):
            prompt = env.reset(**row)
            assert env.seat == row["play_as"] and f"You are {env.seat}." in prompt and not env.done
            assert row["position"] is None or str(env.position) == row["position"]

    def test_rows_are_created_lazily(self) -> None:
        rows = start_rows(ttt_env.get_game("qubic-v0"), plies=60, seeds=1_000_000)
        assert [row["seed"] for row in itertools.islice(rows, 3)] == [0, 1, 2]

    @pytest.mark.parametrize("numbers", [{"plies": -1}, {"plies": 1.5}, {"seeds": 0}, {"seeds": True}])
    def test_bad_numbers_are_refused(self, numbers: dict[str, Any]) -> None:
        with pytest.raises(ttt_env.errors.ParameterError, match=f"{next(iter(numbers))}=.*: expected"):
            start_rows(TICTACTOE, **numbers)
