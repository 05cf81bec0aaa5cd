"""The claims of the authors of five published systems."""

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from softmax_figures import FINE, chances, openings, outcomes

import ttt_env
from claims import Finding, cells_of, claim, found, percent, same
from ttt_env.agents.heuristics.weights import cell_weights
from ttt_env.agents.learned.lookup import code
from ttt_env.agents.planning.planners import every_move
from ttt_env.analysis.induction import backward_induction
from ttt_env.analysis.layers import reachable

GAME = ttt_env.get_game("tictactoe-v0")
TRAININGS = Path(__file__).parents[2] / "docs" / "results" / "claims.md"
TEMPERATURES = np.round(np.linspace(0.1, 1.0, 10), 1).tolist()

SOFTMAX = "Softmax minimax with two temperatures"
VALUE_NETWORK = "A neural value network"
SQUARE = "Square tic-tac-toe"
FIVE_ROUNDS = "Five rounds"
BOTS = "Bots"
GIBSON = "[Gibson 2024](https://www.lachlangibson.dev/blog/tic-tac-toe/)"
DANIELS = "[Daniels](#a-value-network-thomas-daniels)"
AGARWAL = "[Agarwal](#square-tic-tac-toe-sundeep-agarwal)"
THORMEIER = "[Thormeier](#five-rounds-pascal-thormeier)"
DAVIS = "[Davis 2018](https://nicolodavis.com/blog/tic-tac-toe/)"

# --- Gibson -----------------------------------------------------------------------------------------------


@claim(
    SOFTMAX,
    GIBSON,
    "In `XX./OO./XO.`, at temperature 0.2 against 1, X expects 0.9813 and plays 97.46 / 2.52 / 0.02 %.",
)
def softmax_example() -> Finding:
    """His worked example."""
    position = ttt_env.Position.parse("XX./OO./XO.", GAME)
    agent = ttt_env.make_agent("softmax:temperature=0.2,opponent_temperature=1", GAME)
    shares = [100 * agent.policy(position)[cell] for cell in (2, 5, 8)]
    value = outcomes(0.2, 1).values().of(ttt_env.Boards.of([position]))[0]
    text = f"{value:.4f}; {' / '.join(f'{share:.2f}' for share in shares)} %"
    return same(text, "0.9813; 97.46 / 2.52 / 0.02 %")


@claim(SOFTMAX, GIBSON, "X wins more than half of the games if both temperatures are 1.")
def softmax_both_hot() -> Finding:
    """The right end of his first plot."""
    x_wins, draw, o_wins = chances(1, 1)
    text = f"X {percent(x_wins)}, draw {percent(draw)}, O {percent(o_wins)}"
    return found(text, x_wins > 0.5)


@claim(SOFTMAX, GIBSON, "With X at 1, about 20 % of the games are drawn, whatever O's temperature.")
def softmax_draws() -> Finding:
    """His first plot."""
    draws = {o: chances(1, o)[1] for o in FINE.tolist()}
    most, least = max(draws, key=draws.__getitem__), min(draws, key=draws.__getitem__)
    text = f"between {percent(draws[least])} (O at {least:g}) and {percent(draws[most])} (O at {most:g})"
    return found(text, draws[most] - draws[least] < 0.02, draws[least] < 0.2 < draws[most])


@claim(SOFTMAX, GIBSON, "With X at 1, both win equally often when O is near 0.5.")
def softmax_equal_chances() -> Finding:
    """His first plot."""
    at = root(lambda o: lead(1, o), 0.1, 1.0)
    return found(f"with O at {at:.4f}", abs(at - 0.5) < 0.05)


def lead(x: float, o: float) -> float:
    """The probability that X wins, less that O does."""
    x_wins, _, o_wins = chances(x, o)
    return x_wins - o_wins


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The place where a function changes its sign, by bisection."""
    is_below = function(low) < 0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) < 0) == is_below else (low, middle)
    return low


@claim(SOFTMAX, GIBSON, "With X at 0.1, O almost never wins.")
def softmax_cold_x() -> Finding:
    """His second plot."""
    most = max(chances(0.1, o)[2] for o in TEMPERATURES)
    return found(f"at most {percent(most, 3)}", most < 0.01)


@claim(SOFTMAX, GIBSON, "With X at 1, the centre is the best opening.")
def softmax_hot_opening() -> Finding:
    """His third plot."""
    leads = [centre - max(others) for centre, *others in (openings(1, o) for o in TEMPERATURES)]
    return found(f"its score leads by {min(leads):.3f} to {max(leads):.3f}", min(leads) > 0)


@claim(SOFTMAX, GIBSON, "With X at 0.1, the corner is the best opening, except against a hot O.")
def softmax_cold_opening() -> Finding:
    """His fourth plot."""

    def ahead(o: float) -> float:
        centre, corner, _ = openings(0.1, o)
        return corner - centre

    at = root(ahead, 0.3, 1.0)
    holds = all((ahead(o) > 0) == (o < at) for o in TEMPERATURES)
    return found(f"the corner with O up to {at:.3f}, the centre above", holds)


# --- Daniels ----------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """A mean over the seeds, with the least and the largest."""

    mean: float
    least: float
    largest: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.least:.3g} to {self.largest:.3g})".replace("-", "−")

    def is_below(self, other: "Spread") -> bool:
        """True if each seed is below each of the other's."""
        return self.largest < other.least


class Training(NamedTuple):
    """The last fifth of the trainings of a kind, by the columns of their table."""

    good: Spread
    score: Spread
    exploitability: Spread


@cache
def trainings() -> dict[str, Training]:
    """The table of `value_network_figures.py` by the name of the training."""
    number = r"(-?[\d.]+)"
    spread = re.compile(rf"{number} \({number} to {number}\)")
    rows = {}
    section = TRAININGS.read_text("utf-8").partition("\n## Daniels' network: the runs\n")[2]
    for line in section.replace("−", "-").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and spread.fullmatch(cells[1]):
            numbers = [spread.fullmatch(cell) for cell in cells[1:]]
            spreads = [Spread(*map(float, match.groups())) if match else None for match in numbers]
            rows[cells[0]] = Training(*spreads)  # type: ignore[arg-type]
    return rows


def daniels(text: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """A claim of Daniels."""
    return claim(VALUE_NETWORK, DANIELS, text)


@daniels("The number of good games per hundred rises to between 90 and 100.")
def network_rises() -> Finding:
    """His progress plot."""
    good = trainings()["usual"].good
    return found(str(good), good.least >= 90, good.mean >= 90)


@daniels("Learning rates from 0.0125 to 0.075 do equally well.")
def network_rates_alike() -> Finding:
    """His comparison of rates."""
    by_rate = {rate: trainings()[name].good for rate, name in RATES.items()}
    text = "; ".join(f"{rate}: {good.mean:.1f}" for rate, good in by_rate.items())
    means = [good.mean for good in by_rate.values()]
    return found(f"good games by rate {text}", max(means) - min(means) < 5, means[0] - means[1] < 5)


RATES = {"0.0125": "rate 0.0125", "0.025": "usual", "0.05": "rate 0.05", "0.075": "rate 0.075"}


@daniels("A learning rate of 0.1 fails.")
def network_rate_too_high() -> Finding:
    """His comparison of rates."""
    high, usual = trainings()["rate 0.1"].good, trainings()["usual"].good
    return found(f"{high} good games", high.is_below(usual))


@daniels("Training only against a random opponent is worse than the mixed cycle.")
def network_random_only() -> Finding:
    """Measured on the games against random alone, which both have."""
    alone, mixed = trainings()["random only"].score, trainings()["usual"].score
    text = f"score {alone}, the mixed cycle {mixed}"
    return found(text, alone.is_below(mixed), alone.mean < mixed.mean)


@daniels("A network trained only against itself draws 100 of 100 games, and has learned nothing.")
def network_self_play() -> Finding:
    """His most interesting finding. That each run reaches 100 is said on the page of the trainings."""
    alone = trainings()["self-play only"]
    first_free = ttt_env.match(lambda position: position.legal_cells[0], "random", GAME, exact=True).score
    text = f"each run reaches 100 good games; mean {alone.good}; "
    text += f"exploitability {alone.exploitability.mean:.3g}; "
    text += f"score {alone.score}, where always taking the first free cell scores {first_free:.3g}"
    has_learned_nothing = alone.exploitability.least == 1 and alone.score.largest < first_free
    return found(text, alone.good.largest >= 99.5 and has_learned_nothing)


@daniels("Encoding an empty cell as 0 instead of 0.01 is less stable and worse.")
def network_empty() -> Finding:
    """His remark on the input."""
    empty, usual = trainings()["empty 0"].score, trainings()["usual"].score
    is_wider = empty.largest - empty.least > usual.largest - usual.least
    lower = "lower only on average" if usual.least <= empty.largest else "lower"
    text = f"score {empty}, usual {usual}: {lower}, and the range is {'wider' if is_wider else 'no wider'}"
    return found(text, is_wider and empty.is_below(usual), is_wider and empty.mean < usual.mean)


@daniels("With boards seen as X and O, omitting whose turn it is works clearly better than including it.")
def network_indicator() -> Finding:
    """His comparison of views."""
    without, tenth = trainings()["no indicator"], trainings()["tenth input"]
    text = f"score {without.score} without, {tenth.score} with"
    return found(text, tenth.score.is_below(without.score), tenth.score.mean < without.score.mean)


# --- Agarwal ----------------------------------------------------------------------------------------------


@claim(SQUARE, AGARWAL, "The weights of the empty board are 3 5 5 3 / 5 7 7 5 / 5 7 7 5 / 3 5 5 3.")
def square_weights() -> Finding:
    """His figure of the empty board."""
    weights = cell_weights(ttt_env.Boards.start(ttt_env.get_game("square-v0")))[0].reshape(4, 4)
    text = " / ".join(" ".join(f"{weight:.0f}" for weight in row) for row in weights)
    return same(text, "3 5 5 3 / 5 7 7 5 / 5 7 7 5 / 3 5 5 3")


@claim(
    SQUARE, AGARWAL, "The computer on *hard* can be beaten only by a player who moves first.", is_slow=True
)
def square_beaten_by_the_first() -> Finding:
    """His remark, over all 9,307,999 positions."""
    certificate = ttt_env.certify("weights", "square-v0")
    worst = ttt_env.exploitability("weights", "square-v0")
    game = cells_of(certificate.refutations["O"])
    second = f"moving second it loses every game to its best response, as in {game}"
    text = f"moving first it never loses; {second}"
    return found(text, certificate.worst_case == {"X": 0, "O": -1} and (worst.as_x, worst.as_o) == (0, 1))


# --- Thormeier --------------------------------------------------------------------------------------------


@claim(FIVE_ROUNDS, THORMEIER, "The whole tree has 1,099,892 nodes.")
def brute_force_nodes() -> Finding:
    """The tree that his fourth bot walks through."""
    nodes = sum(histories(ply) for ply in range(10))
    text = f"{nodes:,}; he counts every node twice, once per player"
    return found(text, nodes == 1_099_892, 2 * nodes == 1_099_892)


def histories(ply: int) -> int:
    """The games of so many moves, unfinished ones too: each pays 1 to who is to move then."""

    def payoff(at: int) -> tuple[float, float, float]:
        return (0.0, 1.0, 1.0) if at == ply else (0.0, 0.0, 0.0)

    layers = reachable(GAME)[: ply + 1]
    swept = backward_induction(
        layers, every_move, every_move, payoff=payoff, leaves=lambda boards: np.ones(len(boards))
    )
    return round(swept.start[ply % 2])


ROUNDS = ("random", "block", "win-block", "brute-force", "minimax:depth=5")


@claim(FIVE_ROUNDS, THORMEIER, "The five rounds lead from a simple player to a very sophisticated one.")
def five_rounds() -> Finding:
    """The best response's gain in each round, and a win against the last one."""
    worst = [ttt_env.exploitability(bot).exploitability for bot in ROUNDS]
    is_harder = all(later < earlier for earlier, later in pairwise(worst))
    game = ttt_env.certify(ROUNDS[-1]).shortest_refutation
    numbers = ", ".join(f"{one:.3f}" for one in worst)
    text = f"each is harder to exploit: {numbers}; yet even the last is beaten, by {cells_of(game)}"
    return found(text, is_harder)


# --- Davis ------------------------------------------------------------------------------------------------


@claim(BOTS, DAVIS, "Two rules, centre and block, are not terrible, but can be beaten.")
def rules_can_be_beaten() -> Finding:
    """His first bot."""
    certificate, match = ttt_env.certify("rules:centre+block"), ttt_env.match("rules:centre+block", "random")
    text = f"score {match.score:+.3f} against random; beaten by {cells_of(certificate.shortest_refutation)}"
    return found(text, match.score > 0 and not certificate.unbeatable)


@claim(BOTS, DAVIS, "The board `XOO/XX./XO.` has the code 14446.")
def board_code() -> Finding:
    """His table's key."""
    number = code(ttt_env.Position.parse("XOO/XX./XO.", GAME))
    return found(f"{number:,} = {np.base_repr(number, 3)} in base 3", number == 14446)


@claim(
    BOTS,
    "Kocsis and Szepesvári 2006",
    "Monte Carlo tree search by UCT tends to best play as its simulations grow.",
    is_slow=True,
)
def search_converges() -> Finding:
    """With his kind of search; here it also keeps what it has proved."""
    sizes, seeds = (10, 100, 1000, 10_000), range(20)
    worst = [
        np.mean(
            [ttt_env.exploitability(f"mcts:simulations={n},seed={seed}").exploitability for seed in seeds]
        )
        for n in sizes
    ]
    text = "; ".join(f"{n:,}: {mean:.3f}" for n, mean in zip(sizes, worst, strict=True))
    return found(
        f"exploitability by simulations {text} (twenty seeds)", worst[-1] == 0, worst == sorted(worst)[::-1]
    )
