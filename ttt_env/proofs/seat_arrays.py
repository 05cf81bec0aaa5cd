"""Arrays about each of the two seats, side by side in one file: their names begin with that of the seat."""

from collections.abc import Collection, Mapping

from ttt_env.rules.game import SEATS, Seat
from ttt_env.storage.policy_file import Arrays, Form


def joined(of_seats: Mapping[Seat, Arrays]) -> Arrays:
    """The arrays of each seat under the names that they have in a file."""
    return {
        _prefix(seat) + name: array for seat, arrays in of_seats.items() for name, array in arrays.items()
    }


def forms_in(names: Collection[str], forms: Mapping[str, Form]) -> dict[str, Form]:
    """The forms of the arrays with these names in a file, the same for each seat."""
    of_seats = {_prefix(seat) + name: form for seat in SEATS for name, form in forms.items()}
    return {name: form for name, form in of_seats.items() if name in names}


def separated(arrays: Arrays) -> dict[Seat, Arrays]:
    """The arrays of each seat that has any in a file."""
    of_seats: dict[Seat, Arrays] = {}
    for seat in SEATS:
        for name, array in arrays.items():
            if name.startswith(_prefix(seat)):
                of_seats.setdefault(seat, {})[name.removeprefix(_prefix(seat))] = array
    return of_seats


def _prefix(seat: Seat) -> str:
    return f"{seat.lower()}_"
