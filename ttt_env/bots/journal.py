"""The journal of a tournament, with its finished games, from which it resumes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ttt_env.analysis.results import Match, match_of_games
from ttt_env.bots.plan import TournamentPlan
from ttt_env.errors import ResultFileError, TournamentFileError
from ttt_env.rules import SEATS, Game
from ttt_env.storage import LineFile, game_to_dict
from ttt_env.storage.codec import decode_value
from ttt_env.tournament.matches import Pair, PlayedGame

_FORM = "ttt_env tournament journal"
_FORMAT = f"{_FORM} 5"
_LISTED = 6  # keys that have changed
_ENTRY_KEY = re.compile(r"entry (\".*\")\.\w+")


class _Header(NamedTuple):
    format: str
    keys: dict[str, Any]
    rules: dict[str, Any]
    files: dict[str, str]


class ExactMatch(NamedTuple):
    """The computed result of a match, and two example games, one on each seat."""

    match: Match
    examples: tuple[PlayedGame, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any], game: Game) -> "ExactMatch":
        """The match of a line of the file."""
        examples = tuple(PlayedGame.read(each, game) for each in data["examples"])
        return cls(Match.from_dict(data["match"]), examples)


class Journal:
    """The finished games and the computed matches of a tournament, each a line that is written at once.

    The first line holds what the results depend on: the keys of the plan, the rules of its game, and the
    `fingerprints` of the entries. With `again` the results of entries that have changed are discarded; all
    results are, if something else has changed, or nothing. `forgotten` names the entries whose results have
    been discarded.

    Raises `TournamentFileError`, which names what has changed, if the file has other results and `again` is
    not set; `ResultFileError` for a file that is not a journal, for lines that are not of this tournament,
    and if another process is writing to it.
    """

    _old: _Header | None = None  # of the file

    def __init__(
        self, path: Path, plan: TournamentPlan, fingerprints: Mapping[str, str], again: bool = False
    ) -> None:
        self.games: dict[Pair, list[PlayedGame]] = {}
        self.computed: dict[Pair, ExactMatch] = {}
        self.forgotten: set[str] = set()
        self._plan, self._file = plan, LineFile(path, _FORM, "is not a journal of a tournament")
        keys, rules = (json.loads(json.dumps(each)) for each in (dict(plan.keys), game_to_dict(plan.game)))
        self._header = _Header(_FORMAT, keys, rules, dict(fingerprints))
        self._file.reserve()
        try:
            self._file.read(self._read_line, self._begin)
            changes = self._changes()
            if changes and not again and (self.games or self.computed):
                raise TournamentFileError(
                    f"{path.parent} holds another tournament, as these have changed: "
                    f"{_list_text(list(changes))}. Change them back, name another folder (--out), or play "
                    "again what they change (--again)"
                )
            if self._old is None or (again and not changes) or not all(changes.values()):
                self._forget({*plan.names})
            elif changes or self._old.keys["entries"] != keys["entries"]:
                self._forget({*changes.values()})
        except BaseException:
            self.close()
            raise

    def _begin(self, data: Mapping[str, Any]) -> None:
        self._old = decode_value(_Header, data)
        if self._old.format != _FORMAT:
            raise ResultFileError(f"its format is {self._old.format!r}, expected {_FORMAT!r}")

    def _changes(self) -> dict[str, str]:
        """The changes since the header was written, each with the entry that it concerns, if any."""
        if self._old is None:
            return {}
        changes = {f"the game's {name}": "" for name in _differing_keys(self._old.rules, self._header.rules)}
        for key in _differing_keys(self._old.keys, self._header.keys):
            of_entry = _ENTRY_KEY.match(key)
            if key != "entries":
                changes[key] = json.loads(of_entry[1]) if of_entry else ""
        for name in _differing_keys(self._old.files, self._header.files):
            changes[f"the program or model of {name!r}"] = name
        before = {*self._old.keys["entries"], ""}  # a new entry changes no result
        changes = {what: name for what, name in changes.items() if name in before}
        gone = before - {*self._plan.names, ""}
        return changes | {f"the entry {name!r}, which is gone": name for name in gone}

    def _forget(self, names: set[str]) -> None:
        """Rewrite the file without the results of these entries."""
        self.forgotten = names
        for results in (self.games, self.computed):
            for pair in [each for each in results if {*each} & self.forgotten]:
                del results[pair]
        games, self.games = self.games, {}
        computed, self.computed = self.computed, {}
        self._file.clear()
        self._file.add(self._header._asdict(), is_synced=True)
        for pair, of_pair in games.items():
            for each in of_pair:
                self.add_game(pair, each)
        for pair, result in computed.items():
            self.add_computed(pair, result)

    def close(self) -> None:
        """Release the file, so that other processes may write to it."""
        self._file.release()

    def add_game(self, pair: Pair, game: PlayedGame) -> None:
        """Write the next game of a match to the disk, then add it."""
        self._file.add({**pair._asdict(), **game.to_dict()}, is_synced=True)
        self.games.setdefault(pair, []).append(game)

    def add_computed(self, pair: Pair, computed: ExactMatch) -> None:
        """Write a computed match to the disk, then add it."""
        examples = [example.to_dict() for example in computed.examples]
        line = {**pair._asdict(), "match": computed.match.to_dict(), "examples": examples}
        self._file.add(line, is_synced=True)
        self.computed[pair] = computed

    def match(self, pair: Pair) -> Match | None:
        """The match of a pair, computed or from its games; None if it is not finished."""
        if (computed := self.computed.get(pair)) is not None:
            return computed.match
        games = self.games.get(pair, [])
        if len(games) < self._plan.games:
            return None
        return match_of_games((SEATS[at % 2], each.record, each.forfeit) for at, each in enumerate(games))

    def _read_line(self, data: Mapping[str, Any]) -> None:
        pair = decode_value(Pair, data)
        assert self._old is not None
        if not {*pair} <= {*self._old.keys["entries"]}:
            raise ResultFileError(f"{pair.first} against {pair.second} is not a match of this plan")
        if "match" in data:
            self.computed[pair] = ExactMatch.read(data, self._plan.game)
        else:
            self.games.setdefault(pair, []).append(PlayedGame.read(data, self._plan.game))


def _list_text(changes: list[str]) -> str:
    return ", ".join(changes[:_LISTED]) + (" and more" if len(changes) > _LISTED else "")


def _differing_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one of the two has, or whose values differ."""
    return [key for key in {**old, **new} if key not in old or key not in new or old[key] != new[key]]
