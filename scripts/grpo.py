"""A language model that writes its moves, taught by GRPO alone until it is certified unbeatable.

The model is a causal transformer of one block, whose tokens are letters. It reads the prompt of `TextEnv` and
answers with one letter. First it is taught the form of an answer: any free cell, all equally often. Then
comes GRPO (https://arxiv.org/abs/2402.03300), in which nobody shows it a move: it answers each prompt several
times, and an answer becomes likelier if it gives away less value than the others of its group. Prompts whose
answers have lately given away more are drawn more often.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

import ttt_env
from ttt_env import Position
from ttt_env.analysis.layers import reachable
from ttt_env.text import TextEnv, prompt_text
from ttt_env.text.players import PromptAgent

GAME = ttt_env.get_game("tictactoe-v0")
ENV = TextEnv(GAME, reward="regret", board="line", answer="{cell}")
LETTERS = "\n" + "".join(map(chr, range(32, 127)))
PLACES = 640  # letters of the longest prompt
BATCH, GROUP = 256, 32  # prompts of a step, answers to each
RATE, ENTROPY, EXPLORATION = 2e-3, 0.02, 0.2  # of the answers, a fifth are drawn uniformly from all cells


class Prompts:
    """Texts `[B]`: a table of all (place, letter) pairs that occur, and a mask of the pairs of each text."""

    def __init__(self, texts: list[str]) -> None:
        columns = {
            pair: at for at, pair in enumerate({pair: 0 for text in texts for pair in enumerate(text)})
        }
        self.places = torch.tensor([place for place, _ in columns])
        self.letters = torch.tensor([LETTERS.index(letter) for _, letter in columns])
        self.ends = torch.tensor([columns[len(text) - 1, text[-1]] for text in texts])
        self.mask = torch.zeros(len(texts), len(columns), dtype=torch.bool)
        for row, text in zip(self.mask, texts, strict=True):
            row[[columns[pair] for pair in enumerate(text)]] = True


class Layer(nn.Module):
    """A gated layer (SwiGLU) on a normed residual stream."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 2 * hidden),
            nn.Linear(hidden, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The stream after it `[R, width]`."""
        gate, value = self.up(self.norm(x)).chunk(2, 1)
        return x + self.down(silu(gate) * value)


class LanguageModel(nn.Module):
    """Attention from the last letter of a prompt to all of it, and two gated layers after it.

    The attention keeps its random weights, so what it hears is computed once. The rest learns.
    """

    def __init__(self, width: int = 128, heads: int = 16, hidden: int = 256) -> None:
        super().__init__()
        self.heads = heads
        self.letter, self.place = nn.Embedding(len(LETTERS), width), nn.Embedding(PLACES, width)
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.learned = nn.Sequential(
            Layer(width, hidden), Layer(width, hidden), nn.LayerNorm(width), nn.Linear(width, len(LETTERS))
        )

    @torch.no_grad()
    def read(self, prompts: Prompts) -> Tensor:
        """What the heads of attention read `[B, width]`."""
        states = self.qkv(self.norm(self.letter(prompts.letters) * self.place(prompts.places)))
        q, k, v = (part.unflatten(1, (self.heads, -1)).transpose(0, 1)[None] for part in states.chunk(3, 1))
        q = q[:, :, prompts.ends]
        return scaled_dot_product_attention(q, k, v, prompts.mask)[0].transpose(0, 1).flatten(1)

    @torch.no_grad()
    def whiten(self, prompts: Prompts) -> None:
        """Let `out` give mean 0, variance 1 and no correlation over these prompts.

        Prompts differ in few of their letters, and these are hardly heard otherwise.
        """
        for weights in self.parameters():
            weights.copy_(weights.half())  # as they are saved
        heard = self.read(prompts)
        _, spread, axes = torch.linalg.svd(heard - heard.mean(0), full_matrices=False)
        deviation = spread.clamp_min(1e-3 * spread[0]) / len(heard) ** 0.5
        self.out.weight.copy_((axes / deviation[:, None]).half())
        self.out.bias.copy_(-self.out.weight @ heard.mean(0))

    def forward(self, prompts: Prompts) -> Tensor:
        """The logits of the next letter `[B, letters]`."""
        return self.learned(self.out(self.read(prompts)))

    @torch.no_grad()
    def replies(self, prompts: Prompts) -> list[str]:
        """The likeliest answers."""
        return [LETTERS[at] for at in self(prompts).argmax(1)]

    def reply(self, text: str) -> str:
        """The likeliest answer to one prompt."""
        return self.replies(Prompts([text]))[0]


def player(reply: Callable[[str], str]) -> PromptAgent:
    """The player whose answer to a prompt is what this function returns."""
    return PromptAgent(GAME, reply, board="line", answer="{cell}")


def reward(position: Position, letter: str) -> float:
    """Minus the value that an answer gives away, exactly."""
    ENV.reset(position=position, play_as=position.to_move)
    ENV.reply(letter)
    return ENV.reward


def train(
    model: LanguageModel, positions: list[Position], *, form: int, steps: int, rate: float = RATE
) -> None:
    """Teach the form in so many steps, then moves in at most so many, until nobody beats the model."""
    texts = [prompt_text(position, "line", "{cell}") for position in positions]
    prompts = Prompts(texts)
    model.whiten(prompts)
    heard = model.out(model.read(prompts)).detach()
    free = torch.tensor([[letter in map(str, each.legal_cells) for letter in LETTERS] for each in positions])
    cells = torch.tensor([letter in map(str, range(GAME.n_cells)) for letter in LETTERS])
    known = torch.full(free.shape, torch.nan)  # the rewards that have been asked for
    lost = torch.ones(len(positions))  # a running mean of the value that answers to each prompt give away
    optimizer = torch.optim.Adam(model.learned.parameters(), betas=(0.9, 0.98))
    for step in range(1 - form, steps + 1):
        rows = (lost + 0.05).multinomial(BATCH)
        logs = model.learned(heard[rows]).log_softmax(1)
        if step <= 0:
            loss = -(logs * free[rows]).sum(1).div(free[rows].sum(1)).mean()
        else:
            chances = (1 - EXPLORATION) * logs.detach().exp() + EXPLORATION * cells / cells.sum()
            answers = chances.multinomial(GROUP, replacement=True)
            drawn = rows[:, None].expand_as(answers)
            for row, at in (
                torch.stack([drawn, answers], 2)[known[drawn, answers].isnan()].unique(dim=0).tolist()
            ):
                known[row, at] = reward(positions[row], LETTERS[at])
            rewards = known[drawn, answers]
            advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
            entropy = -(logs.exp() * logs).sum(1)
            loss = -(advantages * logs.gather(1, answers)).mean() - ENTROPY * entropy.mean()
            lost[rows] += 0.3 * (-rewards.mean(1) - lost[rows])
        optimizer.param_groups[0]["lr"] = (
            rate * min(1, (step + form) / 20) * (1 - 0.95 * max(step, 0) / steps)
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.learned.parameters(), 1.0)
        optimizer.step()
        if step >= 0 and step % 100 == 0 and is_unbeatable(model, positions, texts, step):
            break


def is_unbeatable(model: LanguageModel, positions: list[Position], texts: list[str], step: int) -> bool:
    """Print what the likeliest answers are worth, and say whether nobody beats them."""
    answers = model.replies(Prompts(texts))
    faults = sum(reward(*each) < 0 for each in zip(positions, answers, strict=True))
    worst = ttt_env.certify(player(dict(zip(texts, answers, strict=True)).__getitem__)).worst_case
    print(
        f"step {step}, {process_time():.0f} s: gives value away in {faults} of {len(answers)} positions, "
        f"at worst gets {worst['X']} as X, {worst['O']} as O",
        flush=True,
    )
    return min(worst.values()) >= 0


def save(model: LanguageModel, path: str) -> None:
    """Write the weights as numbers of 16 bits, but for the shift that centres what is heard."""
    weights = {name: each.numpy() for name, each in model.state_dict().items()}
    halves = {name: each.astype(np.float16) for name, each in weights.items()}
    np.savez(path, **(halves | {"out.bias": weights["out.bias"]}))


def load(path: str | Path) -> LanguageModel:
    """The model whose weights are in a file."""
    with np.load(path) as arrays:
        weights = {name: torch.from_numpy(arrays[name]).float() for name in arrays}
    model = LanguageModel(*weights["out.weight"].shape[:1], hidden=len(weights["learned.0.up.bias"]) // 2)
    model.load_state_dict(weights)
    return model


def main() -> None:
    """Train a model, save it, and certify what the file holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--form", type=int, default=150, help="steps that teach the form")
    parser.add_argument("--steps", type=int, default=2000, help="at most so many of GRPO")
    parser.add_argument("--out", default="language-model.npz")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = LanguageModel()
    positions = [each for layer in reachable(GAME) for each in layer.boards(layer.open)]
    train(model, positions, form=options.form, steps=options.steps)
    save(model, options.out)
    print(ttt_env.certify(player(load(options.out).reply)))


if __name__ == "__main__":
    main()
