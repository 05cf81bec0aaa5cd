"""Players that are asked from outside: functions of prompts, programs, and models behind an endpoint."""

from ttt_env.text.players.chat import ChatAgent
from ttt_env.text.players.command import CommandAgent
from ttt_env.text.players.prompt import PromptAgent

__all__ = ["ChatAgent", "CommandAgent", "PromptAgent"]
