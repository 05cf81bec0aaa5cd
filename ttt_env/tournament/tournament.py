"""Many agents against each other: cross table, ratings, exploitability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from math import comb, inf
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np

from ttt_env.agent import AgentLike, Floats, game_of, named_agents
from ttt_env.analysis.results import Exploitability, ForfeitCount, Match, merge_forfeits
from ttt_env.errors import NoVerdictError, ParameterError
from ttt_env.render.charts import heat_map, save
from ttt_env.render.table import Column, Table
from ttt_env.render.words import gain, signed
from ttt_env.rules import (
    Between,
    Game,
    as_generator,
    checked,
    is_tabulated,
)
from ttt_env.storage import file_errors, game_to_dict
from ttt_env.storage.codec import Saved, decode_value
from ttt_env.tournament.matches import (
    AgentsByName,
    JudgedAgent,
    Pair,
    UnjudgedAgent,
    both_sides,
    judge_agent,
    play_match,
)
from ttt_env.tournament.standings import (
    Standing,
    cross_table,
    share,
    solvers,
    standings,
)
from ttt_env.workers import Backend, Progress, Workers

if TYPE_CHECKING:
    from pandas import DataFrame

    from ttt_env.render.charts import Figure

_BAR_DELAY = 1.0  # seconds after which a progress bar is shown by default
_LEGEND = "score of the row against the column, wins minus losses per game on both seats"
_EXPLOITED = "exploited as X: score of a best response to the agent as X"


class _Row(NamedTuple):
    """An agent as a file stores it; its rating and score follow from the matches."""

    name: str
    exploitability: Exploitability | None


@dataclass(frozen=True, repr=False)
class Tournament(Saved):
    """The results of a round robin, with each agent against each other one on both seats.

    Tables and pictures are ordered by points, everything else in the order of the given agents.

    Attributes:
        game: The game.
        names: The names of the agents.
        pairs: The match of each pair, as far as it is finished.
        exploitability: The exploitability of each agent; None where it cannot be computed or was not
            requested.
        width: The requested width of the intervals; None where the number of games was fixed.
        not_judged: The agents whose answers could not be obtained, with the reason. Such matches do not
            count.

    Example:
        >>> print(tournament(["random", "win-block"], "tictactoe-v0"))
        tictactoe-v0: score of the row against the column, wins minus losses per game on both seats
           agent      rating  score  exploited as X    as O      1      2
        1  win-block    +166  +0.76          +0.400  +0.927      ·  +0.76
        2  random       −166  −0.76          +0.925  +0.995  −0.76      ·
        score: mean of the row; exploited as X: score of a best response to the agent as X; all exact

    """

    FORMAT = "ttt_env tournament 3"
    DERIVED = ("is_complete",)

    game: Game
    names: tuple[str, ...]
    pairs: dict[Pair, Match]
    exploitability: dict[str, Exploitability | None]
    width: float | None = None
    not_judged: dict[str, str] = field(default_factory=dict)

    @cached_property
    def matches(self) -> dict[tuple[str, str], Match]:
        """The match of each pair, as far as it is finished, from the side of each agent."""
        return both_sides(self.pairs)

    @property
    def is_complete(self) -> bool:
        """True if all matches are finished."""
        return len(self.pairs) == comb(len(self.names), 2)

    @cached_property
    def standings(self) -> list[Standing]:
        """The table by points, the best first."""
        return standings(self.names, self.matches)

    @cached_property
    def table(self) -> Floats:
        """The score of row against column, `[n, n]`; NaN on the diagonal and without a match."""
        return cross_table(self.names, self.matches)[0]

    @cached_property
    def scores(self) -> dict[str, float]:
        """The mean score of each agent over its matches, in [−1, 1]; 0 if it has none."""
        n_opponents = np.maximum(1, (~np.isnan(self.table)).sum(axis=1))
        return dict(zip(self.names, (np.nansum(self.table, axis=1) / n_opponents).tolist(), strict=True))

    @cached_property
    def ratings(self) -> dict[str, float]:
        """The Bradley–Terry rating of each agent, in Elo points of mean 0."""
        ratings = {row.name: row.rating for row in self.standings}
        return {name: ratings[name] for name in self.names}

    @property
    def ranking(self) -> list[str]:
        """The names, the best first."""
        return [row.name for row in self.standings]

    @property
    def imprecise_pairs(self) -> list[tuple[str, str]]:
        """The pairs whose match reached `max_games` before its interval was as narrow as `width`."""
        width = inf if self.width is None else self.width
        return [(pair.first, pair.second) for pair, match in self.pairs.items() if match.width > width]

    @property
    def forfeits(self) -> dict[str, tuple[ForfeitCount, ...]]:
        """The games that each agent lost by naming no free cell; agents without any are not listed."""
        losses: dict[str, tuple[ForfeitCount, ...]] = dict.fromkeys(self.names, ())
        for (name, _), match in self.matches.items():
            losses[name] += match.forfeits[0]
        return {name: merge_forfeits(each) for name, each in losses.items() if each}

    def __repr__(self) -> str:
        return f"<Tournament of {len(self.names)} agents on {self.game.name}>"

    def __str__(self) -> str:
        return str(self.to_table(numbered=True))

    def _repr_html_(self) -> str:
        return self.to_table(numbered=True).to_html()

    def to_markdown(self) -> str:
        """The table in Markdown, the sampled scores with ± their 95 % interval."""
        return self.to_table().to_markdown()

    def to_csv(self) -> str:
        """The table with all digits and one row per agent; empty where there is no number."""
        return self.to_table().to_csv()

    def to_dataframe(self) -> DataFrame:
        """The table as a pandas data frame with one row per agent, by ranking; NaN where there is no number.

        The columns are `rating`, `score`, `exploited_as_x`, `exploited_as_o`, and one for each opponent,
        under its name; an opponent named "score" has the column `against score`.

        Raises:
            ImportError: pandas, of the extra `dataframe`, is not installed.

        """
        return self.to_table().to_dataframe().set_index("agent")

    def to_table(self, numbered: bool = False) -> Table:
        """The table with one row per agent, by ranking.

        Args:
            numbered: True to name opponents by their rank.

        """
        order = self.ranking
        ranks = [str(place) for place in range(1, len(order) + 1)]
        exploited = [self.exploitability[name] for name in order]
        as_x, as_o = ([each and getattr(each, seat) for each in exploited] for seat in ("as_x", "as_o"))
        as_loss = partial(gain, digits=3)
        columns = [
            Column("agent", order, is_left=True),
            Column("rating", [self.ratings[name] for name in order], partial(signed, digits=0)),
            Column("score", [self.scores[name] for name in order], partial(signed, digits=2)),
            Column("exploited as X", as_x, as_loss, key="exploited_as_x", missing="?"),
            Column("as O", as_o, as_loss, key="exploited_as_o", missing="?"),
        ]
        for other, rank in zip(order, ranks, strict=True):
            matches = [self.matches.get((name, other)) for name in order]
            score = attrgetter("score")
            head, key = rank if numbered else other, other
            while key in {column.key or column.name for column in columns} | ({*order} - {other}):
                key = f"against {key}"
            columns.append(Column(head, matches, _score_text, score, key=key, missing="·", is_tinted=True))
        if numbered:
            columns.insert(0, Column("", ranks))
        return Table(columns, f"{self.game.name}: {_LEGEND}", self._notes())

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "game": game_to_dict(self.game),
            "is_complete": self.is_complete,
            "width": self.width,
            "agents": [
                {
                    "name": name,
                    "rating": self.ratings[name],
                    "score": self.scores[name],
                    "exploitability": (exploited := self.exploitability[name]) and exploited.to_dict(),
                }
                for name in self.names
            ],
            "matches": [
                {**pair._asdict(), "points": share(match), **match.to_dict()}
                for pair, match in self.pairs.items()
            ],
            "not_judged": self.not_judged,
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        rows = decode_value(tuple[_Row, ...], data["agents"], name="agents")
        pairs = {
            decode_value(Pair, each, name="matches"): decode_value(Match, each, name="matches")
            for each in data["matches"]
        }
        return cls(
            decode_value(Game, data["game"], name="game"),
            tuple(row.name for row in rows),
            pairs,
            {row.name: row.exploitability for row in rows},
            decode_value(float | None, data["width"], name="width"),
            decode_value(dict[str, str], data["not_judged"], name="not_judged"),
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """A heat map of the table as a matplotlib figure.

        Args:
            path: A file for the figure, which ends in .svg, .png or .pdf.

        Raises:
            ParameterError: The path has another ending.
            FileError: The file cannot be written.
            ImportError: matplotlib, of the extra `plot`, is not installed.

        """
        order = self.ranking
        places = [self.names.index(name) for name in order]
        matches = ((self.matches.get((row, column)) for column in order) for row in order)
        texts = [["·" if each is None else _score_text(each) for each in row] for row in matches]
        title = f"{self.game.name}: win − loss of row against column, both seats"
        figure = heat_map(order, self.table[np.ix_(places, places)], texts, title)
        if path is not None:
            with file_errors(path, "written"):
                save(figure, path)
        return figure

    def _notes(self) -> list[str]:
        sampled = any(not match.exact for match in self.pairs.values())
        basis = "scores with ± are sampled (95 % interval), the others exact" if sampled else "all exact"
        is_judged = any(each is not None for each in self.exploitability.values())
        notes = ["; ".join(["score: mean of the row", *([_EXPLOITED] if is_judged else []), basis])]
        if self.imprecise_pairs:
            pairs = ", ".join(" v ".join(pair) for pair in self.imprecise_pairs)
            notes.append(f"stopped by max_games at intervals wider than {self.width:g}: {pairs}")
        if not self.is_complete:
            notes.append("not all matches are finished")
        for name, why in self.not_judged.items():
            lack = "did not answer in all matches" if name in self.names else "is not in the table"
            notes.append(f"{name} {lack}: {why}")
        notes += [f"{name} lost {loss}" for name, losses in self.forfeits.items() for loss in losses]
        return notes


def _score_text(match: Match) -> str:
    """The score of the first agent, with its margin if it is sampled."""
    return signed(match.score, 2) + ("" if match.exact else f" ±{match.margin:.2f}")


@checked
def tournament(
    agents: Iterable[AgentLike] | Mapping[str, AgentLike],
    game: Game | str | None = None,
    *,
    width: Annotated[float, Between(0, 1e6, is_open=True)] = 0.05,
    max_games: Annotated[int, Between(2)] = 10_000,
    rng: np.random.Generator | int = 0,
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    progress: bool | Progress | None = None,
    exploitability: bool = True,
) -> Tournament:
    """Play a round robin, every agent against every other one on both seats.

    Results are computed where `match` computes them, and sampled elsewhere. They do not depend on the number
    of workers: the random numbers of a match depend on `rng` and the two names alone.

    Args:
        agents: At least two agents, or a mapping from names to agents. By default, the name of a spec string
            is the string, of a function its `__name__`, and of an `Agent` its class.
        game: The game, or its id; by default the game of the agents.
        width: Sampled matches end when the 95 % interval of the score is not wider than this.
        max_games: The most games of a sampled match.
        rng: A generator or a seed.
        workers: The number of processes; by default this process alone. On 4×4 each may take up to 3 GB.
        backend: `"loky"` for processes of this machine, `"ray"` for a Ray cluster.
        address: The address of the Ray cluster; by default a new one on this machine.
        progress: True or False to show a bar always or never; by default it is shown in a terminal, after a
            second. A function is called with the numbers of finished tasks and of all tasks.
        exploitability: True to compute the exploitability of each agent, too.

    Returns:
        The results. `Tournament.not_judged` has the agents that did not answer, which are not in the table.

    Raises:
        ParameterError: There are fewer than two agents or two with the same name, or an argument is invalid.
        NoVerdictError: Fewer than two agents answered.
        WorkerError: A process ended unexpectedly.
        ImportError: The extra `tournament` or `ray` is not installed.

    Example:
        >>> played = tournament(["random", "block", "minimax"], "tictactoe-v0")
        >>> played.ranking
        ['minimax', 'block', 'random']
        >>> f"{played.matches['minimax', 'random'].score:.3f}"
        '0.873'

    """
    entrants = named_agents(agents)
    if len(entrants) < 2:
        raise ParameterError(f"a tournament needs at least two agents, got {', '.join(entrants) or 'none'}")
    solvers()  # the ratings need it: a missing extra is reported now, not after hours of play
    shared = Workers(workers, backend, address)
    agents_by_name = AgentsByName(game_of(game, *entrants.values()), entrants)
    for name in entrants:
        agents_by_name[name]  # an agent that cannot be made raises its error now, not after hours of play
    entropy = int(as_generator(rng).integers(2**63))
    entered = list(entrants) if exploitability or is_tabulated(agents_by_name.game) else []
    total = len(entered) + comb(len(entrants), 2)
    with _progress_callback(progress) as tell:
        examinations = shared.map(
            partial(judge_agent, agents_by_name),
            [(name,) for name in entered],
            named=lambda name: f"the agent {name!r}, asked in all positions",
            progress=lambda n_done, _: tell(n_done, total),
        )
        by_name = {
            name: each
            for name, each in zip(entered, examinations, strict=True)
            if isinstance(each, JudgedAgent)
        }
        players = {name: each.player for name, each in by_name.items() if each.player}
        unjudged = [each for each in examinations if isinstance(each, UnjudgedAgent)]
        all_players = AgentsByName(agents_by_name.game, entrants | players)
        ready = sorted(set(entrants) - {name for name, _ in unjudged})
        to_play = [Pair(*pair) for pair in combinations(ready, 2)]
        results = shared.map(
            partial(play_match, all_players, entropy, width, max_games),
            to_play,
            named=lambda first, second: f"{first!r} v {second!r}",
            progress=lambda n_done, _: tell(len(entered) + n_done, total),
        )
    unjudged += [each for each in results if isinstance(each, UnjudgedAgent)]
    not_judged = {name: reason for name, reason in reversed(unjudged)}
    names = tuple(name for name in entrants if name not in not_judged)
    if len(names) < 2:
        name, reason = next(iter(not_judged.items()))
        raise NoVerdictError(name, None, f"leaves fewer than two agents to compare: {reason}")
    matches = both_sides(
        {pair: each for pair, each in zip(to_play, results, strict=True) if isinstance(each, Match)}
    )
    exploited = dict.fromkeys(names)
    if exploitability:
        exploited |= {name: by_name[name].exploitability for name in names if name in by_name}
    pairs = {Pair(*pair): matches[pair] for pair in combinations(names, 2)}
    return Tournament(agents_by_name.game, names, pairs, exploited, width, not_judged)


@contextmanager
def _progress_callback(progress: bool | Progress | None) -> Iterator[Progress]:
    """The function to call with the numbers of finished and of all tasks: a bar's or the user's."""
    if callable(progress):
        yield progress
        return
    from tqdm import tqdm

    disable = None if progress is None else not progress  # None: unless standard error is a terminal
    with tqdm(desc="matches", delay=_BAR_DELAY if progress is None else 0, disable=disable) as bar:

        def move(n_done: int, total: int) -> None:
            bar.total = total
            bar.update(n_done - bar.n)

        yield move
