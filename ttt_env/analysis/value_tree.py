"""The game tree below a position, with the values and move probabilities of a sweep."""

import numpy as np

from ttt_env.analysis.induction import Values
from ttt_env.analysis.layers import Responder
from ttt_env.errors import ParameterError
from ttt_env.render.tree import TreeNode
from ttt_env.render.words import percent, signed
from ttt_env.rules import Boards, Position


def value_tree(
    position: Position, depth: int, values: Values, responders: tuple[Responder, Responder]
) -> TreeNode:
    """The tree of `depth` plies below `position`, where X and O choose their moves by these responders.

    Below each board is its value for X, and above it the probability of the move to it; the edges to
    the most probable moves stand out.

    Raises `ParameterError` for a position of another game and for a depth below 0.
    """
    if position.game != values.game:
        raise ParameterError(f"{position!r} is no position of {values.game.name}")
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 0:
        raise ParameterError(f"depth={depth!r} of a tree: integers from 0 on are allowed")

    def children(parent: Position, plies: int) -> tuple[TreeNode, ...]:
        if plies == 0 or parent.is_over:
            return ()
        boards = Boards.of([parent])
        q = values.q(boards)
        policy = responders[parent.ply % 2](q, boards.legal)[0]
        is_likely = np.isclose(policy, policy.max())
        return tuple(
            TreeNode(
                child := parent.child(cell),
                cell,
                (percent(policy[cell]), _for_x(parent, q[0, cell])),
                children(child, plies - 1),
                bool(is_likely[cell]),
            )
            for cell in parent.legal_cells
        )

    value = values.of(Boards.of([position]))[0]
    return TreeNode(position, None, (_for_x(position, value),), children(position, depth))


def _for_x(mover: Position, value: float) -> str:
    """A value for the player to move in this position, as text, from the side of X."""
    return f"X {signed(value if mover.to_move == 'X' else -value, 2)}"
