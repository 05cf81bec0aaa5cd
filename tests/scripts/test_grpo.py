"""The language model of `scripts/grpo.py`, the model that is shipped with the docs, and its comparisons."""

from pathlib import Path

import grpo
import numpy as np
import pytest
import torch
from contest.language_models import Games, player
from contest.protocol import MakeEnv, Steps

import ttt_env
from tests.support.documents import ROOT
from tests.support.games import TICTACTOE
from ttt_env.text import TextEnv, prompt_text

SHIPPED = ROOT / "docs" / "learn" / "language-model.npz"


def texts_of(positions: list[ttt_env.Position]) -> list[str]:
    return [prompt_text(position, "line", "{cell}") for position in positions]


@pytest.mark.slow
def test_shipped_model_is_small_and_certified() -> None:
    certificate = ttt_env.certify(grpo.player(grpo.load(SHIPPED).reply))
    assert certificate.unbeatable and certificate.n_queries
    assert SHIPPED.stat().st_size < 1_000_000


def test_batch_does_not_change_answers() -> None:
    model = grpo.load(SHIPPED)
    texts = texts_of(grpo.open_positions()[::50])
    answers = model.learned(model.out(model.read(texts))).argmax(1)
    assert list(map(chr, answers)) == [model.reply(text) for text in texts]


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true"])
@pytest.mark.slow
def test_rewards_equal_environment(game: str) -> None:
    positions = grpo.open_positions(game)[::40]
    env = TextEnv(game, reward="regret", answer="{cell}")
    for position, rewards in zip(positions, grpo.exact_rewards(positions).tolist(), strict=True):
        for letter in "0123456789x":
            env.reset(position=position, play_as=position.to_move)
            env.reply(letter)
            assert env.reward == rewards[ord(letter)]


def test_attention_output_stays_whitened() -> None:
    torch.manual_seed(0)
    model = grpo.LanguageModel(width=16, heads=4, hidden=16)
    positions = [position for position in grpo.open_positions() if position.ply == 7]
    rewards = grpo.exact_rewards(positions)
    loss_of = grpo.grpo(lambda rows, answers: rewards[rows[:, None], answers])
    texts = texts_of(positions)
    assert list(grpo.train(model, texts, loss_of, 3)) == []
    outputs = model.out(model.read(texts))
    assert outputs.mean(0).abs().max() < 0.01
    assert (outputs.std(0) < 1.1).all()


def test_bad_answer_is_weighted_by_its_probability() -> None:
    torch.manual_seed(0)
    scores = torch.full((1, grpo.LETTERS), -20.0)
    scores[0, ord("0")] = 20.0  # the model is sure of cell 0; only exploration draws the others
    scores.requires_grad_()
    rewards = torch.full((1, grpo.LETTERS), -2.0)
    rewards[0, ord("0")], rewards[0, ord("1")] = -1.0, 0.0
    loss_of = grpo.grpo(lambda rows, answers: rewards[rows[:, None], answers])
    for _ in range(200):
        loss_of(torch.zeros(1, dtype=torch.long), scores.log_softmax(1)).backward()
    assert scores.grad is not None
    assert scores.grad[0, ord("1")] < 0 < scores.grad[0, ord("0")]
    assert scores.grad[0, ord("2")].abs() < 1e-6


@pytest.mark.slow
def test_results_equal_games_against_opponent() -> None:
    positions = grpo.open_positions()
    model = grpo.load(SHIPPED)
    steps = Steps()
    games = Games(model, positions, texts_of(positions), MakeEnv(TICTACTOE, steps))
    rows = torch.arange(0, len(positions), 240)
    answers = torch.tensor([[ord(str(cell)) for cell in range(9)] for _ in rows])
    results = games.results(rows, answers)
    values = grpo.exact_rewards(positions)[rows[:, None], answers] + torch.tensor(
        [[ttt_env.solve(TICTACTOE).value_of(positions[row])] for row in rows]
    )
    # No result exceeds the value against a perfect opponent, and a trained model nearly always reaches it.
    assert (results <= values).all()
    assert (results == values).float().mean() > 0.99
    assert steps.n > 0


def test_answer_without_free_cell_counts_as_worst() -> None:
    position = ttt_env.Position.parse("XX./OO./...")  # 2 wins, 5 draws, 6 to 8 lose
    exact = grpo.exact_rewards([position])
    assert player([position], {"": "0"}, exact)(position) in (6, 7, 8)
    assert player([position], {"": "x"}, exact)(position) in (6, 7, 8)
    assert player([position], {"": "5"}, exact)(position) == 5


def test_saved_model_answers_equally(tmp_path: Path) -> None:
    model = grpo.load(SHIPPED)
    np.savez(tmp_path / "again.npz", **{name: each.numpy() for name, each in model.state_dict().items()})
    again = grpo.load(tmp_path / "again.npz")
    texts = texts_of(grpo.open_positions()[:5])
    assert [model.reply(text) for text in texts] == [again.reply(text) for text in texts]
