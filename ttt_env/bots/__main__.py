"""Runs a function in a Python file as a bot: see `ttt_env.bots.function_file`."""

import sys

from ttt_env.bots.function_file import main

main(*sys.argv[1:])
