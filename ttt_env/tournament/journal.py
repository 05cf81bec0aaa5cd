"""The games and computed meetings of a tournament so far, in a file that outlives a kill."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ttt_env.analysis.evaluation import Match, match_of_games
from ttt_env.errors import TournamentFileError
from ttt_env.rules import SEATS, Game
from ttt_env.storage import Fields, LineFile
from ttt_env.tournament.meetings import Meeting, Played
from ttt_env.tournament.plan import TournamentPlan

_FORM = "ttt_env tournament journal"
_FORMAT = f"{_FORM} 2"
_LISTED = 6  # keys that have changed


class Computed(NamedTuple):
    """The computed result of a meeting, and two games that show how the two play: one on each seat."""

    match: Match
    examples: tuple[Played, ...]

    @classmethod
    def read(cls, data: Fields, game: Game) -> "Computed":
        """The content of a line. Raises `ResultFileError` if the examples do not fit to the match."""
        match = data.read("match", Match.from_dict)
        examples = tuple(Played.read(each, game) for each in data.parts("examples"))
        if not match.exact or len(examples) != 2:
            raise data.error("match", "it is not computed, or has not two examples")
        for seat, result, example in zip(SEATS, (match.as_x, match.as_o), examples, strict=True):
            chance = result.draw if example.winner is None else result[0 if example.winner == seat else 2]
            if not chance:
                raise data.error("examples", f"{example.record} ends as no game between these two")
        return cls(match, examples)


class Journal:
    """The finished games and the computed meetings of a tournament: a line for each, on the disk as it comes.

    The first line holds what the results depend on: the keys of the plan and the `fingerprints` of the
    entries. With `again` what the file holds is forgotten, and so it is if they have changed and nothing has
    been played. `is_new` says whether the file begins here.

    Raises `TournamentFileError`, which names what has changed, if the file has others; `ResultFileError` for
    a file that is no journal, for lines that were changed or are no part of this tournament, and where
    another process writes to it now.
    """

    def __init__(
        self, path: Path, plan: TournamentPlan, fingerprints: Mapping[str, str], again: bool = False
    ) -> None:
        self.games: dict[Meeting, list[Played]] = {}
        self.computed: dict[Meeting, Computed] = {}
        self._plan, self._file = plan, LineFile(path, _FORM, "is no journal of a tournament")
        keys = json.loads(json.dumps(dict(plan.keys)))
        self._header = {"format": _FORMAT, "keys": keys, "files": dict(fingerprints)}
        self._changed: list[str] = []
        self.is_new = True
        self._file.reserve()
        try:
            if not again:
                self._file.read(self._take, self._compare)
            if self.is_new:
                self._file.clear()
                self._file.add(self._header, is_synced=True)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others write to the file."""
        self._file.release()

    def add_game(self, meeting: Meeting, played: Played) -> None:
        """Keep a game, the next one of its meeting, on the disk first."""
        self._file.add({**meeting._asdict(), **played.to_dict()}, is_synced=True)
        self.games.setdefault(meeting, []).append(played)

    def add_computed(self, meeting: Meeting, computed: Computed) -> None:
        """Keep a computed meeting, on the disk first."""
        examples = [example.to_dict() for example in computed.examples]
        line = {**meeting._asdict(), "match": computed.match.to_dict(), "examples": examples}
        self._file.add(line, is_synced=True)
        self.computed[meeting] = computed

    def match(self, meeting: Meeting) -> Match | None:
        """The match of a meeting, computed or of its games; None if it is not finished."""
        if (computed := self.computed.get(meeting)) is not None:
            return computed.match
        games = self.games.get(meeting, [])
        if len(games) < self._plan.games:
            return None
        return match_of_games((SEATS[at % 2], each.value, each.forfeit) for at, each in enumerate(games))

    def _compare(self, data: Mapping[str, Any]) -> None:
        """Name what the header on the first line has differently."""
        found = Fields(data)
        found.choice("format", [_FORMAT])
        keys = found.read("keys", partial(_differing, new=self._header["keys"]))
        files = found.read("files", partial(_differing, new=self._header["files"]))
        self._changed = keys + [f"the program or model of {name!r}" for name in files]
        self.is_new = bool(self._changed)

    def _take(self, data: Mapping[str, Any]) -> None:
        """Take a line. Raises `TournamentFileError` if anything has changed since."""
        if self._changed:
            more = " and more" if len(self._changed) > _LISTED else ""
            raise TournamentFileError(
                f"{self._file.path.parent} holds another tournament, since these have changed: "
                f"{', '.join(self._changed[:_LISTED])}{more}. "
                "Change them back, name another folder (--out), or start anew (--again)"
            )
        line = Fields(data)
        names = self._plan.names
        first, second = line.choice("first", names), line.choice("second", names)
        meeting = Meeting(line.integer("round", 1, self._plan.rounds), first, second)
        games = self.games.get(meeting, [])
        if first == second or meeting in self.computed or len(games) == self._plan.games:
            raise line.error("second", f"{first!r} and {second!r} have no more games in this round")
        if not line.has("match"):
            self.games.setdefault(meeting, []).append(Played.read(line, self._plan.game))
            return
        computed = Computed.read(line, self._plan.game)
        if games:
            raise line.error("match", "it is computed, and games have been played")
        self.computed[meeting] = computed


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one of the two has, or that they have differently."""
    return [key for key in {**old, **new} if key not in old or key not in new or old[key] != new[key]]
