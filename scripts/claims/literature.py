"""Published claims about these games, their players, and learning in general."""

from collections.abc import Iterable
from functools import cache
from itertools import product

import numpy as np
from proofs import CUBE

import ttt_env
from claims import Finding, cells_of, claim, found, fraction, same
from claims.systems import GIBSON
from ttt_env.agents.planning.planners import every_move
from ttt_env.agents.pretrained import FOLDER
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.analysis.induction import backward_induction, uniform
from ttt_env.analysis.layers import Bools, Floats, Moves, reachable
from ttt_env.rules import canonical, canonical_boards

GAME = ttt_env.get_game("tictactoe-v0")

COUNTS = "Counts"
THEORY = "Theory of the games"
STRENGTH = "Strength and learning"
BOTTOMLEY = "Bottomley 2001"
OPENSPIEL = "[OpenSpiel](https://github.com/google-deepmind/open_spiel)"
GOLOMB_HALES = "Golomb and Hales 2002"

# --- Counts -----------------------------------------------------------------------------------------------


@claim(COUNTS, f"{OPENSPIEL}; {GIBSON}", "5,478 positions of tic-tac-toe can be reached.")
def positions() -> Finding:
    """All of them, the finished ones too."""
    n = sum(map(len, reachable(GAME)))
    return found(f"{n:,}", n == 5478)


@claim(COUNTS, BOTTOMLEY, "765 of them differ by more than a symmetry.")
def positions_up_to_symmetry() -> Finding:
    """Rotated and mirrored boards counted once."""
    n = sum(
        classes_of(layer.boards(np.concatenate([layer.open_slots, layer.won_slots, layer.drawn_slots])))
        for layer in reachable(GAME)
    )
    return found(f"{n:,}", n == 765)


def classes_of(boards: ttt_env.Boards) -> int:
    """The number of classes of symmetric positions among these."""
    least = canonical_boards(boards)[0]
    return len(set(zip(least.mine.tolist(), least.theirs.tolist(), strict=True)))


@claim(COUNTS, BOTTOMLEY, "There are 255,168 games: X wins 131,184, O 77,904, and 46,080 are drawn.")
def games() -> Finding:
    """Sequences of moves to an end."""
    x_wins, o_wins = backward_induction(reachable(GAME), every_move, every_move).start
    every = backward_induction(
        reachable(GAME), every_move, every_move, payoff=lambda ply: (1.0, 1.0, 1.0)
    ).start[0]
    text = f"{every:,.0f}: {x_wins:,.0f} / {o_wins:,.0f} / {every - x_wins - o_wins:,.0f}"
    return same(text, "255,168: 131,184 / 77,904 / 46,080")


@claim(COUNTS, BOTTOMLEY, "26,830 games, if symmetric moves count as one in each position.")
def games_up_to_symmetry() -> Finding:
    """Counted by a walk over classes of positions."""

    @cache
    def below(position: ttt_env.Position) -> int:
        after = {canonical(position.play(cell)) for cell in position.legal_cells}
        return sum(map(below, after)) if after else 1

    n = below(GAME.start)
    return found(f"{n:,}", n == 26_830)


@claim(COUNTS, "Michie's MENACE", "X has a choice in 304 positions, up to symmetry.")
def match_boxes() -> Finding:
    """The positions of plies 0, 2, 4 and 6; at ply 8 there is no choice."""
    n = sum(classes_of(layer.boards(layer.open_slots)) for layer in reachable(GAME)[:8:2])
    return found(f"{n}", n == 304)


@claim(COUNTS, GOLOMB_HALES, "A board of nᵈ cells has ((n+2)ᵈ − nᵈ)/2 lines.")
def lines() -> Finding:
    """Counted, not by the formula."""
    counted = [len(ttt_env.Game.runs((n,) * d, n)) for n, d in ((3, 2), (3, 3), (4, 3))]
    text = "{} on 3×3, {} on 3×3×3, {} on 4×4×4".format(*counted)
    return found(text, counted == [8, 49, 76])


@claim(
    COUNTS,
    "[OEIS A002415](https://oeis.org/A002415)",
    "An n×n grid has n²(n²−1)/12 squares, tilted ones too.",
)
def grid_squares() -> Finding:
    """Counted, not by the formula."""
    counted = [len(ttt_env.Game.squares(n)) for n in range(2, 9)]
    text = f"{', '.join(map(str, counted))} for n from 2 to 8"
    return found(text, counted == [n * n * (n * n - 1) // 12 for n in range(2, 9)])


# --- Theory -----------------------------------------------------------------------------------------------


@claim(THEORY, "Newell and Simon 1972", "Newell and Simon's eight rules, tried in order, never lose.")
def newell_simon() -> Finding:
    """On both seats, over all games that can come up."""
    certificate = ttt_env.certify("newell-simon")
    n = certificate.n_queries
    return found(f"blunders in {certificate.n_blunders} of {n} positions", certificate.unbeatable)


@claim(
    THEORY, "Newell and Simon 1972", "O must answer a corner with the centre, and the centre with a corner."
)
def replies() -> Finding:
    """The replies that hold the draw."""
    solution = ttt_env.solve(GAME)
    by_opening = {cell: solution.best_cells(GAME.start.play(cell)) for cell in (0, 4)}
    text = "; ".join(f"to {cell} only {' '.join(map(str, by_opening[cell]))}" for cell in by_opening)
    return found(
        f"replies that draw: {text}", list(by_opening[0]) == [4] and list(by_opening[4]) == [0, 2, 6, 8]
    )


@claim(THEORY, GOLOMB_HALES, "Misère tic-tac-toe is a draw, and X draws from the centre.")
def misere() -> Finding:
    """The value and the openings that hold it."""
    solution = ttt_env.solve("tictactoe-v0:misere=true")
    cells = list(solution.best_cells(solution.game.start))
    return found(
        f"value {solution.value}; the only opening that keeps it is {cells[0]}",
        (solution.value, cells) == (0, [4]),
    )


def small_games() -> Iterable[ttt_env.Game]:
    """All m,n,k games of up to 9 cells in which a row fits the board."""
    for m, n in product(range(1, 10), repeat=2):
        if m * n <= 9 and n <= m:
            yield from (ttt_env.get_game("mnk-v0", m=m, n=n, k=k) for k in range(1, m + 1))


@claim(THEORY, "Hales and Jewett 1963", "No m,n,k game is won by the second player.")
def strategy_stealing() -> Finding:
    """Over all small boards."""
    values = [ttt_env.solve(game).value for game in small_games()]
    x_wins, o_wins = values.count(1), values.count(-1) or "none"
    text = f"X wins {x_wins} of the {len(values)} games of up to 9 cells, O {o_wins}"
    return found(text, -1 not in values)


@claim(
    THEORY,
    "Erdős and Selfridge 1973",
    "If the sum of 2⁻ˢ over all winning sets, s being the number of cells of a set, is below 1/2, the game "
    "is a draw.",
)
def erdos_selfridge() -> Finding:
    """Over all small boards for which it says something."""
    below = [game for game in small_games() if sum(0.5 ** len(cells) for cells in game.winning_sets) < 0.5]
    values = [ttt_env.solve(game).value for game in below]
    n_draws = values.count(0)
    share = f"all {n_draws}" if n_draws == len(below) else f"{n_draws} of {len(below)}"
    return found(f"{share} such m,n,k games of up to 9 cells are draws", n_draws == len(below))


@claim(
    THEORY,
    "[their sources](values.md)",
    "The values published for 21 games hold. (A 22nd, 8,8,5, is proved as well, but takes too long to repeat "
    "here.)",
    is_slow=True,
)
def published_values() -> Finding:
    """Proofs by search, of all games for which the table of docs/results/values.md has a source."""
    x_wins = [CUBE, ttt_env.get_game("qubic-v0"), upright(5)]
    x_wins += map(mnk, ("4,3,3", "5,3,3", "4,4,3", "6,5,4", "9,4,4"))
    drawn = "3,3,3 4,4,4 5,4,4 6,4,4 7,4,4 8,4,4 5,5,4 5,5,5 6,6,5 7,7,5 6,6,6".split()
    draws = [*map(mnk, drawn), upright(3), upright(4)]
    wrong = [game.name for game in x_wins if ttt_env.prove(game).value != 1]
    wrong += [game.name for game in draws if ttt_env.prove(game).value != 0]
    n = len(x_wins) + len(draws)
    return found(f"{n - len(wrong)} of {n} proved", not wrong)


def mnk(size: str) -> ttt_env.Game:
    """The m,n,k game of this size."""
    m, n, k = map(int, size.split(","))
    return ttt_env.get_game("mnk-v0", m=m, n=n, k=k)


def upright(n: int) -> ttt_env.Game:
    """Square tic-tac-toe without tilted squares."""
    return ttt_env.get_game("square-v0", n=n, tilted=False)


# --- Strength and learning --------------------------------------------------------------------------------


@claim(
    STRENGTH, OPENSPIEL, "Two random players: X scores 0.2968253968. NashConv of random play is 1.9196593915."
)
def uniform_play() -> Finding:
    """Its expected game score and NashConv of the uniform policy."""
    value, worst = ttt_env.match("random", "random").as_x, ttt_env.exploitability("random").nash_conv
    text = f"{value.value:.10f}; {worst:.10f}"
    return same(text, "0.2968253968; 1.9196593915", f"; the score is {fraction(value.value)}")


@claim(
    STRENGTH, OPENSPIEL, "The best response to random play scores 0.9947916667 as X and 0.9248677249 as O."
)
def best_response_to_random() -> Finding:
    """The best response's score, by its seat."""
    worst = ttt_env.exploitability("random")
    text, exactly = f"{worst.as_o:.10f}; {worst.as_x:.10f}", f"{fraction(worst.as_o)}; {fraction(worst.as_x)}"
    return same(text, "0.9947916667; 0.9248677249", f": {exactly}")


@claim(
    STRENGTH, "a common assumption", "The player that scores most against a random player is the best player."
)
def most_against_random() -> Finding:
    """The best response to random, which takes the first of equal moves or, as our agent, draws one."""
    of_first = backward_induction(reachable(GAME), uniform, first_of_best).start[0]
    of_drawn = ttt_env.match("best-response:random", "random").as_o.loss
    beaten = ttt_env.certify("best-response:random").refutations["O"]
    text = f"as O the best response loses {fraction(of_first)} of its games to random play if it takes the "
    text += f"first of equal moves, {fraction(of_drawn)} if it takes a random one; perfect play beats it by "
    text += cells_of(beaten)
    return found(text, beaten is None)


def first_of_best(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """The first of the moves of highest value."""
    masked = np.where(legal, q, -np.inf)
    return np.eye(q.shape[1])[(masked >= masked.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)]


@claim(STRENGTH, "Watkins and Dayan 1992", "Tabular Q-learning converges to best play.")
def q_learning_converges() -> Finding:
    """The table that comes with the package, learned by self-play."""
    n = len(blunders_everywhere("q-learning"))
    open_positions = sum(len(layer.open_slots) for layer in reachable(GAME))
    return found(f"blunders in {n} of all {open_positions:,} unfinished positions", n == 0)


@claim(STRENGTH, "Silver et al. 2018", "AlphaZero masters a game by playing against itself.")
def alphazero_masters() -> Finding:
    """The certificates of the networks that come with the package, with 200 simulations.

    Those of Square and 4,4,4 passed the first exact evaluation, so no game of theirs began at a blunder.
    """
    names = ("alphazero", "alphazero@square", "alphazero@4-4-4")
    certificates = [ttt_env.Certificate.load(FOLDER / f"{name}.certificate.json") for name in names]
    first, second, third = (f"{one.n_queries:,}" for one in certificates)
    blunders = sum(one.n_blunders for one in certificates)
    text = "the included networks, each with its search of 200 simulations, blunder in "
    text += f"{blunders} of {first} positions on 3×3, {second} on Square and {third} on 4,4,4; "
    text += (
        "on 3×3 some training games began at a blunder, but none in the [leaderboard's](leaderboard.md) runs"
    )
    return found(text, all(certificates))
