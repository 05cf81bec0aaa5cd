"""Files of results that were altered: whatever contradicts itself is refused, by the name of the part."""

import json
import re
from functools import cache
from math import inf, nan

import pytest

import ttt_env
from tests.support.games import lowest
from tests.support.marks import slow
from ttt_env import Certificate, Exploitability, Match, Tournament
from ttt_env.errors import ResultFileError

SMALL = "mnk-v0:m=3,n=2,k=2"
DRAWN = ttt_env.Game("drawn", (2, 3), [(0, 1, 2)])
DRAWN_4 = ttt_env.Game("drawn", (2, 2), [(0, 1, 2)])


def silent(position):
    """Names no free cell once two stones are on the board."""
    return position.legal_cells[-1] if position.ply < 2 else None


RESULTS = {
    "beatable": lambda: ttt_env.certify("weights"),
    "losing twice": lambda: ttt_env.certify("win-block"),
    "unbeatable": lambda: ttt_env.certify("minimax"),
    "certified on 4,3,3": lambda: ttt_env.certify("minimax:prefer=fast", "mnk-v0:m=4,n=3,k=3"),
    "forfeiting": lambda: ttt_env.certify(silent, DRAWN),
    "recorded": lambda: ttt_env.certify(lowest, DRAWN),
    "of a won game": lambda: ttt_env.certify("random", SMALL),
    "exact": lambda: ttt_env.match("random", "minimax"),
    "sampled": lambda: ttt_env.match("random", "block", exact=False, games=30),
    "exploitability": lambda: ttt_env.exploitability("random"),
    # The same of smaller boards, for what is done with each of their parts.
    "forfeiting on 4 cells": lambda: ttt_env.certify(silent, DRAWN_4),
    "of a won game of 4 cells": lambda: ttt_env.certify("random", "mnk-v0:m=4,n=1,k=2"),
}
LONG = ("forfeiting", "of a won game")
TO_BE_FORGED = ("certified on 4,3,3", "losing twice")


@cache
def result_of(name):
    return RESULTS[name]()


FREE = {
    r"forfeits\[\d+\]\.(said|outcome)": "what was said, and the name of the reason",
    r"blunders\.positions\[\d+\]": "another position in which value can be given away",
    r"refutations\.[XO]": "another game that ends as badly through the same blunder",
    r"game\.name|game\.winning_sets.*|game\.misere": "its name, or a game of which all is as true",
    r"source": "computed from a policy or from answers",
}


def leaves(data, name=""):
    """(name, container, key) of each number, text, truth value and null."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        full = f"{name}[{key}]" if isinstance(key, int) else f"{name}.{key}".lstrip(".")
        if isinstance(value, dict | list):
            yield from leaves(value, full)
        else:
            yield full, data, key


def others(value):
    """Values that might be there instead."""
    if isinstance(value, bool):
        return [not value, int(value), "true", None]
    if value is None:
        return [0, 1, "", False, []]
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 2, float(value), bool(value), str(value), 10**40, None]
    if isinstance(value, float):
        near = [value + 1e-6, value - 1e-6, -value if value else 0.5]
        return [*near, value + 1, 2.5, -1.5, nan, inf, str(value), True, None]
    changed = [
        value[:at] + new + value[at + 1 :] for at in range(len(value)) for new in ".XO4" if value[at] != new
    ]
    return ["", f"{value}x", value[:-1], "policy", "recorded", "sampled", "X", None, 7, [], *changed[:40:3]]


@pytest.mark.parametrize(
    "name", [slow(name) if name in LONG else name for name in RESULTS if name not in TO_BE_FORGED]
)
def test_any_one_change_is_refused_or_of_a_free_part(name):
    result = result_of(name)
    data = json.loads(result.to_json())
    parts = [part for part, _, _ in leaves(data)]
    assert len(parts) > 4 and type(result).from_dict(data) == result
    n_refused = 0
    for part, container, key in leaves(data):
        value = container[key]
        for other in others(value):
            container[key] = other
            try:
                loaded = type(result).from_dict(data)
            except ResultFileError:
                n_refused += 1
            else:
                is_free = any(re.fullmatch(pattern, part) for pattern in FREE)
                assert is_free or loaded == result, (part, value, other)
        container[key] = value
    assert n_refused > 3 * len(parts)


def changed(result, **changes):
    """The data of a result with entries changed, `__` between their keys."""
    data = json.loads(result.to_json())
    for path, value in changes.items():
        *keys, last = path.split("__")
        part = data
        for key in keys:
            part = part[int(key) if key.isdigit() else key]
        part[int(last) if last.isdigit() else last] = value
    return data


NOTHING = {"count": 0, "positions": []}


def forged():
    """Each forgery by its name: a result, what is changed in it, and words of the error."""
    names = ("beatable", "losing twice", "unbeatable", "certified on 4,3,3", "forfeiting", "recorded")
    beatable, losing_twice, unbeatable, won_433, forfeiting, recorded = map(result_of, names)
    names = ("of a won game", "exact", "sampled", "exploitability")
    won, exact, sampled, random = map(result_of, names)
    lost = str(beatable.refutations["O"])
    all_but_one = [text for text in map(str, losing_twice.blunders) if text != "..X/X.O/..."]
    good = sum(won_433.positions.values())
    positions = [*map(str, beatable.blunders), ".../.../..."]
    return {
        "no refutation, and beaten": (
            beatable, {"refutations__O": None, "unbeatable": True}, "refutations.O",
        ),
        "beaten, and no refutation": (unbeatable, {"worst_case__O": -1}, "refutations.O"),
        "unbeatable, and blunders on the way to a loss": (
            beatable, {"blunders": NOTHING, "missed_wins": NOTHING}, "no listed blunder",
        ),
        "beatable, and certified": (
            beatable,
            {"refutations": {"X": None, "O": None}, "worst_case": {"X": 0, "O": 0}, "unbeatable": True},
            "worst_case: 0 or more, with .* blunders in drawn positions",
        ),
        "sure of a win that it may give away": (
            won_433,
            {
                "blunders": {"count": 1, "positions": ["..../..../...."]},
                "missed_wins": {"count": 1, "positions": ["..../..../...."]},
                **{"good": good - 1, "perfect": good - 1, "imperfect": 1},
            },
            "worst_case",
        ),
        "a refutation by a blunder that is not listed": (
            losing_twice,
            {
                "blunders": {"count": losing_twice.n_blunders - 1, "positions": all_but_one},
                "good": sum(losing_twice.positions.values()) - losing_twice.n_blunders + 1,
            },
            r"refutations\.O: .* whose blunder in \.\.X/X\.O/\.\.\. is not listed",
        ),
        "unbeatable as O, and never asked": (unbeatable, {"positions__O": 0}, "positions.O: 0"),
        "a worst case that no game has": (beatable, {"worst_case__X": 5}, "worst_case.X"),
        "a better worst case than best play": (beatable, {"worst_case__X": 1}, "worst_case.X"),
        "a refutation that does not end": (
            beatable, {"refutations__O": lost.rpartition(" ")[0]}, "does not end",
        ),
        "a refutation that goes on": (beatable, {"refutations__O": f"{lost} 8"}, "refutations.O"),
        "a refutation that the agent wins": (
            beatable, {"refutations__O": "tictactoe-v0: 0 1 3 4 2 7"}, "ends with 1 for the agent",
        ),
        "an empty refutation": (beatable, {"refutations__O": ""}, "refutations.O"),
        "a refutation of another game": (beatable, {"refutations__O": "square-v0: 0"}, "refutations.O"),
        "another value of the game": (beatable, {"game__value": 1}, "game.value"),
        "a negative count": (beatable, {"blunders__count": -1}, "blunders.count"),
        "more blunders than listed": (beatable, {"blunders__count": beatable.n_blunders + 1}, "blunders"),
        "a position where the game is over": (
            beatable, {"blunders__positions__0": "XXX/OO./..."}, "blunders.positions",
        ),
        "a position that no game has": (beatable, {"blunders__positions__0": "XXX/.../..."}, "blunders"),
        "a position where no value can be given away": (
            beatable,
            {"blunders": {"count": beatable.n_blunders + 1, "positions": positions}},
            "in .../.../... there is no value to give away",
        ),
        "asked in more positions than there are": (recorded, {"asked": recorded.asked + 1}, "asked"),
        "a win that was missed and none": (won, {"missed_wins": NOTHING}, "missed_wins"),
        "more positions than there are": (beatable, {"positions__X": 6000}, "positions.X"),
        "fewer positions than are named": (beatable, {"positions__X": 0}, "positions.X"),
        "answers nobody gave": (beatable, {"source": "recorded"}, "asked"),
        "games that nobody played": (beatable, {"source": "sampled"}, "source"),
        "a forfeit that is not listed": (forfeiting, {"forfeits": []}, "refutations|blunders"),
        "a forfeit that is there twice": (
            forfeiting, {"forfeits": forfeiting.to_dict()["forfeits"] * 2}, "a position is there twice",
        ),
        "a forfeit that played": (forfeiting, {"forfeits__0__outcome": "played"}, "outcome"),
        "a winning X that loses by best play": (won, {"game__value": -1}, "game.value"),
        "perfect where it blunders": (beatable, {"imperfect": 0}, "imperfect"),
        "null where it is known": (
            beatable, {"imperfect": None, "perfect": None}, "imperfect: null is not due",
        ),
        "a pair of positions that are not symmetric": (
            recorded, {"inconsistent": [["X../...", ".X./..."]]}, "not symmetric|symmetry",
        ),
        "a pair of one position": (
            recorded, {"inconsistent": [["X../...", "X../..."]], "consistent": 0}, "same|class",
        ),
        "three shares of which none is left": (exact, {"as_x__draw": 0.9}, "as_x.loss"),
        "shares of less than all": (exact, {"as_x__draw": 0.0}, "as_x.loss"),
        "another score": (exact, {"score": 0.0}, "score"),
        "a computed match of games": (exact, {"games": 100}, "games"),
        "a computed match that was sampled": (exact, {"source": "sampled"}, "source"),
        "a sampled match that is computed": (sampled, {"exact": True}, "source"),
        "an interval of other games": (sampled, {"interval": [-1.0, 1.0]}, "interval"),
        "an odd number of games": (sampled, {"games": 31}, "games"),
        "more forfeits than losses": (
            sampled,
            {"forfeits__0": [{"outcome": "taken", "games": 31, "position": ".../.../...", "said": ""}]},
            "forfeits",
        ),
        "a gain of more than all": (random, {"as_x": 1.5}, "as_x"),
        "a gain that is no number": (random, {"as_x": nan}, "as_x"),
        "gains below optimal play": (random, {"as_x": -1.0, "as_o": -1}, "nash"),
        "another mean": (random, {"exploitability": 0.0}, "exploitability"),
    }  # fmt: skip


def test_a_forgery_is_refused_with_the_part():
    for name, (result, changes, words) in forged().items():
        try:
            type(result).from_dict(changed(result, **changes))
        except ResultFileError as error:
            assert re.search(words, str(error)), name
        else:
            pytest.fail(f"{name} is accepted")


def test_a_lie_that_agrees_with_itself_is_found_by_certifying_again():
    counts = {"blunders": NOTHING, "missed_wins": NOTHING, "imperfect": 0, "unbeatable": True}
    nobody = {"refutations": {"X": None, "O": None}, "worst_case": {"X": 0, "O": 0}}
    beatable = result_of("beatable")
    total = sum(beatable.positions.values())
    data = changed(beatable, **counts, **nobody, good=total, perfect=total)
    assert Certificate.from_dict(data).unbeatable and Certificate.from_dict(data) != beatable


@pytest.mark.parametrize("kind", [Certificate, Match, Exploitability, Tournament])
def test_files_that_hold_no_result_are_named(kind, tmp_path):
    twice = ('{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}')
    for text in (*twice, '{"a": NaN}', "[-Infinity]", "1e", "9" * 5000):
        (tmp_path / "some.json").write_text(text)
        with pytest.raises(ResultFileError, match=r"some\.json: this is no"):
            kind.load(tmp_path / "some.json")
    for content in (b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}'):
        (tmp_path / "some.json").write_bytes(content)
        with pytest.raises(ResultFileError, match=r"some\.json"):
            kind.load(tmp_path / "some.json")
    with pytest.raises(ResultFileError, match=r"nothing\.json"):
        kind.load(tmp_path / "nothing.json")


def test_a_key_that_comes_twice_is_refused(tmp_path):
    text = result_of("unbeatable").to_json()
    (tmp_path / "twice.json").write_text(text.replace('"asked": 0', '"asked": 0, "asked": 0'))
    with pytest.raises(ResultFileError, match=r"twice\.json: .*'asked' comes twice"):
        Certificate.load(tmp_path / "twice.json")
