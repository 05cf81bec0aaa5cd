"""UCI, the Universal Chess Interface, as Fairy-Stockfish speaks it for games of k in a row."""
