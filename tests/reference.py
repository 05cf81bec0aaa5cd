"""Figures that the code must reproduce, each with its source.

RECOMPUTED: by two independent programs, neither of them this package. No figure here was printed by the code
under test.
"""

from fractions import Fraction

# --- Winning sets ---------------------------------------------------------------------------------------

# Squares on an n×n grid, tilted ones too: n²(n²−1)/12 (OEIS A002415).
SQUARES = {2: 1, 3: 6, 4: 20, 5: 50}
UPRIGHT_SQUARES_4 = 14  # 9 + 4 + 1

# Lines through an n×…×n board of d axes: ((n+2)^d − n^d) / 2 (Golomb and Hales, Hypercube tic-tac-toe, 2002).
WINNING_SETS = {
    "tictactoe-v0": 8,
    "square-v0": 20,
    "qubic-v0": 76,
    # (m,n,k): rows n(m−k+1), columns m(n−k+1), diagonals 2(m−k+1)(n−k+1).
    "mnk-v0:m=3,n=3,k=3": 8,
    "mnk-v0:m=4,n=3,k=3": 14,
    "mnk-v0:m=4,n=4,k=3": 24,
    "mnk-v0:m=4,n=4,k=4": 10,
    "mnk-v0:m=5,n=5,k=4": 28,
    "mnk-v0:m=6,n=5,k=4": 39,
    "mnk-v0:m=8,n=8,k=5": 96,
    "connect-four-v0": 69,
    "score-four-v0": 76,
}
LINES_3X3X3 = 49  # Golomb and Hales 2002

# --- Tic-tac-toe: positions -----------------------------------------------------------------------------

# OpenSpiel: get_all_states finds 5,478; 765 up to symmetry (H. Bottomley, How many games of Tic-tac-toe are
# there, 2001). By ply: RECOMPUTED.
POSITIONS_BY_PLY = [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
POSITIONS = 5478
POSITIONS_BY_PLY_UP_TO_SYMMETRY = [1, 3, 12, 38, 108, 174, 204, 153, 57, 15]
POSITIONS_UP_TO_SYMMETRY = 765

# OpenSpiel, tabular_best_response_mdp_test.cc: 4,520 positions that are not over. The rest: RECOMPUTED.
FINISHED = 958
FINISHED_BY_WINNER = {"X": 626, "O": 316, None: 16}
TO_BE_PLAYED = 4520
TO_BE_PLAYED_BY_SEAT = {"X": 2423, "O": 2097}
VALUES_FOR_X = {1: 2310, -1: 1158, 0: 1052}  # of the positions that are not over
CAN_BLUNDER = 3191  # positions in which some move is a blunder
ONE_RIGHT_MOVE = 2406

# --- Tic-tac-toe: games ---------------------------------------------------------------------------------

# H. Bottomley 2001: 255,168 games, 26,830 if symmetric moves are merged in every position.
GAMES = 255_168
GAMES_BY_WINNER = {"X": 131_184, "O": 77_904, None: 46_080}
GAMES_UP_TO_SYMMETRY = 26_830
# Perft: games by number of moves, unfinished ones too. The sum is OpenSpiel's count of histories.
PERFT = [1, 9, 72, 504, 3024, 15_120, 54_720, 148_176, 200_448, 127_872]
HISTORIES = 549_946

# --- Tic-tac-toe: theory --------------------------------------------------------------------------------

# Replies that hold the draw, by opening (Newell and Simon, Human Problem Solving, 1972; RECOMPUTED).
DRAWING_REPLIES = {
    0: [4],
    1: [0, 2, 4, 7],
    2: [4],
    3: [0, 4, 5, 6],  # edge 1 turned to edge 3
    4: [0, 2, 6, 8],
    5: [2, 3, 4, 8],
    6: [4],
    7: [1, 4, 6, 8],
    8: [4],
}
MISERE_VALUE = 0  # Golomb and Hales 2002: X draws by the centre and reflections
MISERE_DRAWING_OPENINGS = [4]

# --- Tic-tac-toe: exact results -------------------------------------------------------------------------

# (X wins, draw, O wins): RECOMPUTED. "optimal" is uniform among the moves that keep the value.
RANDOM_V_RANDOM = (Fraction(737, 1260), Fraction(8, 63), Fraction(121, 420))
RANDOM_V_RANDOM_MEAN_LENGTH = Fraction(3203, 420)
OPTIMAL_V_RANDOM = (Fraction(75257, 77760), Fraction(2503, 77760), Fraction(0))
RANDOM_V_OPTIMAL = (Fraction(0), Fraction(757, 3402), Fraction(2645, 3402))
# The lowest and the highest score against random of an agent without blunders.
KEEPING_RANGE = {
    "X": (Fraction(161, 192), Fraction(191, 192)),
    "O": (Fraction(542, 945), Fraction(866, 945)),
}
# The best response to random: its score, and how often it loses if it takes the first of equal moves.
BEST_RESPONSE_TO_RANDOM = {"X": Fraction(191, 192), "O": Fraction(874, 945)}
BEST_RESPONSE_TO_RANDOM_LOSSES = {"X": Fraction(0), "O": Fraction(7, 945)}

# OpenSpiel 1.6, expected_game_score and best_response; nash_conv also in tabular_best_response_mdp_test.cc.
OPENSPIEL_UNIFORM_VALUE = 0.2968253968
OPENSPIEL_BEST_RESPONSE_TO_UNIFORM = {"X": 0.9947916667, "O": 0.9248677249}  # by the seat that responds
OPENSPIEL_UNIFORM_NASH_CONV = 1.919659391534391

# L. Gibson, Making tic-tac-toe interesting with AI: softmax minimax, own temperature 0.2, ascribed 1.
SOFTMAX_POSITION = "XX./OO./XO."
SOFTMAX_VALUE = 0.9813
SOFTMAX_PERCENT = {2: 97.46, 5: 2.52, 8: 0.02}

# --- Other games ----------------------------------------------------------------------------------------

# Values: van den Herik, Uiterwijk and van Rijswijck, Games solved: now and in the future, 2002 (m,n,k).
# Numbers of reachable positions, openings, Square tic-tac-toe: RECOMPUTED.
ENUMERABLE = {  # game: (reachable positions, value for X)
    "mnk-v0:m=4,n=3,k=3": (111_973, 1),
    "mnk-v0:m=5,n=3,k=3": (2_286_668, 1),
    "mnk-v0:m=4,n=4,k=3": (6_036_001, 1),
    "mnk-v0:m=4,n=4,k=4": (9_722_011, 0),
    "square-v0": (9_307_999, 0),
}
FILED = {"mnk-v0:m=5,n=4,k=4": (674_794_169, 0)}  # RECOMPUTED, the value also by `prove`
# Connect Four by width and height, and four in a row but on 3×3: RECOMPUTED; the values also J. Tromp, John's
# Connect Four Playground.
CONNECT_FOUR = {  # game: (reachable positions, value for X)
    "connect-four-v0:m=3,n=3,k=3": (694, 0),
    "connect-four-v0:m=4,n=4,k=4": (161_029, 0),
    "connect-four-v0:m=4,n=5,k=4": (1_706_255, 0),
    "connect-four-v0:m=5,n=4,k=4": (3_945_711, 0),
}
CONNECT_FOUR_LARGE = {  # more than the package enumerates
    "connect-four-v0:m=5,n=5,k=4": (69_763_700, 0),
    "connect-four-v0:m=6,n=4,k=4": (94_910_577, -1),
}
# The openings that do not keep the value: the two ends of the middle row of 5,3,3, none in the others.
FAILING_OPENINGS = {"mnk-v0:m=5,n=3,k=3": [5, 9], "mnk-v0:m=4,n=4,k=3": [], "square-v0": []}
# Positions of 7×6 in which a player is queried that wins, else blocks, else prefers the middle: RECOMPUTED.
CONNECT_FOUR_QUESTIONS = {"X": 2_558_642, "O": 7_007_263}
SQUARE_RANDOM_V_RANDOM = (0.473771149485, 0.162703962704, 0.363524887811)  # X wins, draw, O wins

# --- Symmetries -----------------------------------------------------------------------------------------

# The orders of the dihedral groups and of the full octahedral group.
SYMMETRIES = {
    "tictactoe-v0": 8,
    "square-v0": 8,
    "mnk-v0:m=4,n=3,k=3": 4,
    "mnk-v0:m=5,n=5,k=4": 8,
    "mnk-v0:m=4,n=1,k=2": 2,
    "mnk-v0:m=1,n=1,k=1": 1,
    "qubic-v0": 48,
    # With gravity: those of the base, which leave up and down as they are.
    "connect-four-v0": 2,
    "score-four-v0": 8,
    "score-four-v0:k=3,h=2": 8,
}
