"""The proof that an agent is unbeatable, or the game that beats it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ttt_env.agent import Agent, AgentLike, checked_policies
from ttt_env.analysis.evaluation import fixed_agent
from ttt_env.analysis.grid import Slots
from ttt_env.analysis.induction import TwoPass, follow
from ttt_env.analysis.layers import Layer, Responder, reachable
from ttt_env.analysis.solution import Solution, solve
from ttt_env.render.picture import Picture
from ttt_env.render.sheet import Section, boards_of, draw_sheet
from ttt_env.render.words import RESULTS
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import SEATS, Game, Position, Seat, cells_of
from ttt_env.rules.notation import GameRecord

_SIGN = {"X": 1, "O": -1}


@dataclass(frozen=True)
class Certificate:
    """What can happen to an agent, over all games that its moves of positive probability allow.

    `worst_case` is its worst result on each seat (1 won, 0 drawn, −1 lost), `refutations` for each seat a
    shortest whole game that ends below the value of the game, or None, `blunders` the positions that can
    come up in which it may give value away, and `missed_wins` those of them in which it could have won.
    """

    game: Game
    game_value: int
    worst_case: dict[Seat, int]
    refutations: dict[Seat, GameRecord | None]
    blunders: Boards
    missed_wins: Boards

    @property
    def unbeatable(self) -> bool:
        """Whether no game on either seat ends worse for the agent than best play of both."""
        return all(record is None for record in self.refutations.values())

    def __bool__(self) -> bool:
        return self.unbeatable

    def picture(self) -> Picture:
        """The verdict, and the refuting games board by board, to look at in a notebook or to save."""
        verdict = f"{self.game.name}: {'certified unbeatable' if self.unbeatable else 'beatable'}"
        blunders = f"Positions that can come up and in which it may give value away: {len(self.blunders):,}."
        seats = [self._section(seat) for seat in SEATS]
        return Picture(draw_sheet(verdict, [Section([verdict, blunders]), *seats]))

    def _section(self, seat: Seat) -> Section:
        line = f"As {seat} it {RESULTS[self.worst_case[seat]]} at worst."
        record = self.refutations[seat]
        if record is None:
            return Section([line])
        return Section([line, "A shortest game that ends worse for it than best play:"], boards_of(record))

    def _repr_svg_(self) -> str:
        return self.picture().svg


def certify(agent: AgentLike, game: Game | str = "tictactoe-v0") -> Certificate:
    """Look at every game that the agent can be drawn into, on both seats.

    Raises `GameTooLargeError` if the game cannot be enumerated, `PolicyError` if the agent is no fixed
    policy.
    """
    fixed = fixed_agent(agent, game)
    solution = solve(fixed.game)
    seats = {seat: _Seat(fixed, seat, solution) for seat in SEATS}
    blunders = Boards.joined(fixed.game, [seat.blunders() for seat in seats.values()])
    return Certificate(
        fixed.game,
        solution.value,
        {name: seat.worst_case() for name, seat in seats.items()},
        {name: seat.refutation() for name, seat in seats.items()},
        blunders,
        blunders[solution.values.of(blunders) == 1],
    )


def blunders_everywhere(agent: AgentLike, game: Game | str = "tictactoe-v0") -> Boards:
    """All positions of the game in which the agent may give value away, whether they can come up or not.

    Where there are none, the agent is optimal everywhere: more than unbeatable. Raises the errors of
    `certify`.
    """
    fixed = fixed_agent(agent, game)
    follows = follow(partial(checked_policies, fixed))
    return _blunders(fixed.game, reachable(fixed.game), follows, solve(fixed.game))


class _Seat:
    """All that can come up with the agent on one seat and anybody on the other."""

    def __init__(self, agent: Agent, seat: Seat, solution: Solution) -> None:
        self.agent, self.seat, self.solution = agent, seat, solution
        self.follows = TwoPass(partial(checked_policies, agent))
        x, o = (self.follows, None) if seat == "X" else (None, self.follows)
        self.layers = reachable(agent.game, x, o)
        self.least = solution.value * _SIGN[seat]

    def _ends(self) -> list[tuple[int, Layer, Slots]]:
        """The ends of games, by ply: (result of the agent, layer, slots)."""
        ends = []
        for layer in self.layers:
            last_mover = SEATS[(layer.ply + 1) % 2]
            is_ours = (last_mover == self.seat) != self.agent.game.misere
            ends.append((1 if is_ours else -1, layer, layer.won))
            ends.append((0, layer, layer.drawn))
        return [end for end in ends if len(end[2])]

    def worst_case(self) -> int:
        return min(result for result, _, _ in self._ends())

    def refutation(self) -> GameRecord | None:
        for result, layer, slots in self._ends():
            if result < self.least:
                return self._game_to(layer.boards(slots[:1])[0])
        return None

    def _game_to(self, end: Position) -> GameRecord:
        cells: list[int] = []
        while end.occupied_mask:
            cell, end = self._last_move(end)
            cells.append(cell)
        return GameRecord(self.agent.game, tuple(reversed(cells)))

    def _last_move(self, position: Position) -> tuple[int, Position]:
        """A cell and a position that can come up, in which playing the cell leads to this one."""
        before = self.layers[position.ply - 1]
        for cell in cells_of(position.theirs):
            parent = Position(position.game, position.theirs ^ 1 << cell, position.mine)
            if _holds(before, parent) and self._may_play(parent, cell):
                return cell, parent
        raise AssertionError(f"{position} was reached from nowhere")

    def _may_play(self, position: Position, cell: int) -> bool:
        return position.to_move != self.seat or self.agent.policy(position)[cell] > 0

    def blunders(self) -> Boards:
        """The positions in which a possible move is not a best one."""
        own = self.layers[SEATS.index(self.seat) :: 2]
        return _blunders(self.agent.game, own, self.follows, self.solution)


def _blunders(game: Game, layers: Iterable[Layer], follows: Responder, solution: Solution) -> Boards:
    """The positions of these layers in which a move of positive probability is not a best one."""
    values, found = solution.values.layers, []
    for layer in layers:
        for moves in layer.moves():
            q = -values[layer.ply + 1][moves.successors]
            possible = moves.chosen_by(follows).T > 0
            found.append(layer.boards(moves.slots[(possible & (q < q.max(axis=0))).any(axis=0)]))
    return Boards.joined(game, found)


def _holds(layer: Layer, position: Position) -> bool:
    slot = layer.grid.slots(*(np.array([mask], np.uint64) for mask in (position.mine, position.theirs)))[0]
    at = int(np.searchsorted(layer.open, slot))
    return at < len(layer.open) and bool(layer.open[at] == slot)
