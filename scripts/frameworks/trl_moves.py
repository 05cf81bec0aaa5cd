"""GRPO of TRL teaches a small language model that writes its moves itself, from exact regret alone.

Follows https://huggingface.co/docs/trl/grpo_trainer (the quick start)

The model is a GPT-2 of 0.4 million weights, random at first. It is shown the prompt of `TextEnv` and answers
with one token. The only reward is minus the value that this token gives away; one that names no free cell
loses the game. Nobody shows the model a move, nor what an answer looks like, as in `scripts/grpo.py`.
Training stops once nobody gains anything against the likeliest answers, with seed 0 after 500 steps; with
seed 1 they give value away in 2 % of all positions by then. The script fails if they do so in 5 % or more;
random play does so in 42 %.

What differs from the quick start: the prompts and the reward function; the tokenizer and the model, which are
made here. Letters are tokens, and so is each of the three passages that all prompts share. The initial
weights are larger than GPT-2's, which suit wider models, and equal prompts of a batch are read once. A
`rollout_func` draws a fifth of the answers uniformly from all cells, so that a model that is sure of a wrong
one tries others; with `off_policy_mask_threshold` TRL skips the bad ones among them that the model would
hardly have given.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "trl==1.16.0", "transformers==5.23.0", "torch==2.13.0"]
# ///

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import numpy as np
import torch
from datasets import Dataset
from outcome import is_unbeatable, outcome
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model, PreTrainedTokenizerFast, TrainerCallback
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

import ttt_env  # ttt_env
from ttt_env import Boards  # ttt_env
from ttt_env.analysis.layers import reachable  # ttt_env
from ttt_env.text import (
    PromptAgent,  # ttt_env
    prompt_text,  # ttt_env
)

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
PAD, LETTERS = 0, "XO./012345678"
CELLS = slice(1 + LETTERS.index("0"), 1 + len(LETTERS))  # the tokens that name cells
PROMPTS, GROUP = 128, 16  # of a step, and completions of each
EXPLORATION = 0.2  # the share of the completions that are drawn uniformly from all cells
STEPS = 700  # at most
Reward = Callable[[list[str], list[str]], list[float]]


class Reader(GPT2Model):
    """GPT-2 that reads equal prompts of a batch once."""

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        """The last states `[B, tokens, width]`; those of the completion, which nothing follows, are zero."""
        scores = torch.is_grad_enabled()  # TRL appends the completion to score it
        prompts, places = input_ids[:, : -1 if scores else None].unique(dim=0, return_inverse=True)
        mask = (prompts != PAD).long()
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        output = super().forward(prompts, attention_mask=mask, position_ids=positions, use_cache=False)
        states = output.last_hidden_state[places]
        output.last_hidden_state = torch.nn.functional.pad(states, (0, 0, 0, int(scores)))
        return output


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of letters, and of the three passages that all these prompts share."""
    rest = "It is your turn. Free cells:", ". Answer with the number of a free cell in the form"
    vocabulary = {"<pad>": PAD, **{letter: token for token, letter in enumerate(LETTERS, 1)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    spaces, letters = pre_tokenizers.Split(Regex(r"\s+"), "removed"), pre_tokenizers.Split("", "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([spaces, letters])
    tokenizer.add_tokens([texts[0][: texts[0].index("You are ") + 8], *rest])
    tokens = {"pad_token": "<pad>", "eos_token": "<pad>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **tokens)


def regrets(positions: list[ttt_env.Position]) -> list[list[float]]:
    """Minus the value that each cell gives away, and last that of an answer without a free cell."""
    q = ttt_env.solve(GAME).values.q(Boards.of(positions))  # ttt_env
    best = np.nanmax(q, axis=1, keepdims=True)
    return np.hstack([np.where(np.isnan(q), -1 - best, q - best), -1 - best]).tolist()


def rollouts(prompts: list[str], trainer: GRPOTrainer) -> dict[str, list[Any]]:
    """Completions of one token; TRL names each prompt as often as it wants completions."""
    batch = trainer.processing_class(prompts[::GROUP], padding=True, return_tensors="pt")
    with torch.no_grad():
        own = trainer.model(input_ids=batch["input_ids"], logits_to_keep=1).logits[:, -1].softmax(1)
    chances = (1 - EXPLORATION) * own
    chances[:, CELLS] += EXPLORATION / 9
    tokens = chances.multinomial(GROUP, replacement=True)
    ids = [row[row != PAD].tolist() for row in batch["input_ids"]]
    return {
        "prompt_ids": [each for each in ids for _ in range(GROUP)],
        "completion_ids": tokens.reshape(-1, 1).tolist(),
        "logprobs": chances.gather(1, tokens).log().reshape(-1, 1).tolist(),
    }


class Progress(TrainerCallback):
    """Every 100 steps a line on the likeliest answers to all prompts; the end, once they are unbeatable."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, reward: Reward, texts: list[str]) -> None:
        self.tokenizer, self.reward, self.texts = tokenizer, reward, texts

    def on_step_end(self, args: Any, state: Any, control: Any, model: GPT2LMHeadModel, **others: Any) -> None:
        """Ask the model; TRL calls this after every step."""
        if state.global_step % 100 == 0:
            replies = answers(model, self.tokenizer, self.texts)
            blunders = sum(reward < 0 for reward in self.reward(self.texts, replies))
            agent = player(dict(zip(self.texts, replies, strict=True)).__getitem__)
            done = (
                f"step {state.global_step}, {process_time():.0f} s, {blunders} answers that give value away"
            )
            control.should_training_stop = is_unbeatable(agent, done)  # ttt_env


def answers(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> list[str]:
    """The likeliest answer to each prompt."""
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(batch["input_ids"], logits_to_keep=1).logits
    return tokenizer.batch_decode(logits.argmax(2))


def player(reply: Callable[[str], str]) -> PromptAgent:
    """The player whose answer to a prompt is what this function returns."""
    return PromptAgent(GAME, reply, board="line", answer="{cell}")  # ttt_env


def main(seed: int = 0) -> None:
    """Train a model until it cannot be beaten, and certify it."""
    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    warnings.filterwarnings("ignore", "`(is_)?gradient_checkpointing` is", FutureWarning)
    positions = [each for layer in reachable(GAME) for each in layer.boards(layer.open)]  # ttt_env
    texts = [prompt_text(position, "line", "{cell}") for position in positions]  # ttt_env
    rewards = dict(zip(texts, regrets(positions), strict=True))
    # In a lost position all answers lose, so there is nothing to learn.
    dataset = Dataset.from_dict({"prompt": [text for text in texts if any(rewards[text])]})

    def reward(prompts: list[str], completions: list[str], **others: Any) -> list[float]:
        cells = [int(each) if each.isdigit() else -1 for each in completions]
        return [rewards[prompt][cell] for prompt, cell in zip(prompts, cells, strict=True)]

    tokenizer = make_tokenizer(texts)
    torch.manual_seed(seed)
    size = {"vocab_size": len(tokenizer), "n_positions": 32, "n_embd": 128, "n_layer": 2, "n_head": 8}
    config = GPT2Config(**size, initializer_range=0.15, pad_token_id=PAD)
    model = GPT2LMHeadModel(config)
    model.transformer = Reader(config)
    model.tie_weights()
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            train_dataset=dataset,
            reward_funcs=reward,
            args=GRPOConfig(
                folder,
                seed=seed,
                num_generations=GROUP,
                per_device_train_batch_size=GROUP * PROMPTS,
                max_completion_length=1,
                off_policy_mask_threshold=0.5,
                max_steps=STEPS,
                learning_rate=2e-3,
                lr_scheduler_type="cosine",
                warmup_steps=20,
                adam_beta2=0.99,
                disable_dropout=True,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                gradient_checkpointing=False,
                use_cpu=True,
                bf16=False,
            ),
            rollout_func=rollouts,
            callbacks=[Progress(tokenizer, reward, texts)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    agent = player(lambda text: answers(model, tokenizer, [text])[0])
    certificate = outcome(agent, ["trl", "transformers", "torch"])
    blunders = sum(each < 0 for each in reward(texts, answers(model, tokenizer, texts)))
    print(f"value given away in {blunders} of {len(texts)} positions; unbeatable: {certificate.unbeatable}")
    assert blunders < len(texts) / 20  # random play does so in 42 %


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
