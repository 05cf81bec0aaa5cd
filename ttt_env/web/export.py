"""The page as files that any web server can serve: tic-tac-toe, with everything computed in the browser.

The templates of the server are filled in once, the policies of agents are facts for the scripts
(`policies.js` reads them), and the scripts are one file. The folder knows which files are its own.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files as resources
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.dossier import LADDER
from ttt_env.analysis.known import blunders_of
from ttt_env.errors import ParameterError
from ttt_env.render.svg import boards_of
from ttt_env.rules import Game, get_game, split_spec
from ttt_env.storage import as_file_name, opened, parse_json, reason, write_atomically
from ttt_env.web.board import board_of, facts_of_game, strokes_of
from ttt_env.web.compare.agents import ENTRANTS, TRAINED, Proved, ladder, prove
from ttt_env.web.games import rule_of
from ttt_env.web.inside.look import EXAMPLE, SETTINGS, VIEWS, InsideLook
from ttt_env.web.inside.trees import grid_of, tree_layout
from ttt_env.web.insight import Evaluators, Insight, levels_of
from ttt_env.web.roster import PERSON, Roster, first_opponent, presets
from ttt_env.web.services import Services, modules_of
from ttt_env.web.table import PlayTable, Visit, moves_text

GAME = get_game("tictactoe-v0")
PAGES = (
    ("index.html", "Play"),
    ("train.html", "Train"),
    ("inside.html", "Look inside"),
    ("compare.html", "Compare"),
)
_SOFTMAX = "softmax"  # which has sliders on the page
AGENTS = (*LADDER, "rules", "brute-force", _SOFTMAX, "mcts:simulations=100,seed=0", *TRAINED)
"""Opponents in addition to the levels and the models of the command line."""

FACTS, SCRIPT = "agents.js", "ttt.js"
_COPIED = ("page.css", "play.css", "compare.css", "inside.css", "theme.js", "icon.svg")


def exported(roster: Roster, agents: Sequence[str] = AGENTS) -> dict[str, bytes]:
    """All files of an export by name: tic-tac-toe, its levels, these agents, and all models of the roster.

    The same packages give the same bytes. Raises as `make_agent` does for a model that cannot be loaded.
    """
    return _Site(roster, agents).files()


def agent_page(agent: str) -> str:
    """The file of an agent's certificate."""
    return f"agent-{as_file_name(agent)}.html"


def address(path: str, **fields: object) -> str:
    """The file that stands for an address of the server: of matches, the certificate of the row's agent."""
    page = agent_page(str(fields["row"] if path == "/compare" else fields["agent"]))
    if path.startswith("/compare/certificate."):
        return page.removesuffix("html") + path.rpartition(".")[2]
    return page


class _Opened(Visit):
    """A visit whose address is that of the exported page for playing, where a script reads it."""

    def url(self, path: str = "", **changes: Any) -> str:
        return f"index.html#{replace(self, **changes).table.query()}"


class _Site:
    def __init__(self, roster: Roster, agents: Sequence[str]) -> None:
        self._roster = roster
        self._visit = _Opened(PlayTable(GAME, PERSON, first_opponent(GAME)))
        levels = [preset.player for preset in presets(GAME)]
        named = (*agents, *levels, _SOFTMAX, *roster.models)
        self._players = list(dict.fromkeys(roster.parse(each) for each in named))
        self._services = Services(Evaluators(roster), pages=PAGES)
        self._shared = {
            "exported": True,
            "static": "",
            "scripts": (FACTS, SCRIPT),
            "train_url": "train.html",
            "address": address,
            "game": GAME,
            "board": board_of(GAME.start, None),
            "all_strokes": strokes_of(GAME, GAME.winning_masks)[0],
            "tabs": {},
            "complaints": [],
        }

    def files(self) -> dict[str, bytes]:
        certified = dict.fromkeys([*self._players, *ENTRANTS])
        _check_file_names(certified)
        certificates = {agent: prove(self._roster, GAME, agent) for agent in certified}
        pages = {
            "index.html": self._play(),
            "train.html": self._page("train.html", game_facts=facts_of_game(GAME)),
            "inside.html": self._inside(),
            "compare.html": self._page(
                "compare.html",
                ladder=ladder(self._roster, GAME),
                current=None,
                asks=False,
                match=None,
                certificates=certificates,
            ),
            FACTS: self._facts(),
            SCRIPT: script(),
        }
        for agent, proved in certificates.items():
            pages[agent_page(agent)] = self._agent(agent, proved)
            facts = {"game": GAME.name, "agent": agent}
            pages[address("/compare/certificate.json", **facts)] = (
                json.dumps(proved.facts, separators=(",", ":")) + "\n"
            )
            pages[address("/compare/certificate.svg", **facts)] = proved.certificate.picture().svg
        static = resources("ttt_env.web") / "static"
        return {name: (static / name).read_bytes() for name in _COPIED} | {
            name: text.encode() for name, text in pages.items()
        }

    def _page(self, name: str, **context: Any) -> str:
        return self._services.rendered(name, **self._shared, **context)

    def _play(self) -> str:
        return self._page(
            "play.html",
            rule=rule_of(GAME),
            visit=self._visit,
            headline="Tic-tac-toe",
            reply="",
            delay=None,
            is_exact=True,
            is_live=False,
            players=self._players,
            controls=self._roster.controls(_SOFTMAX),
            values=self._roster.values(_SOFTMAX),
            levels=levels_of(self._roster, GAME),
            evaluations=[Insight(None, None, (), "", (), value) for value in (1, 0, -1)],
        )

    def _inside(self) -> str:
        """The game tree from the empty board, of which the script makes any other."""
        seen = self._services.tree_solver.tree_of(GAME.start, (1.0, 1.0), 1)
        return self._page(
            "inside.html",
            look=InsideLook(self._visit.table),
            is_later=False,
            is_live=False,
            sweep=None,
            views=VIEWS,
            settings=SETTINGS,
            grid=grid_of(GAME),
            solved_tree=seen,
            plan=tree_layout(seen.tree),
            to=lambda branch: f"#moves={moves_text(branch.cells)}",
            example=f"#{EXAMPLE.url().partition('?')[2]}",
            games={},
        )

    def _agent(self, agent: str, proved: Proved) -> str:
        lost = proved.refutations
        return self._page(
            "compare_agent.html",
            agent=agent,
            proved=proved,
            strips={
                seat: (_Opened(table), boards_of(table.record, blunders_of(table.record)))
                for seat, table in lost.items()
            },
            grid=grid_of(GAME),
            against=_Opened(PlayTable(GAME, PERSON, agent)).url(),
        )

    def _facts(self) -> str:
        """The game and the agents, as a script: browsers let no page read data from files."""
        agents = {
            player: facts_of(self._roster, player, GAME)
            | {"certificate": agent_page(player), "called": self._visit.name_of(player)}
            for player in self._players
        }
        facts = {
            "game": facts_of_game(GAME),
            "agents": agents,
            "first": self._visit.table.o,
            "tiles": grid_of(GAME).tiles,
        }
        return f"globalThis.ttt = {json.dumps(facts, separators=(',', ':'))};\n"


def _check_file_names(agents: Iterable[str]) -> None:
    """Raise `ParameterError` for agents whose pages would have one name, as the models `a+b` and `a-b`."""
    named: dict[str, str] = {}
    for agent in agents:
        other = named.setdefault(agent_page(agent).lower(), agent)
        if other != agent:
            raise ParameterError(
                f"{agent!r} and {other!r} would both be {agent_page(agent)}: rename one model"
            )


def script() -> str:
    """The modules of the exported pages as one plain script: browsers load no modules from files."""
    static = resources("ttt_env.web") / "static"
    texts = [(static / f"{name}.js").read_text(encoding="utf-8") for name in modules_of("export")]
    whole = re.sub(r"^(import .*\n|export )", "", "\n".join(texts), flags=re.MULTILINE)
    return f'"use strict";\n(() => {{\n{whole}}})();\n'


_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_UNIFORM = 1e-6  # Lookup holds single precision


def facts_of(roster: Roster, player: str, game: Game) -> dict[str, Any]:
    """The policy of this player of the roster, for JSON.

    Softmax minimax is given by its temperatures and epsilon by its agent and its chance: the browser computes
    the probabilities. All other agents get a table.
    """
    name = split_spec(player).name
    values = roster.values(player)
    if name == "softmax":
        return {key: float(values[key]) for key in ("temperature", "opponent_temperature")}
    if name == "epsilon":
        return {"of": values["agent"], "epsilon": float(values["epsilon"])}
    return table_of(roster.fixed(player, game), game)


def table_of(agent: Agent, game: Game) -> dict[str, Any]:
    """The policy of an agent as `Lookup` tabulates it: a row for each position, in the order of their codes.

    Most agents move at random among some cells. Then `rows` has the mask of these for each position; else it
    has a number for each cell, that of its probability among the `shares`. Numbers are written with so many
    `digits` of base 32. `merged` says whether there is one row for all symmetric positions.
    """
    arrays = Lookup.of(agent, game).arrays()
    policies = arrays["policies"]
    is_played = policies > 0
    facts: dict[str, Any] = {"merged": bool(arrays["merged"])}
    if np.allclose(policies * is_played.sum(axis=1, keepdims=True), is_played, atol=_UNIFORM):
        return facts | _written(is_played @ (1 << np.arange(game.n_cells)))
    shares, numbers = np.unique(policies, return_inverse=True)
    return facts | {"shares": shares.tolist()} | _written(numbers.ravel())


def _written(numbers: NDArray[np.intp]) -> dict[str, Any]:
    base = len(_DIGITS)
    n_digits = next(n for n in count(1) if base**n > numbers.max())
    powers = base ** np.arange(n_digits)[::-1]
    digits = numbers[:, None] // powers % base
    return {"digits": n_digits, "rows": "".join(_DIGITS[digit] for digit in digits.ravel())}


LIST = "exported.json"
_MAKER = "ttt web --export"


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder hold these files, by name, and a list of them; an earlier export is replaced.

    Raises `ParameterError` for a folder that holds anything but an earlier export, or files that were put
    where one of these goes; then nothing is written. Other files beside an earlier export stay.
    """
    own = own_files(folder)
    for name in files:
        if name not in own and (folder / name).exists():
            raise ParameterError(f"{str(folder / name)!r} is not of an earlier export: choose another folder")
    listing = json.dumps({"made_by": _MAKER, "files": sorted(files)}, indent=1).encode() + b"\n"
    # The list says all that may be here before any of it is, so that an export that was killed can go on.
    both = json.dumps({"made_by": _MAKER, "files": sorted(own | set(files))}, indent=1).encode() + b"\n"
    write_atomically(folder / LIST, both)
    for name in sorted(own - set(files)):
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)
    write_atomically(folder / LIST, listing)


def own_files(folder: Path) -> set[str]:
    """The files that an earlier export has written to the folder.

    Raises `ParameterError` for a folder that holds anything but an earlier export.
    """
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ParameterError(f"{str(folder)!r} is no folder")
    if not any(folder.iterdir()):
        return set()
    try:
        with opened(folder / LIST) as file:
            listing = parse_json(file.read())
        made_by, names = listing["made_by"], listing["files"]
        if made_by == _MAKER and isinstance(names, list) and all(name == Path(name).name for name in names):
            return set(names)
        why = "it is another list"
    except (OSError, ValueError, TypeError, KeyError) as error:
        why = reason(error)
    refusal = f"{str(folder)!r} is no folder of an earlier export, and not empty: choose another one"
    raise ParameterError(f"{refusal} ({LIST}: {why})")
