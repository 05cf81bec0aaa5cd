"""The card of a data set: what a person who finds its folder wants to know, worded from the data."""

from collections.abc import Sequence

from ttt_env.datasets.files import Column, DataFile
from ttt_env.render.table import Table
from ttt_env.rules.game import Game
from ttt_env.text.wording import rules_text

_EXACT = """\
Every value here is exact: it was computed by backward induction over all positions of the game. Values are
for the player to move, unless it says otherwise: 1 a win, 0 a draw, -1 a loss. A *good* move keeps the value
of the position; a *perfect* move moreover wins as soon, or loses as late, as best play allows."""

_MADE = """\
This makes the same files again, byte for byte where the same versions of the libraries are installed:"""

_DESCRIBED = """\
`croissant.json` describes the files for programs, with their checksums and all columns, `dataset.json` says
what was asked for. The data may be used under the MIT licence."""


def card(title: str, game: Game, files: Sequence[DataFile], made_by: str) -> str:
    """The card as Markdown; `made_by` is the command or the code that makes the data again."""
    parts = [
        _front_matter(files),
        f"# {title}",
        rules_text(game),
        _EXACT,
        "## Files",
        "\n".join(f"- `{file.path}`{_size(file)}: {file.description}" for file in files),
        *_tables(files),
        "## How it was made",
        _MADE,
        f"```\n{made_by}\n```",
        _DESCRIBED,
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(files: Sequence[DataFile]) -> str:
    """The head by which `load_dataset` of Hugging Face finds the tables; of a folder it reads one format."""
    tables = [file for file in files if file.columns]
    configs = [f"- config_name: {file.name}\n  data_files: {file.path}" for file in tables]
    return "\n".join(["---", "license: mit", *(["configs:", *configs] if configs else []), "---"])


def _size(file: DataFile) -> str:
    return f", {file.n_rows:,} {'rows' if file.columns else 'lines'}" if file.n_rows else ""


def _tables(files: Sequence[DataFile]) -> list[str]:
    """The columns of the files, a Markdown table for all files that have the same ones."""
    paths: dict[tuple[Column, ...], list[str]] = {}
    for file in files:
        paths.setdefault(file.columns, []).append(f"`{file.path}`")
    return [f"### {', '.join(names)}\n\n{_table(columns)}" for columns, names in paths.items() if columns]


def _table(columns: Sequence[Column]) -> str:
    rows = [
        (f"`{column.name}`", "list of " * column.is_list + column.type, column.description)
        for column in columns
    ]
    return Table.of(("column", "type", "what it is"), rows, "lll").to_markdown(is_markup=True)
