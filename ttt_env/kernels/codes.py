"""The small numbers that arrays hold: what a board is to whom, what each random number of a step is for."""

import numpy as np

# What a board is to its looker: to be played; won or full by the other's last move; the same by its own
# last move; ended because it chose a taken cell; because the other did.
OPEN, WON_BY_OTHER, FULL_BY_OTHER, WON, FULL, FORFEITED, FORFEITED_BY_OTHER = range(7)
OF_OTHER = np.array([OPEN, WON, FULL, WON_BY_OTHER, FULL_BY_OTHER, FORFEITED_BY_OTHER, FORFEITED])
IS_TURNED = np.isin(np.arange(7), [WON, FULL, FORFEITED_BY_OTHER])

REPLY, OPENING, SEAT, OPPONENT, RESAMPLE, N_DRAWS = range(6)  # the rows of the draws of a step
HALF = 0.5
