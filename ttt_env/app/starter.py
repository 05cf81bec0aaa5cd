"""A bot that plays tic-tac-toe. Run this file to see which game beats it, or that none does."""

import ttt_env


def choose(position: ttt_env.Position) -> int:
    """Return the cell to play. Cells are numbered row by row: 0 1 2 / 3 4 5 / 6 7 8."""
    # Complete a row, if that wins at once. `child` is the position after a move.
    for cell in position.legal_cells:
        if position.child(cell).is_won:
            return cell
    # Your ideas go here. What does the opponent threaten? Which cells are better than others?
    # `position.board` has 1 for X, -1 for O and 0 for a free cell; `position.to_move` is "X" or "O".
    return position.legal_cells[0]


if __name__ == "__main__":
    print(ttt_env.certify(choose))
