"""The single-agent environment."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttt_env
from ttt_env import Agent, Position
from ttt_env.envs.board import Lineup
from ttt_env.envs.single import SingleAgentEnv

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}

WINNERS: dict[str | None, int] = {"X": 0, "O": 1, None: -1}

BAD_WEIGHTS: list[Any] = [
    [1],
    [1, 2, 3],
    [[1, 2]],
    [0, 0],
    [1, -1],
    [1, np.nan],
    [np.inf, 1],
    "12",
    [1, None],
    2,
]


def lowest(position: Position) -> int:
    return position.legal_cells[0]


def highest(position: Position) -> int:
    return position.legal_cells[-1]


class Highest(Agent):
    """A user's own agent: plays the highest free cell, and chooses it as NumPy does."""

    def policy(self, position: Position) -> Any:
        policy = np.zeros(self.game.n_cells)
        policy[position.legal_cells[-1]] = 1
        return policy

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        return np.argmax(self.policy(position))  # type: ignore[return-value]


def started(*cells: int, seed: int = 0, id: Any = "tictactoe-v0", **settings: Any) -> SingleAgentEnv:
    env = ttt_env.make(id, **{"opponent": lowest, "play_as": "X", **settings})
    env.reset(seed=seed)
    for cell in cells:
        env.step(cell)
    return env


def trajectory(env: SingleAgentEnv, **reset: Any) -> list[Any]:
    """All that an episode shows of itself, the agent playing its highest free cell."""
    _, info = env.reset(**reset)
    shown: list[Any] = [env.seat, str(env.position)]
    over = False
    while not over:
        cell = int(np.flatnonzero(info["action_mask"])[-1])
        observation, reward, over, truncated, info = env.step(cell)
        shown.append((cell, str(env.position), observation.tolist(), reward, over, truncated))
    return shown


class TestStep:
    def test_shows_the_board_after_the_reply(self) -> None:
        env = started()
        observation, reward, terminated, truncated, info = env.step(4)
        assert str(env.position) == "O../.X./..."
        assert observation[1, 1].tolist() == [1, 0] and observation[0, 0].tolist() == [0, 1]
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["action_mask"].tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1]

    def test_a_win_needs_no_reply(self) -> None:
        env = started(6, 7)
        _, reward, terminated, truncated, info = env.step(8)
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert str(env.position) == "OO./.../XXX" and info["action_mask"].all()

    def test_a_loss_by_the_reply_comes_with_it(self) -> None:
        env = started(8, 4)
        observation, reward, terminated, truncated, info = env.step(3)
        assert (reward, terminated, truncated) == (-1.0, True, False)
        assert str(env.position) == "OOO/XX./..X" and info["action_mask"].all()
        assert observation[0, :, 1].tolist() == [1, 1, 1]  # what the player sees holds the reply that beat it

    def test_a_draw_by_the_own_last_stone(self) -> None:
        env = started(start=Position.parse("XOX/XOO/O.X"))
        assert env.step(7)[1:3] == (0.0, True)

    def test_a_draw_by_the_reply(self) -> None:
        env = started(play_as="O", start=Position.parse("XOX/XOO/.X."))
        assert env.step(6)[1:3] == (0.0, True)
        assert str(env.position) == "XOX/XOO/OXX"

    def test_a_loss_as_o(self) -> None:
        env = started(play_as="O")  # X has 0
        env.step(8)
        assert env.step(7)[1:3] == (-1.0, True)
        assert str(env.position) == "XXX/.../.OO"

    def test_misere_turns_the_ends_round(self) -> None:
        env = started(6, 7, misere=True)
        assert env.step(8)[1:3] == (-1.0, True)
        env = started(8, 4, misere=True)
        assert env.step(3)[1:3] == (1.0, True)

    def test_rewards_can_be_set(self) -> None:
        rewards = {"win": 5, "loss": -2}
        assert started(6, 7, rewards=rewards).step(8)[1] == 5.0
        assert started(8, 4, rewards=rewards).step(3)[1] == -2.0

    @pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.array])
    def test_actions_of_numpy_are_cells(self, dtype: Callable[[int], Any]) -> None:
        env = started(id="qubic-v0")
        env.step(dtype(63))
        assert env.position.x_mask == 1 << 63 and type(env.position.mine) is int


class TestPlayAs:
    def test_x_moves_first(self) -> None:
        env = started(play_as="X")
        assert env.seat == "X" and env.position.ply == 0

    def test_o_sees_the_first_move(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=highest, play_as="O")
        observation, info = env.reset(seed=0)
        assert env.seat == "O" and str(env.position) == ".../.../..X"
        assert observation[2, 2].tolist() == [0, 1] and info["action_mask"].sum() == 8

    def test_random_is_the_default_and_takes_both_seats(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest)
        env.reset(seed=0)
        seats = []
        for _ in range(40):
            env.reset()
            seats.append(env.seat)
            assert env.position.to_move == env.seat
        assert 10 <= seats.count("X") <= 30

    def test_alternate_begins_with_x_and_takes_turns(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="alternate")
        assert [(env.reset(), env.seat)[1] for _ in range(5)] == list("XOXOX")

    def test_a_seed_starts_the_turns_anew(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="alternate")
        seats = [(env.reset(seed=seed), env.seat)[1] for seed in (None, 1, None, None, 2, 3)]
        assert seats == list("XXOXXX")


class TestOptions:
    def test_play_as_holds_for_one_episode(self) -> None:
        env = started(play_as="X")
        seats = [(env.reset(options=options), env.seat)[1] for options in ({"play_as": "O"}, None, {})]
        assert seats == list("OXX")

    def test_position_holds_for_one_episode(self) -> None:
        env = started(start=Position.parse("XO./.../..."))
        env.reset(options={"position": Position.parse("X../O../...")})
        assert str(env.position) == "X../O../..."
        env.reset()
        assert str(env.position) == "XO./.../..."

    def test_both(self) -> None:
        env = started(play_as="X")
        env.reset(options={"position": Position.parse("X../O../..."), "play_as": "O"})
        assert env.seat == "O" and str(env.position) == "XX./O../..."

    def test_an_episode_of_another_seat_counts_as_a_turn(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="alternate")
        seats = [(env.reset(options=options), env.seat)[1] for options in (None, {"play_as": "X"}, None)]
        assert seats == list("XXX")


class TestOpponents:
    @pytest.mark.parametrize("several", [list, tuple])
    def test_each_of_several_is_drawn(self, several: type[Any]) -> None:
        env = started(opponent=several([lowest, highest, "minimax"]))
        replies = []
        for _ in range(60):
            env.reset()
            env.step(4)
            replies.append((env.position.o_mask.bit_length() - 1, id(env.opponent)))
        assert {cell for cell, _ in replies} == {0, 2, 6, 8}  # minimax answers the centre by any corner
        assert len({agent for _, agent in replies}) == 3

    def test_the_same_one_plays_to_the_end(self) -> None:
        env = started(opponent=[lowest, highest])
        for _ in range(20):
            env.reset()
            env.step(4)
            first = env.position.o_mask
            env.step(5)
            assert env.position.o_mask == (0b11 if first == 1 else 0b110000000)

    def test_an_agent(self) -> None:
        agent = ttt_env.make_agent("minimax")
        assert started(opponent=agent).opponent is agent

    @pytest.mark.parametrize("id", ["tictactoe-v0", "qubic-v0"])
    def test_an_agent_that_chooses_cells_of_numpy(self, id: str) -> None:
        env = started(0, id=id, opponent=Highest(ttt_env.get_game(id)))
        assert env.position.o_mask == 1 << env.game.n_cells - 1
        assert type(env.position.theirs) is int and type(env.position.mine) is int

    def test_a_function_of_numpy_cells(self) -> None:
        env = started(0, id="qubic-v0", opponent=lambda position: np.int64(highest(position)))
        assert env.position.o_mask == 1 << 63 and type(env.position.mine) is int

    @pytest.mark.parametrize("opponent", [highest, [highest], "minimax"], ids=["function", "list", "name"])
    def test_can_be_changed_in_the_middle(self, opponent: Any) -> None:
        env = started(4)
        env.set_opponent(opponent)
        env.step(1)
        assert env.position.o_mask in (1 | 1 << 8, 1 | 1 << 7)  # minimax has to stop 1 4 7
        if opponent != "minimax":
            env.reset()
            env.step(4)
            assert env.position.o_mask == 1 << 8

    @pytest.mark.parametrize("late", [False, True], ids=["made with", "set later"])
    def test_weights_are_the_chances(self, late: bool) -> None:
        several, weights = [lowest, highest, "minimax"], [6.0, 2.0, 0.0]
        env = started(**({} if late else {"opponent": several, "opponent_weights": weights}))
        if late:
            env.set_opponent(several, weights)
        seen = Counter((env.reset(), env.step(4), env.position.o_mask)[2] for _ in range(4000))
        assert set(seen) == {1, 1 << 8}
        assert abs(seen[1] - 3000) < 110  # four standard deviations

    def test_setting_several_draws_one_of_them_now(self) -> None:
        """The opponent for the rest of the episode is drawn by one number, with the weights as chances."""
        drawn = []
        for seed in range(60):
            env = started(seed=seed)
            draw = copy.deepcopy(env.np_random).random()
            env.set_opponent([lowest, highest, "minimax"], [0.25, 0.5, 0.25])
            number = (draw >= 0.25) + (draw >= 0.75)
            assert env.opponent is env._lineup.agents[number]
            drawn.append(int(number))
        assert set(drawn) == {0, 1, 2}

    def test_setting_one_takes_no_number(self) -> None:
        env = started(opponent=[lowest, highest])
        state = env.np_random.bit_generator.state
        env.set_opponent("minimax")
        assert env.np_random.bit_generator.state == state

    @pytest.mark.parametrize("draw", [0.0, 0.25, 0.75])
    def test_a_draw_that_meets_a_summed_chance_picks_the_next(self, draw: float) -> None:
        lineup = Lineup([lowest, highest, "minimax"], [1, 2, 1], ttt_env.get_game("tictactoe-v0"))
        assert lineup.picked(draw) is lineup.agents[[0.0, 0.25, 0.75].index(draw)]

    @pytest.mark.parametrize("weights", BAD_WEIGHTS, ids=str)
    def test_bad_weights_change_nothing(self, weights: Any) -> None:
        env = started()
        env.reset(seed=3)
        opponent, state = env.opponent, env.np_random.bit_generator.state
        with pytest.raises(ttt_env.errors.ParameterError, match="2 finite numbers ≥ 0, not all 0"):
            env.set_opponent([lowest, highest], weights)
        assert env.opponent is opponent and env.np_random.bit_generator.state == state
        with pytest.raises(ttt_env.errors.ParameterError, match="2 finite numbers"):
            ttt_env.make("tictactoe-v0", [lowest, highest], opponent_weights=weights)

    def test_a_changed_list_is_drawn_from(self) -> None:
        env = started()
        env.set_opponent([lowest, highest])
        replies = set()
        for _ in range(30):
            env.reset()
            env.step(4)
            replies.add(env.position.o_mask)
        assert replies == {1, 1 << 8}


class TestStart:
    def test_the_opponent_moves_first_if_it_is_its_turn(self) -> None:
        env = started(start=Position.parse("X../.../..."), play_as="X")
        assert env.seat == "X" and str(env.position) == "XO./.../..."

    def test_the_player_moves_first_if_it_is_its_turn(self) -> None:
        env = started(start=Position.parse("X../.../..."), play_as="O")
        assert env.seat == "O" and str(env.position) == "X../.../..."

    def test_can_be_drawn(self) -> None:
        env = started(start=lambda rng: Position.parse("X../.../...").play(int(rng.integers(1, 9))))
        first = [(env.reset(seed=seed), str(env.position))[1] for seed in range(40)]
        assert len(set(first)) == 8
        assert first == [(env.reset(seed=seed), str(env.position))[1] for seed in range(40)]

    def test_one_that_the_opponent_ends_at_once_is_drawn_anew(self) -> None:
        lost, open_ = Position.parse(".XX/OO./..."), Position.parse("..X/OO./.X.")
        env = started(play_as="O", start=lambda rng: (lost, open_)[int(rng.integers(2))])
        for seed in range(20):
            env.reset(seed=seed)
            assert str(env.position) == "X.X/OO./.X."

    def test_the_seat_is_drawn_anew_too(self) -> None:
        env = started(play_as="random", start=Position.parse(".XX/OO./..."))
        assert {(env.reset(seed=seed), env.seat)[1] for seed in range(20)} == {"X"}

    def test_one_that_the_opponent_always_ends(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="O", start=Position.parse(".XX/OO./..."))
        with pytest.raises(ttt_env.errors.ImpossiblePositionError, match="ends the game"):
            env.reset()


class TestIllegalMoves:
    def test_lose(self) -> None:
        env = started(4)
        observation, reward, terminated, truncated, info = env.step(4)
        assert (reward, terminated, truncated) == (-1.0, True, False)
        assert str(env.position) == "O../.X./..." and info["action_mask"].all()
        assert observation[1, 1].tolist() == [1, 0] and observation[0, 0].tolist() == [0, 1]

    def test_the_mask_of_an_ended_game_allows_all(self) -> None:
        """A softmax over the allowed cells is defined on the last observation of an episode, too."""
        env = started(4, observation="dict")
        observation, _, terminated, _, info = env.step(4)
        assert terminated and env.action_masks().all()
        assert observation["action_mask"].all() and info["action_mask"].all()

    def test_lose_by_its_own_reward(self) -> None:
        assert started(4, rewards={"illegal": -9}).step(0)[1] == -9.0

    def test_raise(self) -> None:
        env = started(4, illegal="raise")
        with pytest.raises(ttt_env.IllegalMoveError, match=r"cell 0 .* is taken; free are \[1, 2, 3, 5"):
            env.step(0)
        assert env.step(8)[1:3] == (0.0, False)

    def test_resample_draws_every_free_cell_and_no_other(self) -> None:
        start = Position.parse("XOX/XOO/...")
        drawn = set()
        for seed in range(40):
            env = started(illegal="resample", start=start, seed=seed)
            env.step(0)
            drawn.add(env.position.x_mask & ~start.x_mask)
        assert {1 << 6, 1 << 7, 1 << 8} == drawn


class TestObservations:
    def test_dict_holds_planes_and_mask(self) -> None:
        env = started(observation="dict")
        observation, _, _, _, info = env.step(4)
        assert set(observation) == {"observation", "action_mask"}
        assert env.observation_space.contains(observation)
        assert (observation["action_mask"] == info["action_mask"]).all()
        assert np.argwhere(observation["observation"]).tolist() == [[0, 0, 1], [1, 1, 0]]

    @pytest.mark.parametrize("kind", ["planes", "dict", "flat"])
    @pytest.mark.parametrize("play_as", ["X", "O"])
    def test_own_stones_are_on_plane_0_in_every_step(self, kind: str, play_as: str) -> None:
        env = ttt_env.make("tictactoe-v0", opponent="random", play_as=play_as, observation=kind)
        for seed in range(50):
            (observation, info), over = env.reset(seed=seed), False
            while not over:
                observation, _, over, _, info = env.step(np.flatnonzero(info["action_mask"])[-1])
                planes = observation["observation"] if kind == "dict" else np.reshape(observation, (3, 3, 2))
                text = np.array(list(str(env.position).replace("/", ""))).reshape(3, 3)
                assert (planes[..., 0] == (text == play_as)).all()
                assert (planes[..., 1] == (text == "XO".replace(play_as, ""))).all()

    def test_masks_agree(self) -> None:
        env = started(observation="dict")
        observation, _, _, _, info = env.step(4)
        assert env.action_masks().dtype == np.bool_ and info["action_mask"].dtype == np.int8
        assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
        assert np.flatnonzero(observation["action_mask"]).tolist() == env.position.legal_cells

    def test_arrays_are_the_callers_own(self) -> None:
        env, other = started(observation="dict"), started(observation="dict")
        observation, info = env.reset(seed=0)
        for array in (*observation.values(), info["action_mask"], env.action_masks()):
            array[...] = 1 if array.dtype == np.bool_ else 7
        for cells in (4, 8), (4, 8):
            for cell in cells:
                told, expected = env.step(cell), other.step(cell)
                for key in ("observation", "action_mask"):
                    assert (told[0][key] == expected[0][key]).all()
                    told[0][key][...] = 7
                assert (told[4]["action_mask"] == expected[4]["action_mask"]).all()
                told[4]["action_mask"][...] = 7
            env.reset(seed=0)
            other.reset(seed=0)

    def test_arrays_are_not_used_again(self) -> None:
        env = started()
        first = env.step(4)[0]
        kept = first.copy()
        env.step(8)
        assert (first == kept).all()


class TestInfo:
    @pytest.mark.parametrize("play_as", ["X", "O"])
    def test_says_whom_the_user_plays(self, play_as: str) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as=play_as)
        _, info = env.reset(seed=0)
        assert set(info) == {"action_mask", "seat"} and info["seat"] == "XO".index(play_as)
        info = env.step(8)[4]
        assert set(info) == {"action_mask", "seat"} and info["seat"] == "XO".index(play_as)

    @pytest.mark.parametrize(
        ("settings", "cells", "winner"),
        [
            ({}, (6, 7, 8), "X"),
            ({}, (8, 4, 3), "O"),
            ({"misere": True}, (6, 7, 8), "O"),
            ({"misere": True}, (8, 4, 3), "X"),
            ({"play_as": "O"}, (8, 7), "X"),
            ({"play_as": "O", "start": Position.parse("XX./OO./X..")}, (5,), "O"),
            ({"start": Position.parse("XOX/XOO/O.X")}, (7,), None),
            ({"play_as": "O", "start": Position.parse("XOX/XOO/.X.")}, (6,), None),
            ({}, (4, 4), None),
        ],
        ids=str,
    )
    def test_names_the_winner_at_the_end(
        self, settings: dict[str, Any], cells: tuple[int, ...], winner: str | None
    ) -> None:
        env = started(*cells[:-1], **settings)
        _, _, over, _, info = env.step(cells[-1])
        assert over and info["winner"] == WINNERS[winner] and winner == env.position.winner
        assert info["seat"] == WINNERS[env.seat]

    def test_names_the_winners_of_random_games(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent="random", illegal="resample")
        seen = set()
        for seed in range(200):
            (_, info), over = env.reset(seed=seed), False
            while not over:
                assert "winner" not in info
                _, reward, over, _, info = env.step(seed % 9)
            assert info["winner"] == WINNERS[env.position.winner]
            assert reward == (0.0 if info["winner"] < 0 else 1.0 if info["winner"] == info["seat"] else -1.0)
            seen.add((env.seat, info["winner"]))
        assert seen == {(seat, winner) for seat in "XO" for winner in (0, 1, -1)}


class TestSeeds:
    @pytest.mark.parametrize("opponent", ["random", ["random", "minimax", lowest]], ids=["one", "list"])
    def test_same_seed_same_episode(self, opponent: Any) -> None:
        env, other = (ttt_env.make("tictactoe-v0", opponent=opponent) for _ in range(2))
        other.reset(seed=99)
        episodes = [trajectory(env, seed=seed) for seed in range(30)]
        assert episodes == [trajectory(other, seed=seed) for seed in range(30)]
        assert len({str(episode) for episode in episodes}) > 10

    def test_episodes_go_on_with_the_numbers(self) -> None:
        env, other = (ttt_env.make("tictactoe-v0", opponent="random") for _ in range(2))
        env.reset(seed=1)
        other.reset(seed=1)
        episodes = [trajectory(env) for _ in range(20)]
        assert episodes == [trajectory(other) for _ in range(20)]
        assert len({str(episode) for episode in episodes}) > 10


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
class TestCopies:
    @pytest.mark.parametrize("opponent", ["random", ["random", "minimax"]], ids=["one", "list"])
    def test_play_on_equally(self, duplicate: Callable[[Any], Any], opponent: Any) -> None:
        env = started(opponent=opponent, play_as="alternate", seed=5)
        env.step(4)
        twin = duplicate(env)
        terminated = False
        while not terminated:
            assert env.action_masks().tolist() == twin.action_masks().tolist()
            cell = env.position.legal_cells[0]
            told, its = env.step(cell), twin.step(cell)
            terminated = told[2]
            assert told[0].tolist() == its[0].tolist() and told[1:4] == its[1:4]
            assert env.position == twin.position and env.seat == twin.seat
        assert [trajectory(env) for _ in range(10)] == [trajectory(twin) for _ in range(10)]

    def test_go_their_own_way(self, duplicate: Callable[[Any], Any]) -> None:
        env = started(4)
        twin = duplicate(env)
        twin.step(8)
        assert str(env.position) == "O../.X./..."
        env.step(7)
        assert str(env.position) == "OO./.X./.X." and str(twin.position) == "OO./.X./..X"

    def test_before_the_first_reset(self, duplicate: Callable[[Any], Any]) -> None:
        env = ttt_env.make("tictactoe-v0", opponent="random")
        assert trajectory(duplicate(env), seed=3) == trajectory(env, seed=3)


class TestRendering:
    def test_text_has_the_reply_as_last_move(self) -> None:
        assert "[O]" in started(4, render_mode="ansi").render()

    def test_picture(self) -> None:
        picture = started(4, render_mode="rgb_array").render()
        assert picture.dtype == np.uint8 and picture.ndim == 3 and len(np.unique(picture)) > 2
