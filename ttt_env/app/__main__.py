"""`python -m ttt_env.app` is the command `ttt`."""

from ttt_env.app.cli import main

main()
