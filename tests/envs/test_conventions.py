"""Conventions of Gymnasium, PettingZoo and Stable-Baselines3 that users expect."""

import gymnasium
import numpy as np
import pytest

import ttt_env
from ttt_env.envs.sb3 import make_vec_env


@pytest.mark.parametrize("name", ["observation_space", "action_space"])
def test_vector_env_returns_spaces_of_one_game(name):
    envs = ttt_env.make_vec("square-v0", num_envs=3, opponent="random")
    assert envs.get_attr(name) == envs.call(name) == (getattr(envs, f"single_{name}"),) * 3
    pytest.importorskip("stable_baselines3")
    vec = make_vec_env("square-v0", n_envs=3)
    assert vec.get_attr(name) == [getattr(vec, name)] * 3
    assert vec.get_attr(name, indices=[1]) == [getattr(vec, name)]
    assert vec.get_attr("observation_space")[0].shape == (4, 4, 2)


def test_make_vec_env_accepts_env_kwargs_like_sb3():
    pytest.importorskip("stable_baselines3")
    envs = make_vec_env("tictactoe-v0", n_envs=5, env_kwargs={"play_as": "O", "observation": "flat"})
    assert envs.reset().shape == (5, 18) and set(envs.get_attr("seat")) == {"O"}
    assert make_vec_env("mnk-v0", env_kwargs={"m": 4}, n=3, k=3).observation_space.shape == (3, 4, 2)
    perfect = make_vec_env("tictactoe-v0", n_envs=2, env_kwargs={"opponent": "minimax"})
    perfect.reset()
    assert [opponent.label for opponent in perfect.get_attr("opponent")] == ["minimax"] * 2
    with pytest.raises(ttt_env.TttEnvError, match="autoreset_mode"):
        make_vec_env("tictactoe-v0", env_kwargs={"autoreset_mode": "next_step"})


def test_state_is_same_board_for_both_seats():
    env = ttt_env.make("tictactoe-v0")
    with pytest.raises(ttt_env.TttEnvError, match="reset"):
        env.state()
    env.reset(seed=0)
    for cell in (4, 0, 8):
        env.step(cell)
    expected = np.zeros((3, 3, 2), np.int8)
    expected[1, 1, 0] = expected[2, 2, 0] = expected[0, 0, 1] = 1
    assert np.array_equal(env.state(), expected)
    env.step(2)
    expected[0, 2, 1] = 1
    assert np.array_equal(env.state(), expected)


@pytest.mark.parametrize("opponent", [None, "random"])
def test_notebook_shows_board_of_env(opponent):
    env = ttt_env.make("tictactoe-v0", opponent=opponent)
    assert env._repr_svg_() == env.game.start._repr_svg_()
    env.reset(seed=0)
    env.step(4)
    assert env._repr_svg_().count("<circle") + env._repr_svg_().count("<path") > 0
    assert env._repr_svg_() != env.game.start._repr_svg_()


def test_text_of_env_names_its_opponents():
    assert "against random" in str(gymnasium.make("ttt_env/tictactoe-v0"))
    env = ttt_env.make("tictactoe-v0", opponent=["minimax", "random"])
    assert str(env) == "<SingleAgentEnv of tictactoe-v0 against minimax or random>"


def test_gymnasium_records_video_of_episode(tmp_path):
    pytest.importorskip("moviepy")
    env = ttt_env.make("tictactoe-v0", opponent="random", render_mode="rgb_array")
    with gymnasium.wrappers.RecordVideo(env, str(tmp_path / "films"), disable_logger=True) as recorded:
        _, info = recorded.reset(seed=0)
        is_over = False
        while not is_over:
            action = recorded.action_space.sample(info["action_mask"])
            *_, is_over, _, info = recorded.step(action)
    (film,) = (tmp_path / "films").glob("*.mp4")
    assert film.stat().st_size > 1000
