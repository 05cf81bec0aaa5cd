"""The language model of `grpo.py` in positions and in a notation that it has not been trained on, exactly.

In *half* it learns the positions of a random half of the symmetry classes, and is asked in the others too. In
*notation* it learns all positions with the board in one line, and is then shown the board in other ways. A
blunder is an answer that gives value away; what names no free cell loses the game. Random play names a free
cell.
"""

import argparse
from collections import defaultdict

import numpy as np
import torch
from grpo import LanguageModel, exact_rewards, grpo, open_positions, train
from torch import Tensor

from ttt_env.render.table import Table
from ttt_env.rules import canonical
from ttt_env.text import prompt_text

COLUMNS = ("trained on", "asked in", "blunders", "value given away", "no free cell")
Figures = tuple[float, float, float]


def learned(texts: list[str], rewards: Tensor, seed: int, steps: int) -> LanguageModel:
    """The model of a seed after so many steps with these prompts and their rewards `[B, letters]`."""
    torch.manual_seed(seed)
    model = LanguageModel()
    list(train(model, texts, grpo(lambda rows, answers: rewards[rows[:, None], answers]), steps))
    return model


def figures(model: LanguageModel, texts: list[str], rewards: Tensor, is_free: Tensor) -> Figures:
    """The shares of blunders and of answers without a free cell, and the mean value given away."""
    answers = model.learned(model.out(model.read(texts))).argmax(1, keepdim=True)
    given = -rewards.gather(1, answers)
    return (
        (given > 0).float().mean().item(),
        given.mean().item(),
        (~is_free.gather(1, answers)).float().mean().item(),
    )


def main() -> None:
    """Train the models of all seeds, and print medians with ranges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    positions = open_positions()
    rewards = exact_rewards(positions)
    cells = torch.tensor([[chr(at) in map(str, each.legal_cells) for at in range(128)] for each in positions])
    texts = {
        board: [prompt_text(each, board, "{cell}") for each in positions]
        for board in ("line", "grid", "coordinates")
    }
    line = texts["line"]
    classes = list(dict.fromkeys(map(canonical, positions)))
    found: defaultdict[tuple[str, str], list[Figures]] = defaultdict(list)

    def ask(model: LanguageModel, trained: str, asked: str, rows: np.ndarray, board: str = "line") -> None:
        told = [texts[board][row] for row in rows]
        found[trained, asked].append(figures(model, told, rewards[rows], cells[rows]))

    everything = np.arange(len(positions))
    for seed in range(options.seeds):
        drawn = np.random.default_rng(seed).permutation(len(classes))[: len(classes) // 2]
        half = {classes[at] for at in drawn}
        is_shown = np.array([canonical(each) in half for each in positions])
        shown, hidden = np.flatnonzero(is_shown), np.flatnonzero(~is_shown)
        model = learned([line[row] for row in shown], rewards[shown], seed, options.steps)
        ask(model, "half of the classes", "the same half", shown)
        ask(model, "half of the classes", "the other half", hidden)
        model = learned(line, rewards, seed, options.steps)
        for board in texts:
            ask(model, "all positions, line", f"all positions, {board}", everything, board)
    uniform = (rewards * cells).sum(1) / cells.sum(1)
    blunders = ((rewards < 0) & cells).sum(1) / cells.sum(1)
    rows = [("random play", "all positions", f"{blunders.mean():.1%}", f"{-uniform.mean():.3f}", "0.0%")]
    for (trained, asked), each in found.items():
        shown_as = ("{:.1%}", "{:.3f}", "{:.1%}")
        spread = [
            f"{form.format(np.median(column))} ({form.format(min(column))} to {form.format(max(column))})"
            for form, column in zip(shown_as, zip(*each, strict=True), strict=True)
        ]
        rows.append((trained, asked, *spread))
    print(Table.of(COLUMNS, rows, "llr").to_markdown())


if __name__ == "__main__":
    main()
