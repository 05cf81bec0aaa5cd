"""Whatever text is given, there is a value or an error of this package; and what is written is read again."""

import tracemalloc
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttt_env import Game, GameRecord, Position, TttEnvError, get_game, make_agent
from ttt_env.rules.sizes import BOARD_CELLS, BOARD_SETS
from ttt_env.rules.specs import split_spec

LONG = settings.get_profile("long")
MEBIBYTES = 2**20

IDS = [
    "tictactoe-v0",
    "square-v0",
    "mnk-v0",
    "mnk-v0:m=4,n=2,k=2",
    "qubic-v0:misere=true",
    "tictactoe-v0:misere",
]
OWN = Game("lopsided: a game", (2, 3), [(0, 1, 2), (0, 4)])
# Quick to make: nothing is trained, searched or read from a file.
AGENTS = ["random", "minimax", "rules", "softmax", "epsilon", "mixture", "lookup", "imitation", "weights"]
KEYS = [
    "depth",
    "temperature",
    "epsilon",
    "agent",
    "agents",
    "weights",
    "path",
    "rules",
    "prefer",
    "fallback",
]
VALUES = [
    "",
    "1",
    "3",
    "-1",
    "0.5",
    "1e400",
    "nan",
    "none",
    "true",
    "x.npz",
    "lr=0.1.npz",
    "fast",
    "9" * 5000,
    "٣",
]
SIGNS = [":", ",", "=", "(", ")", "+", " ", "\n", "/", ".", "\x00", "\ud800", "é", "|"]

anything = st.one_of(
    st.none(), st.booleans(), st.binary(max_size=20), st.floats(), st.integers(), st.just(10**5000), st.text()
)


def words(*vocabularies: list[str]) -> st.SearchStrategy[str]:
    """Texts put together from these words and from any letters, surrogates among them."""
    pieces = st.sampled_from([word for vocabulary in vocabularies for word in vocabulary])
    letters = st.text(st.characters(codec=None), max_size=3)
    return st.lists(st.one_of(pieces, pieces, pieces, letters), max_size=14).map("".join)


def mutated(text: str) -> st.SearchStrategy[str]:
    """A text in which a few places are other letters or missing."""
    change = st.tuples(st.integers(0, len(text)), st.sampled_from([*SIGNS, "X", "O", "4", "", "99999"]))

    def changed(changes: list[tuple[int, str]]) -> str:
        letters = [*text, ""]
        for at, letter in changes:
            letters[at] = letter
        return "".join(letters)

    return st.lists(change, max_size=4).map(changed)


@cache
def played(game: Game | str, moves: int) -> Position:
    position = get_game(game).start
    for _ in range(moves):
        position = position if position.is_over else position.child(position.legal_cells[moves % 2 - 1])
    return position


games = st.sampled_from([*IDS, OWN])
positions = st.builds(played, games, st.integers(0, 9))
position_texts = words(["X", "O", "X../.../..."], SIGNS) | positions.map(str).flatmap(mutated)
records = st.sampled_from(["tictactoe-v0: 4 0 8 2 6", "mnk-v0:m=4,n=2,k=2: 0 1", "tictactoe-v0:misere: 3"])
record_texts = words(IDS, SIGNS, ["4", "0 1 2", ": 4", "9" * 5000]) | records.flatmap(mutated)
parameters = ["m", "n", "k", "misere", "=", "1000000", "9" * 400]
game_texts = words(IDS, SIGNS, parameters, VALUES) | st.sampled_from(IDS).flatmap(mutated)
nested = st.sampled_from(["epsilon:", "mixture:", "(", "epsilon:agent=", "mixture:random+"])
agents = st.sampled_from(
    [
        "epsilon:softmax:temperature=0.2,epsilon=0.1",
        "mixture:(epsilon:minimax,epsilon=0.2)+rules,weights=1+2",
    ]
)
agent_texts = st.one_of(
    words(AGENTS, SIGNS, KEYS, VALUES),
    st.lists(nested, max_size=40).map(lambda outer: "".join([*outer, "random"])).flatmap(mutated),
    agents.flatmap(mutated),
)


def in_bounds(use: Callable[[], object]) -> object:
    """What is returned, or None with an error of this package; in both cases little memory was taken."""
    tracemalloc.start()
    try:
        return use()
    except TttEnvError as error:
        assert len(str(error)) < 5000
        str(error).encode(errors="strict")
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200 * MEBIBYTES


def position_text(text: object, game: Game | str) -> None:
    position = in_bounds(lambda: Position.parse(text, game))
    if position is not None:
        assert Position.parse(str(position), game) == position
        assert str(position) == text.strip()


def record_text(text: object, game: Game | str | None) -> None:
    record = in_bounds(lambda: GameRecord.parse(text, game))
    if record is not None:
        assert GameRecord.parse(str(record), record.game) == record


def game_text(text: object) -> None:
    game = in_bounds(lambda: get_game(text))
    if game is not None:
        assert get_game(game.name) == game
        assert game.n_cells <= BOARD_CELLS and len(game.winning_sets) <= BOARD_SETS


def agent_text(text: object) -> None:
    agent = in_bounds(lambda: make_agent(text))
    if agent is not None:
        position = get_game("tictactoe-v0").start
        assert agent.policy(position).sum() == pytest.approx(1)


def spec_text(text: str) -> None:
    spec = in_bounds(lambda: split_spec(text))
    if spec is not None and spec.name.isidentifier():
        assert split_spec(str(spec)) == spec


def own_game(name: object, shape: object, sets: object, misere: object) -> None:
    game = in_bounds(lambda: Game(name, shape, sets, misere))
    if game is not None:
        record = GameRecord(game, game.start.legal_cells[:1])
        assert GameRecord.parse(str(record), game) == record
        assert game.n_cells <= BOARD_CELLS


small = st.integers(-2, 30)
own_games = (
    st.one_of(words(IDS, SIGNS), anything),
    st.one_of(st.lists(small, max_size=4), st.lists(st.integers(), max_size=4), anything),
    st.one_of(st.lists(st.lists(small, max_size=5), max_size=6), st.lists(anything, max_size=3), anything),
    st.one_of(st.booleans(), anything),
)
DOORS = {
    "position": (position_text, (st.one_of(position_texts, anything), games)),
    "record": (record_text, (st.one_of(record_texts, anything), st.one_of(st.none(), games))),
    "game": (game_text, (st.one_of(game_texts, anything),)),
    "agent": (agent_text, (st.one_of(agent_texts, anything),)),
    "spec": (spec_text, (st.one_of(agent_texts, game_texts),)),
    "own game": (own_game, own_games),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_value_or_a_named_error(door):
    use, inputs = DOORS[door]
    given(*inputs)(use)()


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_a_value_or_a_named_error_at_length(door):
    use, inputs = DOORS[door]
    LONG(given(*inputs)(use))()
