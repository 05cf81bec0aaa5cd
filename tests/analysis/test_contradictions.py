"""Files of results that were altered: whatever contradicts itself is refused, by the name of the part."""

import copy
import json
import re
from math import inf, nan

import pytest

import ttt_env
from ttt_env import Certificate, Exploitability, Match, Tournament
from ttt_env.errors import ResultFileError
from ttt_env.training.trial import TrialResult

SMALL = "mnk-v0:m=3,n=2,k=2"
DRAWN = ttt_env.Game("drawn", (2, 3), [(0, 1, 2)])


def lowest(position):
    return position.legal_cells[0]


def silent(position):
    """Names no free cell once two stones are on the board."""
    return position.legal_cells[-1] if position.ply < 2 else None


CERTIFICATES = {
    "beatable": ttt_env.certify("weights"),
    "unbeatable": ttt_env.certify("minimax"),
    "forfeiting": ttt_env.certify(silent, DRAWN),
    "recorded": ttt_env.certify(lowest, DRAWN),
    "of a won game": ttt_env.certify("random", SMALL),
}
MATCHES = {
    "exact": ttt_env.match("random", "minimax"),
    "sampled": ttt_env.match("random", "block", exact=False, games=30),
}
TOURNAMENTS = {
    "tournament": ttt_env.tournament({"random": "random", "a function": lowest, "block": "block"}, width=0.9)
}
EXPLOITABILITIES = {"exploitability": ttt_env.exploitability("random")}
RESULTS = CERTIFICATES | MATCHES | TOURNAMENTS | EXPLOITABILITIES
FREE = {
    r"forfeits\[\d+\]\.(said|outcome)": "what was said, and the name of the reason",
    r"blunders\.positions\[\d+\]": "another position in which value can be given away",
    r"refutations\.[XO]": "another game that ends as badly through the same blunder",
    r"game\.name|game\.winning_sets.*|game\.misere": "its name, or a game of which all is as true",
    r"(meetings\[\d+\]\.|agents\[\d+\]\.exploitability\.)?source": "computed from a policy or from answers",
    r"width": "how narrow the intervals were to be",
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
    return ["", f"{value}x", value[:-1], "policy", "recorded", "sampled", "X", None, 7, [], *changed[:40]]


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_any_one_change_is_refused_or_of_a_free_part(result):
    data = json.loads(result.to_json())
    names = [name for name, _, _ in leaves(data)]
    assert len(names) > 4 and type(result).from_dict(data) == result
    n_refused = 0
    for name, container, key in leaves(data):
        value = container[key]
        for other in others(value):
            container[key] = other
            try:
                loaded = type(result).from_dict(data)
            except ResultFileError:
                n_refused += 1
            else:
                is_free = any(re.fullmatch(pattern, name) for pattern in FREE)
                assert is_free or loaded == result, (name, value, other)
        container[key] = value
    assert n_refused > 3 * len(names)


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


START, RANDOM = ".../.../...", EXPLOITABILITIES["exploitability"]
BEATABLE, FORFEITING, WON = (CERTIFICATES[name] for name in ("beatable", "forfeiting", "of a won game"))
LOST = str(BEATABLE.refutations["O"])
NOTHING = {"count": 0, "positions": []}
FORGED = {
    "no refutation, and beaten": (BEATABLE, {"refutations__O": None, "unbeatable": True}, "refutations.O"),
    "beaten, and no refutation": (CERTIFICATES["unbeatable"], {"worst_case__O": -1}, "refutations.O"),
    "unbeatable, and blunders on the way to a loss": (
        BEATABLE, {"blunders": NOTHING, "missed_wins": NOTHING}, "no listed blunder",
    ),
    "a worst case that no game has": (BEATABLE, {"worst_case__X": 5}, "worst_case.X"),
    "a better worst case than best play": (BEATABLE, {"worst_case__X": 1}, "worst_case.X"),
    "a refutation that does not end": (BEATABLE, {"refutations__O": LOST.rpartition(" ")[0]}, "does not end"),
    "a refutation that goes on": (BEATABLE, {"refutations__O": f"{LOST} 8"}, "refutations.O"),
    "a refutation that the agent wins": (
        BEATABLE, {"refutations__O": "tictactoe-v0: 0 1 3 4 2 7"}, "ends with 1 for the agent",
    ),
    "an empty refutation": (BEATABLE, {"refutations__O": ""}, "refutations.O"),
    "a refutation of another game": (BEATABLE, {"refutations__O": "square-v0: 0"}, "refutations.O"),
    "another value of the game": (BEATABLE, {"game__value": 1}, "game.value"),
    "a negative count": (BEATABLE, {"blunders__count": -1}, "blunders.count"),
    "more blunders than listed": (BEATABLE, {"blunders__count": BEATABLE.n_blunders + 1}, "blunders"),
    "a position where the game is over": (
        BEATABLE, {"blunders__positions__0": "XXX/OO./..."}, "blunders.positions",
    ),
    "a position that no game has": (BEATABLE, {"blunders__positions__0": "XXX/.../..."}, "blunders"),
    "a position where no value can be given away": (
        BEATABLE,
        {"blunders": {"count": BEATABLE.n_blunders + 1, "positions": [*map(str, BEATABLE.blunders), START]}},
        "in .../.../... there is no value to give away",
    ),
    "asked in more positions than there are": (
        CERTIFICATES["recorded"], {"asked": CERTIFICATES["recorded"].asked + 1}, "asked",
    ),
    "a win that was missed and none": (WON, {"missed_wins": NOTHING}, "missed_wins"),
    "more positions than there are": (BEATABLE, {"positions__X": 6000}, "positions.X"),
    "fewer positions than are named": (BEATABLE, {"positions__X": 0}, "positions.X"),
    "answers nobody gave": (BEATABLE, {"source": "recorded"}, "asked"),
    "games that nobody played": (BEATABLE, {"source": "sampled"}, "source"),
    "a forfeit that is not listed": (FORFEITING, {"forfeits": []}, "refutations|blunders"),
    "a forfeit that is there twice": (
        FORFEITING, {"forfeits": FORFEITING.to_dict()["forfeits"] * 2}, "a position is there twice",
    ),
    "a forfeit that played": (FORFEITING, {"forfeits__0__outcome": "played"}, "outcome"),
    "a winning X that loses by best play": (WON, {"game__value": -1}, "game.value"),
    "perfect where it blunders": (BEATABLE, {"imperfect": 0}, "imperfect"),
    "null where it is known": (BEATABLE, {"imperfect": None, "perfect": None}, "imperfect: null is not due"),
    "a pair of positions that are not symmetric": (
        CERTIFICATES["recorded"], {"inconsistent": [["X../...", ".X./..."]]}, "not symmetric|symmetry",
    ),
    "a pair of one position": (
        CERTIFICATES["recorded"], {"inconsistent": [["X../...", "X../..."]], "consistent": 0}, "same|class",
    ),
    "three shares of which none is left": (MATCHES["exact"], {"as_x__draw": 0.9}, "as_x.loss"),
    "shares of less than all": (MATCHES["exact"], {"as_x__draw": 0.0}, "as_x.loss"),
    "another score": (MATCHES["exact"], {"score": 0.0}, "score"),
    "a computed match of games": (MATCHES["exact"], {"games": 100}, "games"),
    "a computed match that was sampled": (MATCHES["exact"], {"source": "sampled"}, "source"),
    "a sampled match that is computed": (MATCHES["sampled"], {"exact": True}, "source"),
    "an interval of other games": (MATCHES["sampled"], {"interval": [-1.0, 1.0]}, "interval"),
    "an odd number of games": (MATCHES["sampled"], {"games": 31}, "games"),
    "more forfeits than losses": (
        MATCHES["sampled"],
        {"forfeits__0": [{"outcome": "taken", "games": 31, "position": ".../.../...", "said": ""}]},
        "forfeits",
    ),
    "a gain of more than all": (EXPLOITABILITIES["exploitability"], {"as_x": 1.5}, "as_x"),
    "a gain that is no number": (EXPLOITABILITIES["exploitability"], {"as_x": nan}, "as_x"),
    "gains below optimal play": (EXPLOITABILITIES["exploitability"], {"as_x": -1.0, "as_o": -1}, "nash"),
    "another mean": (EXPLOITABILITIES["exploitability"], {"exploitability": 0.0}, "exploitability"),
    "an agent of another name": (TOURNAMENTS["tournament"], {"agents__0__name": "minimax"}, "first|second"),
    "two agents of one name": (TOURNAMENTS["tournament"], {"agents__0__name": "block"}, "different names"),
    "a pair that met twice": (
        TOURNAMENTS["tournament"], {"meetings__1__second": "a function"}, "have met before",
    ),
    "a pair that never met": (
        TOURNAMENTS["tournament"],
        {"meetings": TOURNAMENTS["tournament"].to_dict()["meetings"][:2]},
        "is_complete: True, and False follows",
    ),
    "a best response to X that others outdo": (
        TOURNAMENTS["tournament"],
        {"agents__0__exploitability": Exploitability(0.0, RANDOM.as_o).to_dict()},
        "gains more than the best response",
    ),
    "a best response to O that others outdo": (
        TOURNAMENTS["tournament"],
        {"agents__0__exploitability": Exploitability(RANDOM.as_x, 0.0).to_dict()},
        "gains more than the best response",
    ),
    "a better rating": (TOURNAMENTS["tournament"], {"agents__0__rating": 500.0}, "rating"),
}  # fmt: skip


@pytest.mark.parametrize(("result", "changes", "words"), FORGED.values(), ids=FORGED)
def test_a_forgery_is_refused_with_the_part(result, changes, words):
    with pytest.raises(ResultFileError, match=words):
        type(result).from_dict(changed(result, **changes))


def test_a_lie_that_agrees_with_itself_is_found_by_certifying_again():
    counts = {"blunders": NOTHING, "missed_wins": NOTHING, "imperfect": 0, "unbeatable": True}
    nobody = {"refutations": {"X": None, "O": None}, "worst_case": {"X": 0, "O": 0}}
    total = sum(BEATABLE.positions.values())
    data = changed(BEATABLE, **counts, **nobody, good=total, perfect=total)
    assert Certificate.from_dict(data).unbeatable and Certificate.from_dict(data) != ttt_env.certify(
        "weights"
    )


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}', '{"a": NaN}', "[-Infinity]", "1e", "9" * 5000]
)
@pytest.mark.parametrize("kind", [Certificate, Match, Exploitability, Tournament])
def test_json_that_is_none(kind, text, tmp_path):
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(ResultFileError, match=r"some\.json: this is no"):
        kind.load(tmp_path / "some.json")


def test_a_key_that_comes_twice_is_refused(tmp_path):
    text = CERTIFICATES["unbeatable"].to_json()
    (tmp_path / "twice.json").write_text(text.replace('"asked": 0', '"asked": 0, "asked": 0'))
    with pytest.raises(ResultFileError, match=r"twice\.json: .*'asked' comes twice"):
        Certificate.load(tmp_path / "twice.json")


@pytest.mark.parametrize("name", ["random", "rules", "softmax", "ppo", "mcts:simulations=5,seed=0"])
def test_what_is_written_loads_again(name, tmp_path):
    for result in (
        ttt_env.certify(name),
        ttt_env.exploitability(name),
        ttt_env.match(name, "random", games=7),
    ):
        result.save(tmp_path / "result.json")
        assert type(result).load(tmp_path / "result.json") == result


class TestTrials:
    RESULT = TrialResult(
        "t", "dqn", "tictactoe-v0", 3, {}, {"steps": 1}, 9, 1.5, 0.0, 0, True, "t.zip", "goal"
    )

    @pytest.mark.parametrize(
        ("changes", "part"),
        [
            ({"exploitability": None}, "exploitability"),
            ({"exploitability": 0.5}, "unbeatable"),
            ({"exploitability": nan}, "exploitability"),
            ({"model": None}, "exploitability"),
            ({"model": "../t.zip"}, "model"),
            ({"ended": "error"}, "error"),
            ({"ended": "won"}, "ended"),
            ({"error": "no memory"}, "error"),
            ({"steps": -1}, "steps"),
            ({"steps": 1.0}, "steps"),
            ({"seed": True}, "seed"),
            ({"unbeatable": 1}, "unbeatable"),
            ({"budget": [1]}, "budget"),
        ],
    )
    def test_contradictions_are_refused(self, changes, part):
        data = copy.deepcopy(self.RESULT.to_dict())
        assert TrialResult.from_dict(data) == self.RESULT
        with pytest.raises(ResultFileError, match=f"this is no TrialResult: {part}: "):
            TrialResult.from_dict(data | changes)
