"""`python -m ttt_env.web build DIR`: the web app as files, for any web server, or as one file."""

import argparse
from pathlib import Path

from ttt_env.web.build import build, single


def main() -> None:
    """Write the files, and print their place."""
    parser = argparse.ArgumentParser(prog="python -m ttt_env.web", description=__doc__)
    parser.add_argument("command", choices=["build"])
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder to write to; it is made if it is missing"
    )
    parser.add_argument("--single", action="store_true", help="one file, which also works without a server")
    arguments = parser.parse_args()
    print(single(arguments.folder) if arguments.single else build(arguments.folder))


if __name__ == "__main__":
    main()
