"""What was computed, kept in the order of its last use: more of it for small games than for large ones."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_instant

Found = TypeVar("Found")


class Keeper(Generic[Found]):
    """Keeps up to `small` things about games of up to 9 cells and up to `large` about larger ones."""

    def __init__(self, small: int, large: int) -> None:
        self._most = {True: small, False: large}
        self._kept: dict[bool, OrderedDict[tuple[Game, str], Found]] = {
            True: OrderedDict(),
            False: OrderedDict(),
        }
        self._lock = Lock()

    def get(self, game: Game, name: str) -> Found | None:
        """What is kept under this name, if anything is."""
        kept = self._kept[is_instant(game)]
        with self._lock:
            if (game, name) in kept:
                kept.move_to_end((game, name))
            return kept.get((game, name))

    def keep(self, game: Game, name: str, found: Found) -> Found:
        """Keep `found`, and give it back."""
        is_small = is_instant(game)
        with self._lock:
            self._kept[is_small][game, name] = found
            while len(self._kept[is_small]) > self._most[is_small]:
                self._kept[is_small].popitem(last=False)
        return found

    def drop(self, name: str) -> None:
        """Keep nothing of this name."""
        with self._lock:
            for kept in self._kept.values():
                for key in [key for key in kept if key[1] == name]:
                    del kept[key]

    def get_or_make(self, game: Game, name: str, make: Callable[[], Found]) -> Found:
        """What is kept, made first if need be."""
        found = self.get(game, name)
        return self.keep(game, name, make()) if found is None else found
