"""Parts that several compiled loops share. All but `sets` and `codes` import numba."""
