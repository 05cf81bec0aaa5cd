"""The claims of authors about these games, next to our figures: the tables of docs/results/claims.md.

Each claim is a function of `claims` that computes its figure exactly and gives the verdict on the claim.
`python scripts/truth.py NAME …` computes the claims of these names now and prints them, `--write` makes the
page. The figures of slow claims are in `scripts/figures/truth.jsonl`; `--measure` computes them again. The
trainings of Daniels' network take half an hour of a core: their figures are read from the table of
`value_network_figures.py` in `docs/results/claims.md`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from claims import (  # the last two add their claims to `CLAIMS`
    CLAIMS,
    CONFIRMED,
    IN_PART,
    NOT_CONFIRMED,
    Claim,
    Finding,
    literature,  # noqa: F401
    systems,
)
from lines import change_lines, read_lines
from marked import write_table

from ttt_env.render.table import Table

SCRIPTS = Path(__file__).parent
PAGE = SCRIPTS.parent / "docs" / "results" / "claims.md"
LINES = SCRIPTS / "figures" / "truth.jsonl"
NOTES = {
    systems.SOFTMAX: "*X at 1*: X plays softmax minimax at temperature 1. O's temperature runs from 0.1 "
    "to 1.",
    systems.VALUE_NETWORK: "*Usual*, also *the mixed cycle*, is his own training; *good games* are draws "
    "with itself and wins against a random player; *score* is exact, against such a player. Figures are "
    "means of [five seeds](#daniels-network-the-runs) "
    "(smallest to largest).",
}
"""The terms of a system's claims, shown above its table."""


def measured() -> dict[str, Finding]:
    """The findings of the slow claims, by name, as they stand in the file of lines."""
    return {line["claim"]: Finding(line["figure"], line["verdict"]) for line in read_lines(LINES)}


def page() -> str:
    """The text between the marks: how many claims are confirmed, and a table for each system."""
    known = measured()
    findings = {one.name: known[one.name] if one.is_slow else one.check() for one in CLAIMS}
    verdicts = [finding.verdict for finding in findings.values()]
    parts = [
        f"Of {len(CLAIMS)} claims {verdicts.count(CONFIRMED)} are confirmed, {verdicts.count(IN_PART)} in "
        f"part, and {verdicts.count(NOT_CONFIRMED)} are not. A table without verdicts is confirmed "
        "throughout.\n"
    ]
    for system in dict.fromkeys(one.system for one in CLAIMS):
        claims = [one for one in CLAIMS if one.system == system]
        rows = [one.row(findings[one.name]) for one in claims]
        table = Table.of(("claim", "who", "our figure", "verdict", "name"), rows, "lllll")
        author, said = "", set[str]()
        if len({one.who for one in claims}) == 1:  # then named once, above the table
            author = " ".join([f"Claimed by {claims[0].who}.", *filter(None, [NOTES.get(system)])]) + "\n\n"
            said.add("who")
        if {findings[one.name].verdict for one in claims} == {CONFIRMED}:  # then said once, above all tables
            said.add("verdict")
        table = Table([column for column in table.columns if column.name not in said])
        parts.append(f"### {system}\n\n{author}{table.to_markdown(is_markup=True)}\n")
    return "\n".join(parts)


def measure(claims: Sequence[Claim]) -> None:
    """Compute these slow claims, and replace their lines in the file."""
    known = measured()
    for one in claims:
        known[one.name] = one.check()
        print(*one.row(known[one.name]), sep=" | ", flush=True)
    lines = [{"claim": one.name, **known[one.name]._asdict()} for one in CLAIMS if one.name in known]
    change_lines(LINES, lambda _: lines)


def main() -> None:
    """Compute claims and print them, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of claims; without any, all that are quick")
    parser.add_argument("--write", action="store_true", help="write docs/results/claims.md")
    parser.add_argument(
        "--measure", action="store_true", help="compute the slow claims, or those named, and keep them"
    )
    options = parser.parse_args()
    unknown = set(options.names) - {one.name for one in CLAIMS}
    if unknown:
        parser.error(
            f"no claims: {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in CLAIMS)}"
        )
    if options.measure:
        measure([one for one in CLAIMS if one.is_slow and (not options.names or one.name in options.names)])
    if options.write:
        write_table(PAGE, page(), "truth")
    if not (options.measure or options.write):
        for one in CLAIMS:
            if one.name in options.names or not (options.names or one.is_slow):
                print(*one.row(one.check()), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
