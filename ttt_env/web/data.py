"""The data files of the page: games and their players, policies, and the strength of agents.

One version of the package always writes the same files.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from itertools import count
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, learner_names
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.dossier import LADDER
from ttt_env.analysis.evaluation import exploitability
from ttt_env.analysis.known import blunders_of
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.verdict import paragraphs, verdict_of
from ttt_env.errors import GameError, TttEnvError
from ttt_env.render.layout import layout_of
from ttt_env.rules import Game, game_names, get_game, split_spec, symmetries
from ttt_env.storage import as_file_name
from ttt_env.tournament.tournament import tournament
from ttt_env.web.players import Players

SOLVED_CELLS = 9
"""The largest games that the page itself solves, and in which it plays the agents from their tables."""

GAMES = {
    "tictactoe-v0": "Tic-tac-toe",
    "tictactoe-v0:misere=true": "Misère tic-tac-toe",
    "mnk-v0:m=4,n=3,k=3": "Three in a row on 4×3",
    "square-v0": "Square",
    "mnk-v0:m=5,n=5,k=4": "Four in a row on 5×5",
    "mnk-v0:m=7,n=6,k=4": "Four in a row on 7×6",
    "connect-four-v0": "Connect Four",
    "score-four-v0": "Score Four",
    "qubic-v0": "Qubic",
}
_KINDS = {split_spec(name).name for name in GAMES}

TRAINED = ("q-learning", "dqn", "ppo", "value-network")
_ENTRANTS = (*LADDER, "brute-force", "softmax:temperature=0.2", "mcts:simulations=100,seed=0", *TRAINED)
_MOST_SETS, _MOST_SIDE = 1000, 15
_CELL = 100  # the width of a cell, in the units of a board's picture
_TITLE = 30  # of a layer, above it


def available_games(*, is_static: bool, own: Sequence[Game] = ()) -> dict[Game, str]:
    """The games of the page with their titles: games of the package, registered games, and `own`.

    With `is_static` these are only the games that the page itself solves. Raises `GameError` for a game that
    is too large to be drawn.
    """
    others = [*(get_game(name) for name in game_names() if name not in _KINDS), *own]
    for game in others:
        if max(game.shape) > _MOST_SIDE or len(game.winning_sets) > _MOST_SETS:
            raise GameError(
                f"{game.name}: the page draws up to {_MOST_SIDE} cells a side and {_MOST_SETS} winning sets"
            )
    package = {get_game(name): title for name, title in GAMES.items()}
    offered = package | {game: game.name for game in others if game not in package}
    return {game: title for game, title in offered.items() if not is_static or game.n_cells <= SOLVED_CELLS}


Content = Callable[[], bytes]
"""The content of a file, which is computed when it is first read."""


def page_files(
    players: Players, games: Mapping[Game, str], *, has_answers: bool, records: bool
) -> dict[str, Content]:
    """The data files by name, relative to `data/`."""
    contents: dict[str, Content] = {
        "layout.json": (files("ttt_env.web") / "static" / "layout.json").read_bytes
    }
    facts = []
    for game, title in games.items():
        fact = game_facts(game, title, players)
        facts.append(fact)
        if game.n_cells <= SOLVED_CELLS:
            tabulated = tables_of(players, game, fact["agents"], [level["agent"] for level in fact["levels"]])
            if not has_answers:
                fact["agents"] = [
                    agent for agent in fact["agents"] if agent in tabulated or agent == "softmax"
                ]
            stem = as_file_name(game.name)
            fact["policies"] = {agent: f"{stem}-{as_file_name(agent)}.json" for agent in tabulated}
            fact["strength"] = f"{stem}-strength.json"
            contents[fact["strength"]] = _computed_once(strength_of, players, game)
            for agent, player in tabulated.items():
                contents[fact["policies"][agent]] = _computed_once(facts_of_table, player, game)
    app = {"hasAnswers": has_answers, "records": records, "games": facts, "algorithms": learner_names()}
    return contents | {"app.json": partial(_json, app)}


def _computed_once(make: Callable[..., Any], *arguments: Any) -> Content:
    lock = Lock()  # simultaneous requests compute it once

    @cache
    def compute_once() -> bytes:
        return _json(make(*arguments))

    def content() -> bytes:
        with lock:
            return compute_once()

    return content


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def game_facts(game: Game, title: str, players: Players) -> dict[str, Any]:
    """The facts about a game for the page: its rules, the layout of its cells, and its players."""
    return {
        "id": game.name,
        "title": title,
        "rule": rule_of(game),
        "cells": game.n_cells,
        "sets": game.winning_sets,
        "misere": game.misere,
        "supports": game.supports,
        "symmetries": symmetries(game) if game.n_cells <= SOLVED_CELLS else [],
        "layout": layout_facts(game),
        "levels": [vars(level) for level in players.levels(game)],
        "agents": players.agents_for(game),
        "policies": {},
        "strength": "",
    }


def rule_of(game: Game) -> str:
    """The rule by which the game is won, in a sentence or two."""
    spec, length = split_spec(game.name), len(game.winning_sets[0])
    squares = "upright" if "tilted" in spec.keywords else "upright or tilted"
    feat = {
        "tictactoe-v0": "has three stones in a row",
        "mnk-v0": f"has {length} stones in a row",
        "square-v0": f"has four stones on the corners of a square, {squares},",
        "qubic-v0": "has four stones in a row in any direction",
        "connect-four-v0": f"has {length} stones in a row",
        "score-four-v0": f"has {length} beads in a row in any direction",
    }.get(spec.name, f"owns one of {len(game.winning_sets)} winning sets")
    falls = " What is played falls to the lowest free cell." if game.has_gravity else ""
    return f"Whoever {feat} first {'loses' if game.misere else 'wins'}.{falls}"


def layout_facts(game: Game) -> dict[str, Any]:
    """The rectangles of the panels and tiles of a board: x, y, width and height of each, and of all, `view`.

    Winning sets that are neither runs of cells nor of a well-known game are not obvious: they are drawn as
    `lines`, and a board without rows is drawn as a circle.
    """
    has_lines = game.coordinates is not None or not (
        split_spec(game.name).name in _KINDS or all(map(partial(_is_run, game), game.winning_sets))
    )
    layout = layout_of(
        _on_a_circle(game) if has_lines and game.coordinates is None and len(game.shape) == 1 else game, _CELL
    )
    left, top = min(panel.x for panel in layout.panels), min(panel.y for panel in layout.panels)
    top -= _TITLE if len(layout.panels) > 1 else 0
    right = max(panel.x + panel.width for panel in layout.panels)
    bottom = max(panel.y + panel.height for panel in layout.panels)
    return {
        "view": [left, top, right - left, bottom - top],
        "panels": layout.panels,
        "tiles": layout.tiles,
        "round": layout.is_round,
        "lines": has_lines,
    }


def _is_run(game: Game, cells: Sequence[int]) -> bool:
    """True if the cells of a set follow each other in one direction."""
    places = np.array(np.unravel_index(cells, game.shape)).T
    steps = np.diff(places, axis=0)
    return bool((steps == steps[0]).all() and abs(steps).max() == 1)


def _on_a_circle(game: Game) -> Game:
    angles = 2 * np.pi * np.arange(game.n_cells) / game.n_cells
    around = zip(np.sin(angles).tolist(), (-np.cos(angles)).tolist(), strict=True)
    return replace(game, coordinates=tuple(around))


# ---- Policies.

_COMPUTED = ("softmax", "imitation")  # by the page itself; again after each recorded game

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_UNIFORM = 1e-6  # a table holds single precision


def tables_of(players: Players, game: Game, *groups: Sequence[str]) -> dict[str, Agent]:
    """The agents with a fixed policy, by spec string."""
    tables = {}
    for agent in dict.fromkeys(name for group in groups for name in group):
        player = players.make(agent, game)
        if player.is_stationary and split_spec(agent).name not in _COMPUTED and agent not in players.labels:
            tables[agent] = player
    return tables


def facts_of_table(agent: Agent, game: Game) -> dict[str, Any]:
    """The policy of an agent: a row for each position, in the order of their codes.

    Most agents move at random among some cells. Then `rows` has the mask of these for each position; else it
    has the index of the probability of each cell in `shares`. Numbers are written with `digits` digits of
    base 32. `merged` is True if there is one row for all symmetric positions.
    """
    arrays = Lookup.of(agent, game).arrays()
    policies = arrays["policies"]
    is_played = policies > 0
    facts: dict[str, Any] = {"merged": bool(arrays["merged"])}
    if np.allclose(policies * is_played.sum(axis=1, keepdims=True), is_played, atol=_UNIFORM):
        return facts | _encoded(is_played @ (1 << np.arange(game.n_cells)))
    shares, numbers = np.unique(policies, return_inverse=True)
    return facts | {"shares": shares.tolist()} | _encoded(numbers.ravel())


def _encoded(numbers: NDArray[np.intp]) -> dict[str, Any]:
    base = len(_DIGITS)
    n_digits = next(n for n in count(1) if base**n > numbers.max())
    powers = base ** np.arange(n_digits)[::-1]
    digits = numbers[:, None] // powers % base
    return {"digits": n_digits, "rows": "".join(_DIGITS[digit] for digit in digits.ravel())}


# ---- Strength.


def strength_of(players: Players, game: Game) -> dict[str, Any]:
    """The exact results of all agents against each other, the best first, and the certificate of each."""
    tables: dict[str, PolicyTable] = {}
    levels = [level.agent for level in players.levels(game)]  # whose strength the page offers to show
    for agent in dict.fromkeys((*_ENTRANTS, *levels, *players.labels)):
        try:
            tables[agent] = PolicyTable.of(players.make(agent, game), complete=True)
        except (TttEnvError, ImportError):
            continue  # it does not play this game
    results = tournament(tables, game)
    names = sorted(tables, key=lambda name: (-round(results.scores[name], 9), name))
    return {
        "agents": [
            certificate_facts(name, certify(tables[name]))
            | {
                "scores": [0.0 if other == name else results.matches[name, other].score for other in names],
                "mean": results.scores[name],
            }
            for name in names
        ]
    }


def certificate_facts(agent: str, certificate: Certificate) -> dict[str, Any]:
    """A certificate in words, and the games that beat the agent."""
    head, *by_seat = paragraphs(certificate)
    lines = [line for paragraph in (head, *by_seat) for line in paragraph.lines]
    if certificate.table is not None and certificate.is_complete and certificate.game.n_cells <= SOLVED_CELLS:
        worst = exploitability(certificate.table)
        lines.append(
            f"Exploitability {worst.exploitability:.3g}: the mean of what best opponents gain on both seats."
        )
    refutations = {
        seat: record and {"moves": record.cells, "blunders": blunders_of(record)}
        for seat, (_, record) in zip(certificate.worst_case, by_seat, strict=True)
    }
    return {
        "agent": agent,
        "unbeatable": certificate.unbeatable,
        "verdict": verdict_of(certificate),
        "lines": lines,
        "refutations": refutations,
    }
