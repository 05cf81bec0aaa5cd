"""Players from outside of this process: programs, files of Python, and models behind an endpoint."""

from ttt_env.bots.chat import ChatAgent
from ttt_env.bots.command import CommandAgent

__all__ = ["ChatAgent", "CommandAgent"]
