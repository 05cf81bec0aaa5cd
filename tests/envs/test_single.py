"""The single-agent environment."""

import copy
from collections import Counter
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.envs import one_player
from tests.support.games import highest, lowest
from tests.support.refusals import all_raise
from ttt_env import Agent, Position
from ttt_env.envs.board import OpponentMix
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.errors import ParameterError

WINNERS: dict[str | None, int] = {"X": 0, "O": 1, None: -1}


class Highest(Agent):
    """A custom agent that plays the highest free cell, as a NumPy integer."""

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        return np.max(position.legal_cells)  # type: ignore[no-any-return]


def trajectory(env: SingleAgentEnv, **reset: Any) -> list[Any]:
    """All outputs of an episode in which the agent plays its highest free cell."""
    _, info = env.reset(**reset)
    outputs: list[Any] = [env.seat, str(env.position)]
    over = False
    while not over:
        cell = int(np.flatnonzero(info["action_mask"])[-1])
        observation, reward, over, truncated, info = env.step(cell)
        outputs.append((cell, str(env.position), observation.tolist(), reward, over, truncated))
    return outputs


def test_rewards_can_be_set() -> None:
    rewards = {"win": 5, "loss": -2, "illegal": -9, "draw": 3}
    assert one_player(6, 7, rewards=rewards).step(8)[1] == 5.0
    assert one_player(8, 4, rewards=rewards).step(3)[1] == -2.0
    assert one_player(4, rewards=rewards).step(0)[1] == -9.0
    assert one_player(start=Position.parse("XOX/XOO/O.X"), rewards=rewards).step(7)[1] == 3.0


class TestPlayAs:
    def test_o_sees_first_move(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=highest, play_as="O")
        observation, info = env.reset(seed=0)
        assert env.seat == "O" and str(env.position) == ".../.../..X"
        assert observation[2, 2].tolist() == [0, 1] and info["action_mask"].sum() == 8

    def test_default_seat_is_random(self) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest)
        env.reset(seed=0)
        seats = []
        for _ in range(40):
            env.reset()
            seats.append(env.seat)
            assert env.position.to_move == env.seat
        assert 10 <= seats.count("X") <= 30

    @pytest.mark.parametrize(
        "resets, seats",
        [
            ([{}] * 5, "XOXOX"),
            ([{}, {"seed": 1}, {}, {}, {"seed": 2}, {"seed": 3}], "XXOXXX"),  # a seed restarts the turns
            ([{}, {"options": {"play_as": "X"}}, {}], "XXX"),  # an episode of another seat counts as a turn
        ],
    )
    def test_alternate_starts_with_x_and_takes_turns(self, resets: Any, seats: str) -> None:
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="alternate")
        assert [(env.reset(**reset), env.seat)[1] for reset in resets] == list(seats)


def test_options_hold_for_one_episode() -> None:
    env = one_player(play_as="X", start=Position.parse("XO./.../..."))
    seats = [(env.reset(options=options), env.seat)[1] for options in ({"play_as": "O"}, None, {})]
    assert seats == list("OXX")
    env.reset(options={"position": Position.parse("X../O../...")})
    assert str(env.position) == "X../O../..."
    env.reset(options={"position": Position.parse("X../O../..."), "play_as": "O"})
    assert env.seat == "O" and str(env.position) == "XX./O../..."
    env.reset()
    assert env.seat == "X" and str(env.position) == "XO./.../..."


class TestOpponents:
    def test_opponent_is_drawn_from_list(self) -> None:
        replies = []
        for several in ([lowest, highest, "minimax"], (lowest, highest, "minimax")):
            env = one_player(opponent=several)
            for _ in range(30):
                env.reset()
                env.step(4)
                replies.append((env.position.o_mask.bit_length() - 1, id(env.opponent)))
            assert len({agent for _, agent in replies[-30:]}) == 3
        assert {cell for cell, _ in replies} == {0, 2, 6, 8}  # minimax answers the centre with any corner

    def test_opponent_stays_during_episode(self) -> None:
        env = one_player(opponent=[lowest, highest])
        for _ in range(20):
            env.reset()
            env.step(4)
            first = env.position.o_mask
            env.step(5)
            assert env.position.o_mask == (0b11 if first == 1 else 0b110000000)

    def test_opponent_may_choose_numpy_integers(self) -> None:
        for id in ("tictactoe-v0", "qubic-v0"):
            agent = Highest(ttt_env.get_game(id))
            for opponent in (agent, lambda position: np.int64(highest(position))):
                env = one_player(0, id=id, opponent=opponent)
                assert env.position.o_mask == 1 << env.game.n_cells - 1
                assert type(env.position.theirs) is int and type(env.position.mine) is int
            assert one_player(id=id, opponent=agent).opponent is agent

    @pytest.mark.parametrize("opponent", [highest, [highest], "minimax"], ids=["function", "list", "name"])
    def test_opponent_can_be_changed_during_episode(self, opponent: Any) -> None:
        env = one_player(4)
        env.set_opponent(opponent)
        env.step(1)
        assert env.position.o_mask == (
            1 | 1 << (7 if opponent == "minimax" else 8)
        )  # minimax must block 1 4 7
        env.reset()
        env.step(4)
        assert opponent == "minimax" or env.position.o_mask == 1 << 8

    @pytest.mark.parametrize("is_set_later", [False, True], ids=["made with", "set later"])
    def test_opponents_are_drawn_by_weight(self, is_set_later: bool) -> None:
        several, weights = [lowest, highest, "minimax"], [6.0, 2.0, 0.0]
        env = one_player(**({} if is_set_later else {"opponent": several, "opponent_weights": weights}))
        if is_set_later:
            env.set_opponent(several, weights)
        counts = Counter((env.reset(), env.step(4), env.position.o_mask)[2] for _ in range(1000))
        assert set(counts) == {1, 1 << 8}
        assert abs(counts[1] - 750) < 55  # four standard deviations

    def test_setting_opponents_draws_one_immediately(self) -> None:
        """The opponent for the rest of the episode is drawn by one random number, with the given weights."""
        drawn = []
        for seed in range(20):
            env = one_player(seed=seed)
            draw = copy.deepcopy(env.np_random).random()
            env.set_opponent([lowest, highest, "minimax"], [0.25, 0.5, 0.25])
            number = (draw >= 0.25) + (draw >= 0.75)
            assert env.opponent is env._lineup.agents[number]
            drawn.append(int(number))
        assert set(drawn) == {0, 1, 2}

    def test_setting_one_opponent_draws_no_random_number(self) -> None:
        env = one_player(opponent=[lowest, highest])
        state = env.np_random.bit_generator.state
        env.set_opponent("minimax")
        assert env.np_random.bit_generator.state == state

    def test_draw_equal_to_cumulative_weight_picks_next(self) -> None:
        lineup = OpponentMix([lowest, highest, "minimax"], [1, 2, 1], ttt_env.get_game("tictactoe-v0"))
        assert [lineup.pick(draw) for draw in (0.0, 0.25, 0.75)] == lineup.agents

    def test_bad_weights_change_nothing(self) -> None:
        bad: list[Any] = [[1], [1, 2, 3], [[1, 2]], [0, 0], [1, -1], [1, np.nan], [np.inf, 1]]
        bad += ["12", [1, None], 2]
        env, two, text = one_player(), [lowest, highest], "2 finite numbers ≥ 0, not all 0"
        opponent, state = env.opponent, env.np_random.bit_generator.state
        all_raise(ParameterError, text, lambda weights: env.set_opponent(two, weights), bad)
        assert env.opponent is opponent and env.np_random.bit_generator.state == state
        all_raise(
            ParameterError, text, lambda it: ttt_env.make("tictactoe-v0", two, opponent_weights=it), bad
        )


class TestStart:
    @pytest.mark.parametrize("seat, expected", [("X", "XO./.../..."), ("O", "X../.../...")])
    def test_player_to_move_in_start_moves_first(self, seat: Any, expected: str) -> None:
        env = one_player(start=Position.parse("X../.../..."), play_as=seat)
        assert env.seat == seat and str(env.position) == expected

    def test_start_that_opponent_ends_is_drawn_again(self) -> None:
        lost, open_ = Position.parse(".XX/OO./..."), Position.parse("..X/OO./.X.")
        env = one_player(play_as="O", start=lambda rng: (lost, open_)[int(rng.integers(2))])
        for seed in range(20):
            env.reset(seed=seed)
            assert str(env.position) == "X.X/OO./.X."
        env = one_player(play_as="random", start=lost)  # the seat is drawn again, too
        assert {(env.reset(seed=seed), env.seat)[1] for seed in range(20)} == {"X"}
        env = ttt_env.make("tictactoe-v0", opponent=lowest, play_as="O", start=lost)
        with pytest.raises(ttt_env.errors.ImpossiblePositionError, match="ends the game"):
            env.reset()


class TestObservations:
    def test_dict_holds_planes_and_mask(self) -> None:
        env = one_player(observation="dict")
        observation, _, _, _, info = env.step(4)
        assert set(observation) == {"observation", "action_mask"}
        assert env.observation_space.contains(observation)
        assert env.action_masks().dtype == np.bool_ and info["action_mask"].dtype == np.int8
        for mask in (observation["action_mask"], info["action_mask"], env.action_masks()):
            assert np.flatnonzero(mask).tolist() == env.position.legal_cells
        assert np.argwhere(observation["observation"]).tolist() == [[0, 0, 1], [1, 1, 0]]

    @pytest.mark.parametrize("kind", ["planes", "dict", "flat"])
    @pytest.mark.parametrize("play_as", ["X", "O"])
    def test_own_stones_are_on_plane_0(self, kind: str, play_as: str) -> None:
        env = ttt_env.make("tictactoe-v0", opponent="random", play_as=play_as, observation=kind)
        for seed in range(20):
            (observation, info), over = env.reset(seed=seed), False
            while not over:
                observation, _, over, _, info = env.step(np.flatnonzero(info["action_mask"])[-1])
                planes = observation["observation"] if kind == "dict" else np.reshape(observation, (3, 3, 2))
                text = np.array(list(str(env.position).replace("/", ""))).reshape(3, 3)
                assert (planes[..., 0] == (text == play_as)).all()
                assert (planes[..., 1] == (text == "XO".replace(play_as, ""))).all()

    def test_arrays_are_copies(self) -> None:
        env, other = one_player(observation="dict"), one_player(observation="dict")
        observation, info = env.reset(seed=0)
        for array in (*observation.values(), info["action_mask"], env.action_masks()):
            array[...] = 1 if array.dtype == np.bool_ else 7
        for cells in (4, 8), (4, 8):
            for cell in cells:
                result, expected = env.step(cell), other.step(cell)
                for key in ("observation", "action_mask"):
                    assert (result[0][key] == expected[0][key]).all()
                    result[0][key][...] = 7
                assert (result[4]["action_mask"] == expected[4]["action_mask"]).all()
                result[4]["action_mask"][...] = 7
            env.reset(seed=0)
            other.reset(seed=0)


class TestInfo:
    @pytest.mark.parametrize("misere", [False, True])
    def test_info_holds_seat_and_final_winner(self, misere: bool) -> None:
        env = ttt_env.make("tictactoe-v0", opponent="random", illegal="resample", misere=misere)
        outcomes = set()
        for seed in range(200):
            (_, info), over = env.reset(seed=seed), False
            while not over:
                assert set(info) == {"action_mask", "seat"} and info["seat"] == "XO".index(env.seat)
                _, reward, over, _, info = env.step(seed % 9)
            assert set(info) == {"action_mask", "seat", "winner"}
            assert info["seat"] == "XO".index(env.seat) and info["winner"] == WINNERS[env.position.winner]
            assert reward == (0.0 if info["winner"] < 0 else 1.0 if info["winner"] == info["seat"] else -1.0)
            outcomes.add((env.seat, info["winner"]))
        assert outcomes == {(seat, winner) for seat in "XO" for winner in (0, 1, -1)}
        _, reward, over, _, info = one_player(4).step(4)
        assert (reward, over, info["winner"]) == (-1.0, True, -1)


@pytest.mark.parametrize("opponent", ["random", ["random", "minimax", lowest]], ids=["one", "list"])
def test_equal_seeds_give_equal_episodes(opponent: Any) -> None:
    env, other = (ttt_env.make("tictactoe-v0", opponent=opponent) for _ in range(2))
    other.reset(seed=99)
    episodes = [trajectory(env, seed=seed) for seed in range(30)] + [trajectory(env) for _ in range(30)]
    assert episodes[:30] == [trajectory(other, seed=seed) for seed in range(30)]
    assert episodes[30:] == [trajectory(other) for _ in range(30)]
    assert all(len({str(episode) for episode in half}) > 10 for half in (episodes[:30], episodes[30:]))
