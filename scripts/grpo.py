"""A language model that writes its moves, taught by GRPO alone until it is certified unbeatable.

The model is a causal transformer of one block whose tokens are letters. It reads the prompt of `TextEnv` and
answers with one letter. Nobody shows it a move, nor what an answer looks like: it answers each prompt several
times, and by GRPO (https://arxiv.org/abs/2402.03300) an answer becomes likelier if it gives away less value
than the others of its group.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np
import torch
from torch import Tensor, nn

import ttt_env
from ttt_env import Boards, Game, Position
from ttt_env.analysis.layers import reachable
from ttt_env.text import PromptAgent, prompt_text

LETTERS, CELLS, PLACES = 128, slice(ord("0"), ord("9")), 640  # ASCII; letters of cells; of a prompt
BATCH, GROUP, RATE = 256, 32, 2e-3  # prompts of a step, answers to each, rate of learning
EXPLORATION = 0.2  # the share of the answers that are drawn uniformly from all cells
Loss, Replies = Callable[[Tensor, Tensor], Tensor], dict[str, str]


class LanguageModel(nn.Module):
    """Attention from the last letter of a prompt to all of it, and three layers after it."""

    def __init__(self, width: int = 128, heads: int = 16, hidden: int = 384) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.letter, self.place = nn.Embedding(LETTERS, width), nn.Embedding(PLACES, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.requires_grad_(False)  # the attention stays random, so its output is computed once
        first, second, last = nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, LETTERS)
        self.learned = nn.Sequential(first, nn.GELU(), second, nn.GELU(), last)

    def read(self, texts: list[str]) -> Tensor:
        """The attention's output `[B, width]`; a letter that prompts share at a place is looked at once."""
        letters = nn.utils.rnn.pad_sequence(
            [torch.tensor(list(text.encode())) for text in texts], batch_first=True
        )
        seen, columns = (LETTERS * torch.arange(letters.shape[1]) + letters).unique(return_inverse=True)
        mask = torch.zeros(len(texts), len(seen), dtype=torch.bool).scatter_(1, columns, letters > 0)
        last = columns.gather(1, (letters > 0).sum(1, keepdim=True) - 1)[:, 0]
        states = self.qkv(self.norm(self.letter(seen % LETTERS) * self.place(seen // LETTERS)))
        q, k, v = states.unflatten(1, (3, self.heads, -1)).permute(1, 2, 0, 3)
        return nn.functional.scaled_dot_product_attention(q[:, last], k, v, mask).transpose(0, 1).flatten(1)

    def whiten(self, texts: list[str]) -> Tensor:
        """The white input `[B, width]` of the layers that learn: prompts differ in few of their letters."""
        read = self.read(texts)
        _, spread, axes = torch.linalg.svd(read - read.mean(0), full_matrices=False)
        self.out.weight.copy_(axes / spread.clamp_min(1e-3 * spread[0])[:, None] * len(read) ** 0.5)
        self.out.bias.copy_(-self.out.weight @ read.mean(0))
        return self.out(read)

    def reply(self, text: str) -> str:
        """The likeliest answer to a prompt."""
        return chr(self.learned(self.out(self.read([text]))).argmax())


def player(reply: Callable[[str], str], game: Game | str = "tictactoe-v0") -> PromptAgent:
    """The player whose answer to a prompt is what this function returns."""
    return PromptAgent(game, reply, board="line", answer="{cell}")


def open_positions(game: str = "tictactoe-v0") -> list[Position]:
    """All positions in which the game goes on, ply by ply."""
    return [each for layer in reachable(ttt_env.get_game(game)) for each in layer.boards(layer.open_slots)]


def exact_rewards(positions: list[Position]) -> Tensor:
    """Minus the value that each letter gives away, as `TextEnv(reward="regret")` has it: `[B, letters]`."""
    q = ttt_env.solve(positions[0].game).values.q(Boards.of(positions))
    best = np.nanmax(q, axis=1, keepdims=True)
    rewards = np.tile(-1 - best, LETTERS)  # what names no free cell loses the game
    rewards[:, CELLS] = np.where(np.isnan(q), -1 - best, q - best)
    return torch.from_numpy(rewards).float()


def grpo(reward: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """The loss of prompts `[B]` with the logarithms of their answers' chances `[B, letters]`."""
    uniform = torch.zeros(LETTERS)
    uniform[CELLS] = 1 / 9

    def loss_of(rows: Tensor, logs: Tensor) -> Tensor:
        own = logs.detach().exp()
        chances = (1 - EXPLORATION) * own + EXPLORATION * uniform
        answers = chances.multinomial(GROUP, replacement=True)
        rewards = reward(rows, answers)
        advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        # Bad answers that only exploration gives need not be unlearned.
        ratios = (own / chances).gather(1, answers)
        advantages = torch.where(advantages < 0, ratios * advantages, advantages)
        return -(advantages * logs.gather(1, answers)).mean()

    return loss_of


def train(model: LanguageModel, texts: list[str], loss_of: Loss, steps: int) -> Iterator[tuple[int, Replies]]:
    """Learn from prompts drawn uniformly; every 100 steps come the likeliest answers to all of them."""
    heard = model.whiten(texts)
    optimizer = torch.optim.Adam(model.learned.parameters(), RATE)
    for step in range(1, steps + 1):
        rows = torch.randint(len(texts), (BATCH,))
        loss = loss_of(rows, model.learned(heard[rows]).log_softmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            yield step, dict(zip(texts, map(chr, model.learned(heard).argmax(1)), strict=True))


def load(path: str | Path) -> LanguageModel:
    """The model whose weights are in a file."""
    model = LanguageModel()
    model.load_state_dict({name: torch.from_numpy(array).float() for name, array in np.load(path).items()})
    return model


def main() -> None:
    """Train a model, save it, and certify what the file holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2000, help="at most so many")
    parser.add_argument("--out", default="language-model.npz")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model, positions = LanguageModel(), open_positions()
    texts = [prompt_text(position, "line", "{cell}") for position in positions]
    rewards = exact_rewards(positions)
    loss_of = grpo(lambda rows, answers: rewards[rows[:, None], answers])
    for step, replies in train(model, texts, loss_of, options.steps):
        certificate = ttt_env.certify(player(replies.__getitem__))
        print(f"step {step}, {process_time():.0f} s: at worst {certificate.worst_case}", flush=True)
        if certificate.unbeatable:
            break
    np.savez(options.out, **{name: weights.half().numpy() for name, weights in model.state_dict().items()})
    print(ttt_env.certify(player(load(options.out).reply)))


if __name__ == "__main__":
    main()
