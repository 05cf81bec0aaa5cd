"""The loss of GRPO: an answer's advantage is measured against the other answers of its own group."""

import runpy
from math import exp, log
from statistics import fmean, stdev

import pytest

from tests.support.documents import ROOT

torch = pytest.importorskip("torch")
GRPO = runpy.run_path(str(ROOT / "scripts" / "grpo.py"))
SHARE = 0.2  # of the answers, which are drawn uniformly from the nine cells


def naive_loss(chances, answers, rewards):
    """Minus the mean of advantage times log-chance over all answers, group by group."""
    terms = []
    for chance_of, group, earned in zip(chances, answers, rewards, strict=True):
        mean, spread = fmean(earned), stdev(earned)
        for answer, reward in zip(group, earned, strict=True):
            advantage, own = (reward - mean) / (spread + 1e-4), chance_of[answer]
            if advantage < 0:  # counts as often as the model itself gives the answer
                uniform = 1 / 9 if chr(answer) in "012345678" else 0
                advantage *= own / ((1 - SHARE) * own + SHARE * uniform)
            terms.append(advantage * log(own))
    return -fmean(terms)


def test_advantages_are_relative_to_the_group():
    """A reward that is poor in the second group would be far above the mean of the batch."""
    torch.manual_seed(0)
    n_groups, letters = 3, GRPO["LETTERS"]
    scores, rows = torch.randn(n_groups, letters), torch.tensor([2, 0, 1])
    table = torch.randn(n_groups, letters) + torch.tensor([0.0, 50.0, -7.0])[:, None]
    calls = []

    def reward(rows, answers):
        calls.append((rows, answers))
        return table[rows[:, None], answers]

    logs = scores.log_softmax(1)
    loss = GRPO["grpo"](reward)(rows, logs)
    ((rows_given, answers),) = calls
    assert rows_given.equal(rows) and answers.shape == (n_groups, GRPO["GROUP"])
    chances = [[exp(each) for each in group] for group in logs.tolist()]
    rewards = [
        [table[row, a].item() for a in group] for row, group in zip(rows, answers.tolist(), strict=True)
    ]
    assert loss.item() == pytest.approx(naive_loss(chances, answers.tolist(), rewards), rel=1e-4)
