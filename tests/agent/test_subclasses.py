"""Classes derived from other agents, as people write them: they play what they are judged by."""

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, open_boards
from ttt_env import Agent
from ttt_env.agent import checked_policies, checked_policy, chosen_cell, generator_of
from ttt_env.agents.combining import Epsilon, Mixture, Symmetric
from ttt_env.agents.learned.network import NetworkAgent
from ttt_env.agents.mcts.agent import MCTS
from ttt_env.agents.planning.planners import BruteForce, Minimax, Softmax
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.errors import PolicyError

POSITIONS = list(open_boards())[::40]


def uniform(position):
    policy = np.zeros(9)
    policy[position.legal_cells] = 1 / len(position.legal_cells)
    return policy


def last_cell(position):
    return np.eye(9)[position.legal_cells[-1]]


def ends_at_once(position):
    return [cell for cell in position.legal_cells if position.child(cell).is_won]


class Corners(Agent):
    is_fixed = True

    def policy(self, position):
        weights = uniform(position) * np.array([3, 1, 3, 1, 1, 1, 3, 1, 3])
        return weights / weights.sum()


class Batch(Agent):
    is_fixed = True

    def policies(self, boards):
        return boards.legal / boards.legal.sum(axis=1, keepdims=True)


class Last(Agent):
    def choose(self, position, rng):
        return position.legal_cells[-1]


class Counting:
    """A mixin that notes its choices."""

    def choose(self, position, rng):
        self.chosen = [*getattr(self, "chosen", []), super().choose(position, rng)]
        return self.chosen[-1]


class CountingCorners(Counting, Corners):
    pass


class Greedy(Corners):
    def choose(self, position, rng):
        return int(super().policy(position).argmax())


def tired(kind):
    """A class that plays the last cell in the opening, and then as this class."""

    class Tired(kind):
        def choose(self, position, rng):
            return position.legal_cells[-1] if position.ply < 3 else super().choose(position, rng)

    return Tired


class Sharp(Corners):
    is_fixed = True

    def policies(self, boards):
        squares = super().policies(boards) ** 2
        return squares / squares.sum(axis=1, keepdims=True)


class Winning(Batch):
    is_fixed = True

    def policy(self, position):
        ends = ends_at_once(position)
        return np.eye(9)[ends[0]] if ends else super().policy(position)


def blended(kind):
    """A class that plays half as this class, half uniformly."""

    class Blended(kind):
        is_fixed = True

        def policy(self, position):
            return (super().policy(position) + uniform(position)) / 2

    return Blended


def last_of(kind):
    """A class that has a policy of its own, whatever this class does."""
    return type("Last", (kind,), {"policy": lambda self, position: last_cell(position)})


class OfTwoLevels(Sharp):
    """Its `choose` is that of the class above, which draws from this policy."""

    def policy(self, position):
        return last_cell(position)

    def choose(self, position, rng):
        return super().choose(position, rng)


class ByPly(Mixture):
    def choose(self, position, rng):
        return self.agents[-1].choose(position, rng)


def squared(position):
    squares = Corners(TICTACTOE).policy(position) ** 2
    return squares / squares.sum()


def at_first_the_last_cell(rest):
    return lambda position: last_cell(position) if position.ply < 3 else rest(position)


def winning(position):
    ends = ends_at_once(position)
    return np.eye(9)[ends[0]] if ends else uniform(position)


def rising_scores(planes):
    return np.tile(np.arange(9.0), (len(planes), 1))


def half(rest):
    return lambda position: (rest(position) + uniform(position)) / 2


MINIMAX = ttt_env.make_agent("minimax", TICTACTOE)
SEARCH = ttt_env.make_agent("mcts:simulations=9,seed=1", TICTACTOE)
HEIRS = {  # an agent, and the policy by which it should play
    "a mixin": (lambda: CountingCorners(TICTACTOE), Corners(TICTACTOE).policy),
    "greedy": (lambda: Greedy(TICTACTOE), lambda p: np.eye(9)[Corners(TICTACTOE).policy(p).argmax()]),
    "minimax": (lambda: tired(Minimax)(TICTACTOE), at_first_the_last_cell(MINIMAX.policy)),
    "mcts": (lambda: tired(MCTS)(TICTACTOE, simulations=9, seed=1), at_first_the_last_cell(SEARCH.policy)),
    "symmetric": (lambda: tired(Symmetric)(TICTACTOE, "minimax"), at_first_the_last_cell(MINIMAX.policy)),
    "mixture": (lambda: tired(Mixture)(TICTACTOE, "minimax+minimax"), at_first_the_last_cell(MINIMAX.policy)),
    "policies over policy": (lambda: Sharp(TICTACTOE), squared),
    "policy over policies": (lambda: Winning(TICTACTOE), winning),
    "policy over choose": (lambda: blended(Last)(TICTACTOE), half(last_cell)),
    "network": (lambda: blended(NetworkAgent)(TICTACTOE, rising_scores), half(last_cell)),
    "policy over a symmetric one": (lambda: blended(Symmetric)(TICTACTOE, "minimax"), half(MINIMAX.policy)),
    "two levels": (lambda: OfTwoLevels(TICTACTOE), last_cell),
    "epsilon": (lambda: last_of(Epsilon)(TICTACTOE, "minimax", 1.0), last_cell),
    "by ply": (lambda: ByPly(TICTACTOE, [Last(TICTACTOE), "minimax"]), MINIMAX.policy),
}


@pytest.mark.parametrize("name", HEIRS)
def test_it_plays_as_its_class_says(name):
    """In games as its policy is, and so is it judged; `super()` means the moves of the class above."""
    make, expected = HEIRS[name]
    agent, rng = make(), np.random.default_rng(0)
    batch = agent.policies(ttt_env.Boards.of(POSITIONS))
    for position, in_batch in zip(POSITIONS, batch, strict=True):
        due = expected(position)
        if agent.plays_by == "choose":  # its policy is one of the cells that it may choose
            assert due[checked_policy(agent, position).argmax()] > 0 and due[in_batch.argmax()] > 0
        else:
            np.testing.assert_allclose([checked_policy(agent, position), in_batch], [due, due], atol=1e-12)
        played = {chosen_cell(agent, position, rng) for _ in range(3)}
        assert played | {agent.choose(position, rng)} <= set(np.flatnonzero(due))


WAYS = ("policy", "policies", "choose")


def asked(agent, way, position):
    """The cell that the agent names in this way; its policies have one cell."""
    if way == "policies":
        return int(agent.policies(ttt_env.Boards.of([position]))[0].argmax())
    if way == "policy":
        return int(agent.policy(position).argmax())
    return int(getattr(agent, way)(position, np.random.default_rng(0)))


def level(base, way, above):
    """A class that says in this way that it plays the cell after the one that `above` says of `base`."""

    def cell(self, position):
        if above is None:
            return position.legal_cells[0]
        cells = position.legal_cells
        return cells[(cells.index(asked(super(kind, self), above, position)) + 1) % len(cells)]

    methods = {
        "policy": lambda self, position: np.eye(9)[cell(self, position)],
        "policies": lambda self, boards: np.array([np.eye(9)[cell(self, each)] for each in boards]),
        "choose": lambda self, position, rng: cell(self, position),
    }
    kind = type("Level", (base,), {way: methods[way], "is_fixed": True})
    return kind


def test_super_is_the_class_above_over_any_levels():
    for ways in itertools.product(WAYS[:3], repeat=3):
        for above in itertools.product(WAYS[:3], repeat=2):
            kind = Agent
            for way, by in zip(ways, (None, *above), strict=True):
                kind = level(kind, way, by)
            agent = kind(TICTACTOE)
            for position in POSITIONS[::40]:
                cells = position.legal_cells
                assert {asked(agent, way, position) for way in WAYS} == {cells[2 % len(cells)]}, (ways, above)


def test_who_copies_the_marks_of_a_method_overrides_it_all_the_same():
    """`functools.wraps` copies the attributes of a function."""

    class Liar(Minimax):
        is_fixed = True

        @functools.wraps(Minimax.choose)
        def choose(self, position, rng):
            return position.legal_cells[-1]

    class Borrower(Corners):
        choose = vars(Batch)["choose"]  # which follows from the policies of that class

    assert Borrower(TICTACTOE).plays_by == "choose"
    liar = Liar(TICTACTOE)
    assert liar.plays_by == "choose" and not ttt_env.certify(liar).unbeatable
    assert ttt_env.match(liar, "minimax", exact=True).as_o.loss == 1


def test_methods_of_every_kind():
    class Static(Agent):
        is_fixed = True
        policy = staticmethod(last_cell)

    class OfTheClass(Agent):
        is_fixed = True

        @classmethod
        def policy(cls, position):
            return last_cell(position)

    class Property(Agent):
        is_fixed = True

        @property
        def policy(self):
            return last_cell

    class Chosen(Agent):
        choose = staticmethod(lambda position, rng: position.legal_cells[-1])

    for kind in (Static, OfTheClass, Property, Chosen):
        agent = kind(TICTACTOE)
        for way, position in itertools.product(WAYS, POSITIONS[::20]):
            assert asked(agent, way, position) == position.legal_cells[-1]
        assert not ttt_env.certify(agent).unbeatable


def test_of_two_parents_the_first_that_says_how_it_plays_counts():
    class Mixin:
        def choose(self, position, rng):
            return position.legal_cells[0]

    class One(Mixin, Corners):
        pass

    class Other(Mixin, Corners):
        def policies(self, boards):
            return np.array([last_cell(position) for position in boards])

    class Both(One, Other):
        pass

    agent = Both(TICTACTOE)
    assert agent.plays_by == "policies"
    assert {asked(agent, way, POSITIONS[3]) for way in WAYS} == {POSITIONS[3].legal_cells[-1]}


def test_a_policy_that_follows_from_itself_is_an_error():
    class Circle(Corners):
        def choose(self, position, rng):
            return int(self.policy(position).argmax())

    agent = Circle(TICTACTOE)
    for play in (
        lambda: agent.choose(TICTACTOE.start, np.random.default_rng(0)),
        lambda: ttt_env.certify(agent),
        lambda: ttt_env.play_game(agent, "random", TICTACTOE),
    ):
        with pytest.raises(PolicyError, match=r"choose of <Circle.*super\(\).policy is that of the class"):
            play()


def test_methods_that_come_late_or_from_elsewhere():
    class Registry:
        def __init_subclass__(cls):
            pass  # without a call of super()

    class Registered(Registry, Agent):
        def choose(self, position, rng):
            return position.legal_cells[-1]

    def with_policy(kind):
        kind.policy = lambda self, position: last_cell(position)
        return kind

    @with_policy
    class Decorated(Agent):
        is_fixed = True

    class Brain:
        def policy(self, position):
            return last_cell(position)

    class Thinking(Brain, Agent):
        is_fixed = True

    for kind in (Registered, Decorated, Thinking):
        agent = kind(TICTACTOE)
        policies = checked_policies(agent, ttt_env.Boards.of(POSITIONS[:3]))
        assert policies.argmax(axis=1).tolist() == [position.legal_cells[-1] for position in POSITIONS[:3]]
        assert agent.choose(POSITIONS[0], generator_of(POSITIONS[0])) == POSITIONS[0].legal_cells[-1]
        assert ttt_env.match(agent, "random", exact=True).exact

    class Patched(Sharp):
        pass

    before = Patched(TICTACTOE)
    Patched.policy = lambda self, position: last_cell(position)
    after = Patched(TICTACTOE)
    assert after.plays_by == "policy" and not after.is_fixed
    assert {asked(after, way, POSITIONS[3]) for way in WAYS} == {POSITIONS[3].legal_cells[-1]}
    del Patched.policy
    again = Patched(TICTACTOE)
    assert again.is_fixed and again.plays_by == before.plays_by == "policies"
    np.testing.assert_array_equal(again.policy(POSITIONS[3]), Sharp(TICTACTOE).policy(POSITIONS[3]))

    for parents in ((Agent, Brain), (Agent,)):
        mute = type("Mute", parents, {})
        with pytest.raises(PolicyError, match="Mute says nowhere how it plays: override policy or choose"):
            mute(TICTACTOE)


def noisy(kind):
    """A class derived from this one that has a parameter more, and a state of its own."""

    class Noisy(kind):
        def __init__(self, game, noise=0.5, **parameters):
            self.noise = noise
            super().__init__(game, **parameters)
            self.n_moves = 0

        def choose(self, position, rng):
            self.n_moves += 1
            return position.legal_cells[-1] if rng.random() < self.noise else super().choose(position, rng)

    Noisy.__name__ = Noisy.__qualname__ = f"Noisy{kind.__name__}"  # by which it is pickled
    return Noisy


NoisyMinimax, NoisySoftmax, NoisyBruteForce = noisy(Minimax), noisy(Softmax), noisy(BruteForce)
NoisyMCTS, NoisyAlphaZero = noisy(MCTS), noisy(AlphaZero)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (NoisyMinimax, {}),
        (NoisyMinimax, {"depth": 2}),
        (NoisySoftmax, {"temperature": 0.4}),
        (NoisyBruteForce, {}),
        (NoisyMCTS, {"simulations": 9, "seed": 1}),
        (NoisyAlphaZero, {"simulations": 2}),
    ],
)
def test_a_copy_is_the_same_agent(kind, parameters):
    """With its own parameters and state, in another process and with an environment."""
    agent = kind(TICTACTOE, noise=0.0, **parameters)
    agent.choose(TICTACTOE.start, np.random.default_rng(0))
    for copied in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert (copied.noise, copied.n_moves) == (0.0, 1)
        for position in POSITIONS[::12]:
            cells = [each.choose(position, np.random.default_rng(3)) for each in (agent, copied)]
            assert cells[0] == cells[1]
    envs = copy.deepcopy(ttt_env.make(TICTACTOE.name, opponent=agent))
    envs.reset(seed=0)


def test_workers_judge_the_agent_that_they_are_given():
    class Sharper(Corners):  # local classes are sent whole, without what their ancestors declare alike
        is_fixed = True

        def policy(self, position):
            return squared(position)

    agents = {"quiet": NoisyMinimax(TICTACTOE, noise=0.0), "loud": NoisyMinimax(TICTACTOE, noise=1.0)}
    found = [ttt_env.certify(agents | {"sharp": Sharper(TICTACTOE)}, workers=workers) for workers in (1, 2)]
    assert found[0] == found[1]
    assert [found[0][name].unbeatable for name in agents] == [True, False]
    assert found[1]["sharp"].source == "declared"


def test_an_agent_that_knows_only_where_its_games_lead_plays_in_a_vector_env():
    """As O alone, from a table of the positions that it reaches."""
    table = {}

    @functools.cache
    def reach(position):
        if position.is_over:
            return
        if position.to_move == "X":
            for cell in position.legal_cells:
                reach(position.child(cell))
        else:
            table[position] = int(MINIMAX.policy(position).argmax())
            reach(position.child(table[position]))

    class Reached(Agent):
        is_fixed = True

        def policy(self, position):
            return np.eye(9)[table[position]]

    reach(TICTACTOE.start)
    agent, rng = Reached(TICTACTOE), np.random.default_rng(1)
    envs = ttt_env.make_vec(TICTACTOE.name, 16, opponent=agent, play_as="X")
    envs.reset(seed=0)
    rewards = []
    for _ in range(30):
        masks = envs.action_masks()
        _, earned, *_ = envs.step(np.argmax(masks * rng.random(masks.shape), axis=1))
        rewards += earned.tolist()
    assert min(rewards) == -1 and max(rewards) <= 0
    unknown = ttt_env.make_vec(TICTACTOE.name, 16, opponent=agent, play_as="O")
    with pytest.raises(KeyError):
        unknown.reset(seed=0)
