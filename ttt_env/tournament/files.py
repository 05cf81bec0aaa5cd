"""The files of a tournament's results."""

import json
from pathlib import Path

from ttt_env.storage.files import write_atomically
from ttt_env.tournament.page import page
from ttt_env.tournament.results import Results


def write_results(results: Results) -> None:
    """Write the results of all that is finished to the folder of the tournament. Raises `OSError`."""
    texts = {
        "results.json": json.dumps(results.to_dict(), indent=1, ensure_ascii=False) + "\n",
        "table.md": results.to_markdown(),
        "table.csv": results.to_csv(),
        "games.txt": "".join(f"{each.played.record}\n" for each in results.games()),
        "index.html": page(results),
    }
    for name, text in texts.items():
        _write(results.contest.folder / name, text)


def _write(path: Path, text: str) -> None:
    content = text.encode("utf-8", "replace")  # half a letter may stand in what a program said
    write_atomically(path, lambda file: file.write(content))
