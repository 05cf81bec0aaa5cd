"""The command `ttt`. Ctrl-C ends it in one line from here on, also while its libraries are imported."""

import os
import signal
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"ttt: interrupted\n")
    os._exit(128 + number)


def main() -> None:
    """Run the command. Nothing can be lost while it is imported, nor after its end."""
    signal.signal(signal.SIGINT, _leave)
    from ttt_env.app.cli import main as run

    try:
        run()
    finally:
        signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__":
    main()
