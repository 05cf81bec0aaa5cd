"""GRPO of TRL plays whole games through tool calls, and teaches a tiny model which player to be.

Follows https://huggingface.co/docs/trl/openenv (the quick start)

The model is a transformer with random weights. Its first token is its own choice, the name of a player; from
there on `generate` spells what this player says: the call of a best cell, of the lowest free cell, of cell 0
even if it is taken, two calls at once, or no call at all. All else is TRL's: it reads the calls, plays them
with the environment's tool, shows the model what the tool says, asks for the rewards, and learns.

A second reward function, of weight 0, plays the calls of each completion again in a `TextEnv` of its own. In
TRL's logs both rewards are the same for every rollout, every row of the data set comes up, and after equal
moves all rollouts of a group have met the same reply. The perfect player earns most, and in the last steps
the model chooses it more often than all others together.

What differs from the quick start: the environment and the rows of its data set, which take the place of its
reward function too; the second reward function; the tokenizer and the model, which are made here, with the
chat template of the model in the quick start; and the sizes of the training.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[trl]", "trl==1.16.0", "transformers==5.23.0", "torch==2.13.0"]
# ///

import os
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import pandas as pd
import torch
from datasets import Dataset
from outcome import assert_unbeatable
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, TrainerCallback
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import add_response_schema, parse_response, qwen3_chat_template

import ttt_env  # ttt_env
from ttt_env.integrations.trl import GameEnvironment, rows, start_rows  # ttt_env
from ttt_env.text import TextEnv

GAME = ttt_env.get_game("tictactoe-v0")
SETTINGS = {"game": GAME, "opponent": "random", "board": "line", "reward": "shaped"}
GROUP = 16  # rollouts of a row
ROWS = 2  # of a step
STEPS = 25
END = "<|im_end|>"


def best(position: ttt_env.Position) -> int:
    """The first cell that keeps the value of the position."""
    return ttt_env.solve(GAME).best_cells(position)[0]


def call(cell: int) -> str:
    """The call of a tool as the chat template writes it."""
    return f'<tool_call>\n{{"name": "move", "arguments": {{"cell": {cell}}}}}\n</tool_call>'


PLAYERS: dict[str, Callable[[ttt_env.Position], str]] = {
    "<best>": lambda position: call(best(position)),
    "<lowest>": lambda position: call(position.legal_cells[0]),
    "<zero>": lambda position: call(0),
    "<hasty>": lambda position: "\n".join(call(cell) for cell in position.legal_cells[:2]),
    "<silent>": lambda position: "I had rather not play.",
}


class ScriptedModel(Qwen3ForCausalLM):
    """A model that chooses a player, and says what this player says."""

    tokenizer: PreTrainedTokenizerFast

    def generate(self, input_ids: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """As that of Transformers, which draws each token of those that the players would say."""
        told = self.tokenizer.batch_decode(input_ids)
        names = self.tokenizer.convert_tokens_to_ids(list(PLAYERS))
        scripts: dict[tuple[int, str], list[int]] = {}

        def allowed(row: int, ids: torch.Tensor) -> list[int]:
            said = self.tokenizer.decode(ids[input_ids.shape[1] :][:1])
            name = next((name for name in PLAYERS if name in told[row] + said), None)
            if name is None:
                return names
            if (row, name) not in scripts:
                is_first = name not in told[row]
                text = name * is_first + speech(name, told[row]) + END
                scripts[row, name] = self.tokenizer.encode(text)
            at = len(ids) - input_ids.shape[1]
            return scripts[row, name][at : at + 1] or [self.tokenizer.pad_token_id]

        return super().generate(input_ids, prefix_allowed_tokens_fn=allowed, **kwargs)


def speech(name: str, told: str) -> str:
    """A player's reply to the last message of a conversation."""
    message = told.rpartition("<|im_start|>user")[2]
    if "The game is over" in message:
        return "A good game."
    return PLAYERS[name](ttt_env.Position.parse(re.findall(r"[XO.]{3}/[XO.]{3}/[XO.]{3}", message)[-1]))


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer, trained on what is said in some games."""
    texts = [qwen3_chat_template]
    for seed in range(50):
        env = TextEnv(**SETTINGS)
        texts.append(env.reset(seed=seed))
        while not env.done:
            texts += [call(best(env.position)), env.move(best(env.position))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>", "<|im_start|>", END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens(list(PLAYERS))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=qwen3_chat_template,
        eos_token=END,
        pad_token="<|endoftext|>",
        padding_side="left",
    )


def check_cut_off(tokenizer: PreTrainedTokenizerFast) -> None:
    """Check that TRL reads no call, or the whole one, wherever a completion is cut off."""
    tokenizer, ids = add_response_schema(tokenizer), tokenizer.encode(call(12) + END)
    prefix = tokenizer.encode("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    parsed = [parse_response(tokenizer, ids[:end], prefix) for end in range(1, len(ids) + 1)]
    calls = [each.get("tool_calls") for each in parsed]
    assert calls[-1] and calls[0] is None and all(each in (None, calls[-1]) for each in calls)


def make_model(tokenizer: PreTrainedTokenizerFast) -> ScriptedModel:
    """A small model with random weights."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = ScriptedModel(config)
    model.tokenizer = tokenizer
    return model


def played_again(completions: list[list[dict[str, Any]]], log_extra: Any, **columns: Any) -> list[float]:
    """The rewards of each completion's calls in a `TextEnv`, for comparison with TRL's."""
    rewards, replies = [], {}
    for number, completion in enumerate(completions):
        env = TextEnv(**SETTINGS)
        row = {name: columns[name][number] for name in ("position", "play_as", "seed")}
        env.reset(**row)
        for arguments in arguments_of(completion):
            if not env.done:
                moment = (row["seed"], env.position, arguments["cell"])
                env.move(**arguments)
                assert replies.setdefault(moment, env.position) == env.position
        if not env.done:
            env.give_up()
        rewards.append(env.total_reward)
    log_extra("seed", columns["seed"])
    return rewards


def arguments_of(completion: list[dict[str, Any]]) -> list[dict[str, int]]:
    """The arguments of all calls in a completion."""
    calls = [each for message in completion for each in message.get("tool_calls") or []]
    return [each["function"]["arguments"] for each in calls]


class Progress(TrainerCallback):
    """A line for each step: its loss, and the mean reward of its rollouts."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **others: Any) -> None:
        """Print the line; TRL calls this after every step."""
        if "reward" in logs:
            said = f"loss {logs['loss']:+.4f}, mean reward {logs['reward']:+.3f}"
            print(f"step {state.global_step:2} of {STEPS}: {said}", flush=True)


def check(logs: pd.DataFrame, seeds: list[int]) -> None:
    """Check that TRL's log of each rollout is true, and that the model has learned."""
    assert logs["GameEnvironment"].equals(logs["played_again"])
    assert sorted(logs["seed"]) == sorted(seeds * GROUP)
    texts = logs["completion"].map(str)
    assert texts.str.contains("error.*The game is over").any()
    logs["player"] = [next(name for name in PLAYERS if name in text) for text in texts]
    print(logs.groupby("player")["GameEnvironment"].agg(["count", "min", "mean", "max"]))
    print(logs.groupby("step")["player"].value_counts().unstack(fill_value=0))
    last = logs[logs["step"] > STEPS * 3 / 4]
    assert (last["player"] == "<best>").mean() > 1 / 2


def main() -> None:
    """Train, check what was earned, and say what the perfect player is worth."""
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is", FutureWarning)  # once in every step
    print("Making a tokenizer and a model", flush=True)
    tokenizer = make_tokenizer()
    dataset = Dataset.from_list(rows(start_rows(GAME, plies=1, seeds=10)))  # ttt_env
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=make_model(tokenizer),
            processing_class=tokenizer,
            train_dataset=dataset,
            reward_funcs=played_again,
            args=GRPOConfig(
                folder,
                chat_template_kwargs={"enable_thinking": False},
                log_completions=True,
                num_completions_to_print=0,
                reward_weights=[0.0],
                num_generations=GROUP,
                per_device_train_batch_size=GROUP * ROWS,
                max_completion_length=1000,
                max_steps=STEPS,
                learning_rate=0.01,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                gradient_checkpointing=False,
                use_cpu=True,
                bf16=False,
            ),
            environment_factory=partial(GameEnvironment, **SETTINGS),  # ttt_env
            callbacks=[Progress()],
        )
        trainer.remove_callback(PrinterCallback)
        check_cut_off(tokenizer)
        print(f"Training: {STEPS} steps of {GROUP * ROWS} games", flush=True)
        trainer.train()
        tables = [pd.read_parquet(path) for path in sorted(Path(folder, "completions").iterdir())]
    check(pd.concat(tables, ignore_index=True), list(dataset["seed"]))
    assert_unbeatable(best, ["trl", "transformers", "torch"])


if __name__ == "__main__":
    main()
