"""The language model of `scripts/grpo.py` on the leaderboard: GRPO with three rewards, and imitation."""

from collections.abc import Callable
from typing import Any

import grpo
import torch
from torch import Tensor

import ttt_env
from contest.protocol import MakeEnv, Report
from ttt_env import Boards, Position
from ttt_env.text import prompt_text

STEPS = 1000
OPPONENT = "minimax"  # draws uniformly from the best moves


class Games:
    """Games from these positions, played on by the model itself against an opponent; every move counts."""

    def __init__(
        self, model: grpo.LanguageModel, positions: list[Position], texts: list[str], make_env: MakeEnv
    ) -> None:
        self.model, self.heard, self.make_env, self.n_calls = model, model.whiten(texts), make_env, 0
        rows = {position: row for row, position in enumerate(positions)}
        self.next = torch.full((len(rows), grpo.LETTERS), -1)  # the row after an answer, -1 after the end
        self.result = torch.full((len(rows), grpo.LETTERS), -1.0)  # at the end, of the player who answers
        for position, row in rows.items():
            for cell in position.legal_cells:
                after, letter = position.play(cell), ord(str(cell))
                self.next[row, letter] = rows.get(after, -1)
                won = after.winner == position.to_move
                self.result[row, letter] = 0 if after.winner is None else 1 if won else -1
        opponent = ttt_env.make_agent(OPPONENT, make_env.game)
        self.replies = torch.zeros(self.next.shape)
        self.replies[:, grpo.CELLS] = torch.tensor(opponent.policies(Boards.of(positions))).float()

    def results(self, rows: Tensor, answers: Tensor) -> Tensor:
        """The results of games that begin with these answers `[B, answers]`: 1, 0 or -1 for the model."""
        if self.n_calls % 10 == 0:  # the model that plays on is at most ten steps old
            self.own = self.model.learned(self.heard).softmax(1).detach()
        self.n_calls += 1
        results, sign = torch.zeros(answers.numel()), 1
        games, at = torch.arange(answers.numel()), rows.repeat_interleave(answers.shape[1])
        letters = answers.flatten()
        while len(games):
            results[games] = sign * self.result[at, letters]
            at = self.next[at, letters]
            games, at, sign = games[at >= 0], at[at >= 0], -sign
            if sign > 0:
                self.make_env.count(len(games))
            letters = (self.own if sign > 0 else self.replies)[at].multinomial(1)[:, 0]
        return results.view_as(answers)


def player(positions: list[Position], replies: dict[str, str], exact: Tensor) -> Callable[[Position], int]:
    """The cells that a model answers with; where it names no free one, the one that gives away most."""
    cells = {}
    for position, letter, rewards in zip(positions, replies.values(), exact, strict=True):
        free = position.legal_cells
        worst = min(free, key=lambda cell: rewards[ord(str(cell))].item())
        cells[position] = int(letter) if letter in map(str, free) else worst
    return cells.__getitem__


def train(name: str, make_env: MakeEnv, seed: int, report: Report) -> Any:
    """Train a model by the way of this name for at most 1,000 steps, and report it every 100."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model, positions = grpo.LanguageModel(), grpo.open_positions(make_env.game.name)
    texts = [prompt_text(position, "line", "{cell}") for position in positions]
    exact = grpo.exact_rewards(positions)

    def regret(rows: Tensor, answers: Tensor) -> Tensor:
        make_env.count(answers.numel())
        return exact[rows[:, None], answers]

    def imitate(rows: Tensor, logs: Tensor) -> Tensor:
        make_env.count(len(rows))
        best = exact[rows] == 0
        return -(logs * best).sum(1).div(best.sum(1)).mean()

    if name == "imitation":
        loss = imitate
    elif name == "grpo":
        loss = grpo.grpo(regret)
    else:
        results = Games(model, positions, texts, make_env).results
        weight = float(name == "grpo-shaped")
        loss = grpo.grpo(lambda rows, answers: results(rows, answers) + weight * regret(rows, answers))
    policy: Any = "random"
    for _, replies in grpo.train(model, texts, loss, STEPS):
        policy = player(positions, replies, exact)
        if report(policy):
            break
    return policy
