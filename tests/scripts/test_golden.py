"""The package behaves as when `tests/golden/behaviour.txt` was written.

After an intended change, `python scripts/golden.py` writes the file again, and its diff shows the change.
"""

import golden
import pytest

from tests.support.marks import slow

KNOWN = golden.read()
NAMES = [slow(name) if family.is_slow else name for name, family in golden.FAMILIES.items()]


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_family(name: str) -> None:
    known = {fact: value for fact, value in KNOWN.items() if golden.family_of(fact) == name}
    changed = golden.differences(known, golden.FAMILIES[name].lines(name))
    assert not changed, changed


def test_file_has_facts_of_every_family() -> None:
    assert list(dict.fromkeys(map(golden.family_of, KNOWN))) == list(golden.FAMILIES)


def test_differences_show_old_and_new_values() -> None:
    assert golden.differences({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == ""
    text = golden.differences({"a": "1", "b": "2"}, {"a": "3", "c": "4"})
    assert text.splitlines()[:3] == ["a", "  was 1", "  is  3"]
    assert text.count("(nothing)") == 2
