"""The language model of `scripts/grpo.py`, and the one that comes with the documentation."""

import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import grpo  # noqa: E402

import ttt_env  # noqa: E402
from ttt_env.text import prompt_text  # noqa: E402

SHIPPED = ROOT / "docs" / "learn" / "language-model.npz"


def test_the_shipped_model_is_certified_by_asking_it_in_every_position() -> None:
    certificate = ttt_env.certify(grpo.player(grpo.load(SHIPPED).reply))
    assert certificate.unbeatable
    assert certificate.source == "recorded"


def test_it_fits_in_the_repository() -> None:
    assert SHIPPED.stat().st_size < 1_000_000


def test_a_prompt_is_answered_alone_as_among_others() -> None:
    model = grpo.load(SHIPPED)
    layers = grpo.reachable(grpo.GAME)
    positions = [position for layer in layers for position in layer.boards(layer.open)][::50]
    texts = [prompt_text(position, "line", "{cell}") for position in positions]
    assert model.replies(grpo.Prompts(texts)) == [model.reply(text) for text in texts]


def test_a_saved_model_answers_as_before(tmp_path: Path) -> None:
    model = grpo.load(SHIPPED)
    grpo.save(model, str(tmp_path / "again.npz"))
    with np.load(SHIPPED) as old, np.load(tmp_path / "again.npz") as new:
        assert all((old[name] == new[name]).all() for name in old)


def test_an_answer_is_rewarded_with_minus_the_value_that_it_gives_away() -> None:
    position = ttt_env.Position.parse("XX./OO./...")  # 2 wins, 5 draws, 8 loses, 0 is taken
    assert [grpo.reward(position, letter) for letter in "2580"] == [0, -1, -2, -2]


def test_attention_is_left_as_it_was_whitened() -> None:
    torch.manual_seed(0)
    model = grpo.LanguageModel(width=16, heads=4, hidden=16)
    layer = grpo.reachable(grpo.GAME)[7]
    positions = list(layer.boards(layer.open))
    grpo.train(model, positions, form=3, steps=3)
    prompts = grpo.Prompts([prompt_text(position, "line", "{cell}") for position in positions])
    heard = model.out(model.read(prompts)).detach()
    assert heard.mean(0).abs().max() < 0.01
    assert (heard.std(0) < 1.1).all()
