"""The environment that verifiers finds under the name `tictactoe`."""

from ttt_env.integrations.verifiers import GameEnv, GameHarness, GameTaskset

__all__ = ["GameEnv", "GameHarness", "GameTaskset"]
