"""The environment that verifiers finds under the name `tictactoe_self_play`."""

from ttt_env.integrations.verifiers import GameHarness, GameTaskset, SelfPlayEnv

__all__ = ["GameHarness", "GameTaskset", "SelfPlayEnv"]
