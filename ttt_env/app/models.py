"""Models on disk, as the command line takes them: by a path alone, or by a spec string with one."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ttt_env.agent import make_agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.dossier import dossier
from ttt_env.analysis.recorded import answering
from ttt_env.analysis.saved import write_json
from ttt_env.app.scorecard import scorecard
from ttt_env.rules.game import Game
from ttt_env.rules.specs import split_spec

_PLAYING_FILES = ("sb3", "lookup", "ppo", "dqn", "q-learning", "value-network")
_AGENT_OF = {"codes": "lookup", "positions": "q-learning", "view": "value-network"}  # by an array of the file


def spec_of(text: str) -> str:
    """The spec string of an agent, which may also be given as the path of a model's file.

    >>> spec_of("models/mine.zip"), spec_of("minimax:depth=4")
    ('sb3:models/mine.zip', 'minimax:depth=4')
    """
    suffix = Path(text).suffix
    if suffix not in (".zip", ".npz") or ":" in text:
        return text
    return f"sb3:{text}" if suffix == ".zip" else f"{_reader_of(Path(text))}:{text}"


def _reader_of(path: Path) -> str:
    """The agent that plays an `.npz` file; "lookup", which tells what is wrong, of one that nobody plays."""
    try:
        with ZipFile(path) as file:
            arrays = {name.removesuffix(".npy") for name in file.namelist()}
    except (OSError, BadZipFile):
        return "lookup"
    return next((agent for array, agent in _AGENT_OF.items() if array in arrays), "lookup")


def file_of(text: str) -> Path | None:
    """The model's file that a spec string names, if it does."""
    spec = split_spec(text)
    path = spec.value or spec.keywords.get("path")
    return Path(path) if path and spec.name in _PLAYING_FILES else None


def certify_and_tell(text: str, game: Game, out: Path | None) -> str:
    """The scorecard of an agent. Saves its certificate as `out`, by default beside the model's file."""
    spec = spec_of(text)
    file, agent = file_of(spec), answering(spec, game)
    told = scorecard(agent, game, spec)
    path = out or (file and file.with_suffix(".certificate.json"))
    if path is None:
        return told
    write_json(dossier(agent, game, name=spec, file=file), path)
    return f"{told}\n\nSaved as {path}"


def export(text: str, game: Game, out: Path) -> str:
    """Write the agent's policy as a table to `out` and say what it is."""
    table = Lookup.of(make_agent(spec_of(text), game), game)
    out.parent.mkdir(parents=True, exist_ok=True)
    table.save(out)
    return f"{len(table):,} positions in {out}, {out.stat().st_size / 1000:.0f} kB: play it as lookup:{out}"
