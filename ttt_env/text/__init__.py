"""Games as conversations, for language models: boards as text, moves as replies, exact rewards."""

from ttt_env.text.answers import AnswerFormat, Reading
from ttt_env.text.env import TextEnv
from ttt_env.text.prompt import PromptAgent
from ttt_env.text.two_player import TwoPlayerTextEnv
from ttt_env.text.wording import board_text, prompt_text, refutation_text, rules_text

__all__ = [
    "AnswerFormat",
    "PromptAgent",
    "Reading",
    "TextEnv",
    "TwoPlayerTextEnv",
    "board_text",
    "prompt_text",
    "refutation_text",
    "rules_text",
]
