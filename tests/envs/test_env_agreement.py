"""The rules, the two-player and the single-agent environment agree on all moves."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.envs import both, duplicated, one_player, state_of, two_player
from tests.support.games import MISERE, TICTACTOE, X_WINS
from tests.support.marks import slow
from ttt_env import Game, Position
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.envs.two_player import TwoPlayerEnv

RANDOM_GAMES: dict[str, tuple[Game, int]] = {
    "square": (ttt_env.get_game("square-v0"), 20),
    "square misere": (ttt_env.get_game("square-v0", misere=True), 20),
    "qubic": (ttt_env.get_game("qubic-v0"), 5),
    "8,8,5": (ttt_env.get_game("mnk-v0:m=8,n=8,k=5"), 1),
    "a user's own": (Game("corners", (2, 3), [(0, 2, 3, 5), (1, 4)]), 100),
    "one axis": (Game("row", (5,), [(0, 1), (2, 3, 4)], misere=True), 100),
}


class Script:
    """An opponent that plays `cell` or, in whole games, the cells of `cells`."""

    cell: int | None = None
    cells: tuple[int, ...] = ()

    def __call__(self, position: Position) -> int:
        return self.cells[position.ply] if self.cell is None else self.cell


def reward_of(position: Position, seat: str) -> float:
    return 0.0 if position.winner is None else 1.0 if position.winner == seat else -1.0


def planes_of(position: Position, seat: str) -> list[Any]:
    """The observation computed from the text of the position, which no environment uses."""
    text = [cell for cell in str(position) if cell in "XO."]
    planes = [(cell == seat, cell not in (seat, ".")) for cell in text]
    return np.array(planes).astype(int).reshape(*position.game.shape, 2).tolist()


def free_on(position: Position) -> list[int]:
    """The empty cells computed from the text of the position, which no environment uses."""
    return [int(cell == ".") for cell in str(position) if cell in "XO."]


def open_positions(game: Game) -> list[Position]:
    """All positions that are not over, by the rules alone."""
    positions, layer = [], {game.start}
    while layer:
        positions += layer
        layer = {after for at in layer for after in map(at.play, at.legal_cells) if not after.is_over}
    return positions


def check_two_player_env(env: TwoPlayerEnv, position: Position) -> None:
    assert env.position == position
    for seat in ("X", "O"):
        observation = env.observe(seat)
        assert observation["observation"].tolist() == planes_of(position, seat)
        legal = free_on(position) if seat == position.to_move else [0] * position.game.n_cells
        assert observation["action_mask"].tolist() == env.infos[seat]["action_mask"].tolist() == legal
        assert env.rewards[seat] == (reward_of(position, seat) if position.is_over else 0)
        assert env.terminations[seat] == position.is_over and not env.truncations[seat]
    assert env.agent_selection == position.to_move


def check_step(
    env: SingleAgentEnv, seat: str, result: tuple[Any, Any, bool, bool, dict[str, Any]], position: Position
) -> None:
    observation, reward, terminated, truncated, info = result
    assert env.position == position
    assert observation.tolist() == planes_of(position, seat)
    assert reward == (reward_of(position, seat) if position.is_over else 0)
    assert (terminated, truncated) == (position.is_over, False)
    allowed = [1] * position.game.n_cells if position.is_over else free_on(position)
    assert info["action_mask"].tolist() == env.action_masks().astype(int).tolist() == allowed


# Every eleventh position is fast; all are slow.
@pytest.mark.parametrize(
    "game, step",
    [(TICTACTOE, 11), slow(TICTACTOE, 1), slow(MISERE, 1)],
    ids=["normal", "all", "misere"],
)
class TestEveryPosition:
    def test_two_players_follow_rules_on_every_action(self, game: Game, step: int) -> None:
        env = ttt_env.make(game)
        positions = open_positions(game)
        for position in positions[::step]:
            for cell in position.legal_cells:
                env.reset(options={"position": position})
                env.step(cell)
                check_two_player_env(env, position.play(cell))
        assert len(positions) == reference.TO_BE_PLAYED

    def test_one_player_follows_rules_on_every_action_and_reply(self, game: Game, step: int) -> None:
        script = Script()
        env = ttt_env.make(game, opponent=script)
        positions = open_positions(game)
        for position in positions[::step]:
            seat = position.to_move
            for cell in position.legal_cells:
                after = position.play(cell)
                for script.cell in after.legal_cells or [None]:
                    end = after if script.cell is None else after.play(script.cell)
                    env.reset(options={"position": position, "play_as": seat})
                    check_step(env, seat, env.step(cell), end)
        assert len(positions) == reference.TO_BE_PLAYED

    def test_taken_cells_lose_in_both(self, game: Game, step: int) -> None:
        env, single = ttt_env.make(game), ttt_env.make(game, opponent="random")
        positions = open_positions(game)
        for position in positions[::step]:
            seat = position.to_move
            for cell in set(range(9)) - set(position.legal_cells):
                env.reset(options={"position": position})
                env.step(cell)
                assert env.position == position and env.terminations == {"X": True, "O": True}
                assert env.rewards == {seat: -1.0, "XO".replace(seat, ""): 0.0}
                for viewer in ("X", "O"):
                    planes = env.observe(viewer)["observation"].tolist()
                    assert planes == planes_of(position, viewer)
                single.reset(options={"position": position, "play_as": seat})
                observation, reward, terminated, truncated, info = single.step(cell)
                assert observation.tolist() == planes_of(position, seat) and single.position == position
                assert (reward, terminated, truncated) == (-1.0, True, False) and info["action_mask"].all()
        assert len(positions) == reference.TO_BE_PLAYED


@pytest.mark.parametrize(("game", "n_games"), RANDOM_GAMES.values(), ids=RANDOM_GAMES)
def test_random_games_agree_move_by_move(game: Game, n_games: int) -> None:
    rng, script = np.random.default_rng(0), Script()
    env = ttt_env.make(game)
    singles = {seat: ttt_env.make(game, opponent=script, play_as=seat) for seat in ("X", "O")}
    for _ in range(n_games):
        line = [game.start]
        cells = []
        env.reset()
        while not line[-1].is_over:
            cells.append(int(rng.choice(line[-1].legal_cells)))
            line.append(line[-1].play(cells[-1]))
            env.step(cells[-1])
            check_two_player_env(env, line[-1])
        script.cells = tuple(cells)
        for first, (seat, single) in enumerate(singles.items()):
            if len(cells) > first:
                single.reset()
                assert single.position == line[first]
            for ply in range(first, len(cells), 2):
                check_step(single, seat, single.step(cells[ply]), line[min(ply + 2, len(cells))])


def test_rewards_of_last_sum_to_rewards() -> None:
    """Each player receives over the episode exactly what the environment gave it."""
    env = ttt_env.make(TICTACTOE)
    rng = np.random.default_rng(1)
    for game in range(100):
        env.reset()
        received, given = Counter[str](), Counter[str]()
        for agent in env.agent_iter():
            observation, reward, terminated, _, _ = env.last()
            received[agent] += reward
            free = np.flatnonzero(observation["action_mask"])
            env.step(None if terminated else int(rng.choice(free if game % 3 else np.arange(9))))
            given.update({seat: of_seat for seat, of_seat in env.rewards.items() if not terminated})
        assert dict(received) == dict(given)


@both
def test_numpy_actions_are_accepted(make: Any) -> None:
    for dtype in (np.int32, np.int64, np.uint8, np.array):
        env = make(dtype(63), id="qubic-v0")
        assert env.position.x_mask == 1 << 63 and type(env.position.x_mask) is int


@both
def test_resample_draws_each_free_cell(make: Any) -> None:
    start = Position.parse("XOX/XOO/...")

    def new_stones(cell: int) -> list[int]:
        envs = [make(cell, start=start, illegal="resample", seed=seed) for seed in range(40)]
        return [env.position.x_mask & ~start.x_mask for env in envs]

    assert set(new_stones(0)) == {1 << 6, 1 << 7, 1 << 8} and new_stones(0) == new_stones(0)
    assert set(new_stones(7)) == {1 << 7}  # a legal move is kept


def random_start(rng: np.random.Generator) -> Position:
    return Position.parse("X../.../...").play(int(rng.integers(1, 9)))


@both
@pytest.mark.parametrize("seeds", [range(40), [None] * 40], ids=["seeds", "none"])
def test_start_is_drawn_for_each_episode(make: Any, seeds: Any) -> None:
    env, twin = make(start=random_start), make(start=random_start)
    drawn = [(env.reset(seed=seed), str(env.position))[1] for seed in seeds]
    assert len(set(drawn)) == 8
    assert drawn == [(twin.reset(seed=seed), str(twin.position))[1] for seed in seeds]


@duplicated
class TestCopies:
    @both
    @pytest.mark.parametrize("opponent", ["random", ["random", "minimax"]], ids=str)
    def test_copies_continue_equally(self, make: Any, opponent: Any, duplicate: Any) -> None:
        against = {} if make is two_player else {"opponent": opponent, "play_as": "alternate"}
        env = make(4, 0, illegal="resample", start=random_start, **against)
        twin = duplicate(env)
        for cell in [*range(9), None, *range(9)]:
            assert state_of(env) == state_of(twin)
            if cell is None:
                env.reset()
                twin.reset()
            elif not env.position.is_over:
                assert str(env.step(cell)) == str(twin.step(cell))

    @both
    def test_copies_are_independent(self, make: Any, duplicate: Any) -> None:
        env = make(4)
        before, twin = state_of(env), duplicate(env)
        twin.step(8)
        assert state_of(env) == before
        env.step(7)
        assert state_of(env) == state_of(make(4, 7)) and state_of(twin) == state_of(make(4, 8))

    @pytest.mark.parametrize("opponent", [None, "random"])
    def test_copy_before_first_reset(self, opponent: Any, duplicate: Any) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=opponent)
        twin = duplicate(env)
        for each in (env, twin):
            each.reset(seed=3)
            each.step(4)
        assert state_of(env) == state_of(twin)

    def test_copy_between_dead_steps(self, duplicate: Any) -> None:
        env = duplicate(two_player(*X_WINS, None))
        assert env.last()[1:3] == (1.0, True)
        env.step(None)
        assert env.agents == []


@pytest.mark.parametrize(("make", "mark"), [(two_player, "[X]"), (one_player, "[O]")])
def test_picture_changes_with_each_move_and_text_marks_last(make: Any, mark: str) -> None:
    assert mark in make(4, render_mode="ansi").render()
    before, after = (make(*cells, render_mode="rgb_array").render() for cells in ([], [4]))
    assert before.dtype == np.uint8 and before.shape == after.shape and (before != after).any()
    with pytest.warns(UserWarning, match="render_mode"):
        assert make().render() is None
