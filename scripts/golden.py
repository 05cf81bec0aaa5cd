"""Write what the package does today, a line for each fact, so that a later change shows what it changes.

`python scripts/golden.py` writes `tests/golden/behaviour.txt`. With `--check` it compares instead, prints the
facts that differ, and exits with 1 if there are any. A fact is a name and a value, in integers, fractions and
numbers of nine digits; only a long list of integers is a digest. A name begins with its family: `--only`
takes the names of some, `--fast` leaves out those that take long.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import golden_envs as envs
from golden_envs import Facts, transition_facts
from golden_facts import (
    COMBINED_OR_LEARNED,
    FANO,
    MISERE,
    OBLONG,
    PLAIN,
    SQUARE,
    TICTACTOE,
    by_search,
    by_spec,
    counts,
    from_files,
    functions,
    learners,
    on_square,
    played_games,
    proofs,
    searches,
    solutions,
)

FILE = Path(__file__).parents[1] / "tests" / "golden" / "behaviour.txt"


class Family(NamedTuple):
    """Facts whose names begin with the same word."""

    facts: Callable[[], Facts]
    is_slow: bool = False

    def lines(self, name: str) -> dict[str, str]:
        """The values by the whole names."""
        return {f"{name}: {what}": str(value) for what, value in self.facts()}


FAMILIES = {
    "solve": Family(partial(solutions, TICTACTOE, MISERE, FANO)),
    "solve-large": Family(partial(solutions, OBLONG, SQUARE), True),
    "count": Family(partial(counts, TICTACTOE, MISERE, FANO)),
    "count-large": Family(partial(counts, OBLONG), True),
    "proof": Family(proofs, True),
    "tictactoe": Family(partial(by_spec, TICTACTOE, *PLAIN)),
    "tictactoe-more": Family(partial(by_spec, TICTACTOE, *COMBINED_OR_LEARNED), True),
    "fano": Family(partial(by_spec, FANO, *PLAIN, *COMBINED_OR_LEARNED), True),
    "misere": Family(partial(by_spec, MISERE, *PLAIN, *COMBINED_OR_LEARNED), True),
    "oblong": Family(partial(by_spec, OBLONG, *PLAIN, *COMBINED_OR_LEARNED), True),
    "square": Family(on_square, True),
    "search-tictactoe": Family(partial(by_search, TICTACTOE), True),
    "search-fano": Family(partial(by_search, FANO), True),
    "search-misere": Family(partial(by_search, MISERE), True),
    "function": Family(partial(functions, TICTACTOE, MISERE, FANO)),
    "file": Family(partial(from_files, TICTACTOE, MISERE, FANO), True),
    "played": Family(played_games, True),
    "q-learning": Family(partial(learners, "q-learning", 3000), True),
    "value-network": Family(partial(learners, "value-network", 24_000), True),
    "tree": Family(searches),
    "single": Family(partial(transition_facts, envs.single)),
    "aec": Family(partial(transition_facts, envs.aec, has_seats=False)),
    "parallel": Family(partial(transition_facts, envs.parallel, has_seats=False)),
    "vector": Family(partial(transition_facts, envs.vector), True),
    "vector-both": Family(partial(transition_facts, envs.two_sided, has_seats=False), True),
    "sb3": Family(partial(transition_facts, envs.sb3), True),
}


def read() -> dict[str, str]:
    """The facts in the file, by name; none if there is no file."""
    lines = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    return dict(line.split(" = ", 1) for line in lines)


def write(facts: Mapping[str, str]) -> None:
    """Write the facts, in the order of their families."""
    ordered = [item for family in FAMILIES for item in facts.items() if family_of(item[0]) == family]
    FILE.write_text("".join(f"{name} = {value}\n" for name, value in ordered), "utf-8")


def family_of(name: str) -> str:
    """The family of a fact."""
    return name.partition(": ")[0]


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The facts that differ, what each was and what it is; empty if none does."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    nothing = "(nothing)"
    return "\n".join(
        f"{name}\n  was {old.get(name, nothing)}\n  is  {new.get(name, nothing)}" for name in names
    )


def main() -> None:
    """Write the facts, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file and write nothing")
    parser.add_argument("--fast", action="store_true", help="leave out the families that take long")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="families")
    arguments = parser.parse_args()
    names = [name for name in arguments.only if not (arguments.fast and FAMILIES[name].is_slow)]
    known = read()
    old = {what: value for what, value in known.items() if family_of(what) in names}
    new = {what: value for name in names for what, value in FAMILIES[name].lines(name).items()}
    if not arguments.check:
        write({what: value for what, value in known.items() if what not in old} | new)
    changed = differences(old, new)
    print(changed or f"{len(new):,} facts are as in {FILE.name}")
    sys.exit(bool(arguments.check and changed))


if __name__ == "__main__":
    main()
