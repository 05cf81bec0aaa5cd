"""Any text gives a value or an error of this package, and written text can be parsed again."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.marks import slow
from ttt_env import Game, GameRecord, Position, TttEnvError, get_game, make_agent
from ttt_env.rules.sizes import BOARD_CELLS, BOARD_SETS
from ttt_env.rules.specs import split_spec

MEBIBYTES = 2**20

IDS = ["tictactoe-v0", "square-v0", "mnk-v0", "mnk-v0:m=4,n=2,k=2", "qubic-v0:misere=true",
       "tictactoe-v0:misere"]  # fmt: skip
OWN = Game("lopsided: a game", (2, 3), [(0, 1, 2), (0, 4)])
# Quick to make: nothing is trained, searched or read from a file.
AGENTS = ["random", "minimax", "rules", "softmax", "epsilon", "mixture", "lookup", "imitation", "weights"]
KEYS = ["depth", "temperature", "epsilon", "agent", "agents", "weights", "path", "rules", "prefer",
        "fallback"]  # fmt: skip
VALUES = ["", "1", "3", "-1", "0.5", "1e400", "nan", "none", "true", "x.npz", "lr=0.1.npz", "fast",
          "9" * 5000, "٣"]  # fmt: skip
SIGNS = [":", ",", "=", "(", ")", "+", " ", "\n", "/", ".", "\x00", "\ud800", "é", "|"]

_anything = st.one_of(
    st.none(), st.booleans(), st.binary(max_size=20), st.floats(), st.integers(), st.just(10**5000), st.text()
)
anything = _anything.map(lambda value: value)  # one branch of `one_of`, not seven


def words(*vocabularies: list[str]) -> st.SearchStrategy[str]:
    """Texts composed of these words and of any characters, surrogates among them."""
    pieces = st.sampled_from([word for vocabulary in vocabularies for word in vocabulary])
    letters = st.text(st.characters(codec=None), max_size=3)
    return st.lists(st.one_of(pieces, pieces, pieces, letters), max_size=14).map("".join)


def mutated(text: str) -> st.SearchStrategy[str]:
    """A text in which a few characters are replaced or missing."""
    change = st.tuples(st.integers(0, len(text)), st.sampled_from([*SIGNS, "X", "O", "4", "", "99999"]))

    def changed(changes: list[tuple[int, str]]) -> str:
        letters = [*text, ""]
        for at, letter in changes:
            letters[at] = letter
        return "".join(letters)

    return st.one_of(st.lists(change, max_size=1), st.lists(change, max_size=4)).map(changed)


def record_of(game: Game | str, order: list[int]) -> GameRecord:
    """A game that plays the cells of this order that are legal."""
    position, cells = get_game(game).start, []
    for cell in order:
        if position.legal_mask >> cell & 1:
            position = position.child(cell)
            cells.append(cell)
    return GameRecord(position.game, tuple(cells))


games = st.sampled_from([*IDS, OWN])
played = st.builds(record_of, games, st.lists(st.integers(0, 63), max_size=30))
positions = played.map(lambda record: record.positions()[-1])
position_texts = positions.flatmap(
    lambda position: st.tuples(
        st.one_of(mutated(str(position)), words(["X", "O", "X../.../..."], SIGNS), anything),
        st.just(position.game),
    )
)
record_texts = words(IDS, SIGNS, ["4", "0 1 2", ": 4", "9" * 5000]) | played.map(str).flatmap(mutated)
sizes = st.fixed_dictionaries({key: st.integers(1, 25) for key in "mnk"})
game_ids = sizes.map(lambda at: "mnk-v0:" + ",".join(f"{key}={size}" for key, size in at.items()))
parameters = ["m", "n", "k", "misere", "=", "1000000", "9" * 400]
game_texts = words(IDS, SIGNS, parameters, VALUES) | (game_ids | st.sampled_from(IDS)).flatmap(mutated)
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


def with_bounded_memory(use: Callable[[], object]) -> object:
    """The result, or None if this package raised an error; neither may take much memory."""
    tracemalloc.start()
    try:
        return use()
    except TttEnvError as error:
        assert len(str(error)) < 5000
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200 * MEBIBYTES


def check_position_text(text_and_game: tuple[object, Game]) -> None:
    text, game = text_and_game
    position = with_bounded_memory(lambda: Position.parse(text, game))
    if position is not None:
        assert Position.parse(str(position), game) == position
        assert [each for each in str(position) if each in "XO"] == [
            each for each in text.upper() if each in "XO"
        ]


def check_record_text(text: object, game: Game | str | None) -> None:
    record = with_bounded_memory(lambda: GameRecord.parse(text, game))
    if record is not None:
        assert GameRecord.parse(str(record), record.game) == record


def check_game_text(text: object) -> None:
    game = with_bounded_memory(lambda: get_game(text))
    if game is not None:
        assert get_game(game.name) == game
        assert game.n_cells <= BOARD_CELLS and len(game.winning_sets) <= BOARD_SETS


def check_agent_text(text: object) -> None:
    agent = with_bounded_memory(lambda: make_agent(text))
    if agent is not None:
        position = get_game("tictactoe-v0").start
        assert agent.policy(position).sum() == pytest.approx(1)


def check_spec_text(text: str) -> None:
    spec = with_bounded_memory(lambda: split_spec(text))
    if spec is not None and spec.name.isidentifier():
        assert split_spec(str(spec)) == spec


def check_own_game(name: object, shape: object, sets: object, misere: object) -> None:
    game = with_bounded_memory(lambda: Game(name, shape, sets, misere))
    if game is not None:
        record = GameRecord(game, game.start.legal_cells[:1])
        assert GameRecord.parse(str(record), game) == record
        assert game.n_cells <= BOARD_CELLS


def mostly(good: st.SearchStrategy[object], *others: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.sampled_from(range(10)).flatmap(lambda draw: good if draw < 8 else st.one_of(*others))


few = st.integers(0, 4)
own_games = (
    mostly(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), words(IDS, SIGNS), anything),
    mostly(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.lists(st.integers()), anything),
    mostly(st.lists(st.lists(few, min_size=1), min_size=1), st.lists(st.lists(st.integers())), anything),
    mostly(st.booleans(), anything),
)
PARSERS = {
    "position": (check_position_text, (position_texts,)),
    "record": (check_record_text, (record_texts | anything, st.none() | games)),
    "game": (check_game_text, (game_texts | anything,)),
    "agent": (check_agent_text, (agent_texts | anything,)),
    "spec": (check_spec_text, (agent_texts | game_texts,)),
    "own game": (check_own_game, own_games),
}


@pytest.mark.parametrize("examples", [50, slow(5_000)])
@pytest.mark.parametrize("parser", PARSERS)
def test_text_gives_value_or_package_error(parser, examples):
    use, inputs = PARSERS[parser]
    settings(max_examples=examples)(given(*inputs)(use))()
