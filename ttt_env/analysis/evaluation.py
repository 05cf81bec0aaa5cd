"""The strength of an agent: computed over all positions where the game can be enumerated, else sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ttt_env.agent import Agent, AgentLike, AskedAgent, Forfeit, game_of, make_agent
from ttt_env.analysis.asking import AskProgress, QueryWorkers
from ttt_env.analysis.grid import grid
from ttt_env.analysis.induction import Values, backward_induction, best, follow_answers, highest
from ttt_env.analysis.layers import MOST, Responder, reached_layers
from ttt_env.analysis.play import moves_between
from ttt_env.analysis.policy_table import Asker, PolicyTable
from ttt_env.analysis.results import Ending, Exploitability, Match, Result, match_of_games, round_sum
from ttt_env.analysis.solution import ValueAgent, solve
from ttt_env.errors import ForfeitError, GameTooLargeError
from ttt_env.rules import (
    SEATS,
    Between,
    Count,
    Game,
    GameRecord,
    Seat,
    as_generator,
    checked,
    is_enumerable,
)

_LEAST_VISIBLE = 1e-12  # the least probability of a game's own moves that still changes a sum of 64 bits


@checked
def match(
    first: AgentLike,
    second: AgentLike,
    game: Game | str | None = None,
    *,
    exact: bool | None = None,
    games: Annotated[int, Between(2)] = 1000,
    most: Count = MOST,
    rng: np.random.Generator | int = 0,
    progress: AskProgress | None = None,
    workers: QueryWorkers = 1,
) -> Match:
    """The result of one agent against another, on both seats: computed where that is possible, else sampled.

    Args:
        first: The agent from whose side the result is.
        second: The other agent.
        game: The game, or its id; by default that which the agents play.
        exact: True to compute the result, False to sample it. By default it is computed if both agents are
            stationary and together reach few enough positions: always on up to 18 cells; on larger boards at
            most `games` / 2 times the number of cells.
        games: The number of games to sample, half of them on each seat; an odd number is reduced by one.
        most: The most positions to hold for an exact result.
        rng: A generator or a seed, for sampled games.
        progress: As in `certify`, where an agent that is not stationary is queried for an exact result.
        workers: As in `certify`.

    Returns:
        The result of each seat and the score. An exact result with an agent that is not stationary, such as a
        function, is about its answers, given once in each position that the two can reach. A program loses
        where it names no free cell; see `Match.forfeits`.

    Raises:
        GameTooLargeError: `exact=True`, and more than `most` positions are reached.
        PolicyError: `exact=True`, and an answer is not a distribution over the free cells.
        IllegalMoveError: A function names a taken cell in a game that is played.
        NoVerdictError: An agent cannot be queried. In a game that is played, a program that does not answer
            in time loses instead.

    Example:
        >>> played = match("random", "minimax", "tictactoe-v0")
        >>> played.exact, played.as_x.win, f"{played.score:.4f}"
        (True, 0.0, '-0.8726')

    """
    game = game_of(game, first, second)
    one, two = make_agent(first, game), make_agent(second, game)
    rng, half = as_generator(rng), games // 2  # on each seat
    if first is second and not isinstance(first, str):
        two = one
    if exact is None:
        computed = exact_match(one, two, game, half)
    else:
        computed = _exact(one, two, game, most, progress, workers) if exact else None
    if computed is not None:
        return computed
    return match_of_games(sampled_games(one, two, half, rng))


def exact_match(one: Agent, two: Agent, game: Game, half: int) -> Match | None:
    """The exact result of two stationary agents; None for others, or if they reach too many positions.

    On more than 18 cells the limit is the number of moves of `half` full games.
    """
    if not (one.is_stationary and two.is_stationary):
        return None
    try:
        return _exact(one, two, game, MOST if is_enumerable(game) else half * game.n_cells)
    except GameTooLargeError:
        return None


def sampled_games(one: Agent, two: Agent, half: int, rng: np.random.Generator) -> list[Ending]:
    """Play `half` games with the first agent as X, and as many with it as O."""
    as_x: list[Ending] = [("X", *_play_one(one, two, rng)) for _ in range(half)]
    return as_x + [("O", *_play_one(two, one, rng)) for _ in range(half)]


def _exact(
    one: Agent, two: Agent, game: Game, most: int, progress: AskProgress | None = None, workers: int = 1
) -> Match:
    asker = Asker(one, most, progress, workers)
    other = asker if two is one else Asker(two, most, progress, workers)
    as_x, as_o = _result(game, asker, other, most), _result(game, other, asker, most)
    return Match(as_x, Result(*reversed(as_o)), exact=True)


def _result(game: Game, x: Asker, o: Asker, most: int) -> Result:
    """The exact result of two agents, from the side of X. A probability is 0 only if it is exactly 0."""
    layers = list(reached_layers(game, x, o, most=most))
    win, loss = backward_induction(layers, follow_answers, follow_answers).start
    draw = round_sum(1.0 - win - loss)
    if not any(len(layer.drawn_slots) for layer in layers):
        draw = 0.0
    elif draw <= 0:  # too small for the digits of the difference
        draw = backward_induction(
            layers, follow_answers, follow_answers, payoff=lambda ply: (0.0, 1.0, 0.0)
        ).start[0]
    return Result(round_sum(win) or win, draw, round_sum(loss) or loss)


def _play_one(x: Agent, o: Agent, rng: np.random.Generator) -> tuple[GameRecord, Forfeit | None]:
    """One whole game, and the forfeit that has ended it, if any."""
    cells: list[int] = []
    try:
        cells += moves_between(x, o, rng)
    except ForfeitError as error:
        return GameRecord(x.game, tuple(cells)), error.forfeit
    return GameRecord(x.game, tuple(cells)), None


def exploitability(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    most: int = MOST,
    progress: AskProgress | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
) -> Exploitability:
    """Compute how much an opponent that knows the agent can win from it, for each seat.

    The agent is queried once in each position that it can reach, and the result is about these answers. Where
    it names no free cell, it loses.

    Args:
        agent: The agent, or a `PolicyTable`.
        game: The game, or its id; by default that of an `Agent`, tic-tac-toe for others.
        most: The most positions to hold.
        progress: As in `certify`.
        workers: As in `certify`.
        answers: As in `certify`.

    Returns:
        The gain of a best response on each seat, in wins − losses per game.

    Raises:
        GameTooLargeError: The agent reaches more than `most` positions.
        PolicyError: An answer is not a distribution over the free cells.
        NoVerdictError: A program or a model behind an endpoint gave no answer (a time-out, a crash), so there
            is no verdict.

    Example:
        >>> random = exploitability("random", "tictactoe-v0")
        >>> f"{random.as_x:.3f} {random.as_o:.3f} {random.exploitability:.3f}"
        '0.925 0.995 0.960'

    """
    table = PolicyTable.of(
        agent, game, most=most, complete=True, progress=progress, workers=workers, answers=answers
    )
    origin: dict[str, Any] = {"label": table.label, "n_queries": table.n_queries, "digest": table.digest}
    against_x = backward_induction(table.layers("X"), follow_answers, highest).start
    against_o = backward_induction(table.layers("O"), highest, follow_answers).start
    most_moves = (table.game.n_cells + 1) // 2
    if table.least_chance**most_moves >= _LEAST_VISIBLE or not is_enumerable(table.game):
        as_x, as_o = round_sum(against_x[1] - against_x[0]), round_sum(against_o[0] - against_o[1])
        return Exploitability(as_x, as_o, **origin)
    solution = solve(table.game)
    above_x = backward_induction(table.layers("X"), follow_answers, highest, above=solution.values).start[1]
    above_o = backward_induction(table.layers("O"), highest, follow_answers, above=solution.values).start[0]
    as_x, as_o = above_x - solution.value, above_o + solution.value
    return Exploitability(round_sum(as_x) or as_x, round_sum(as_o) or as_o, above_x + above_o, **origin)


@checked
def best_response(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    keep_value: bool = False,
    most: Count = MOST,
    progress: AskProgress | None = None,
    workers: QueryWorkers = 1,
    answers: str | Path | None = None,
) -> ValueAgent:
    """The agent that wins the most, on average, against another one, on both seats.

    On up to 18 cells the agent is queried once in every position of the game, and the response is best in
    each. A program, and an agent of a larger game, is queried only in the positions that it can reach; in
    others the response plays any move on up to 18 cells, and raises an error above.

    Args:
        agent: The agent to respond to.
        game: The game, or its id; by default that of an `Agent`, tic-tac-toe for others.
        keep_value: Whether to choose only among moves that are not blunders: the response is then unbeatable
            itself, and no other agent that never blunders gains more. This is safe exploitation (Ganzfried
            and Sandholm 2015).
        most: The most positions to hold.
        progress: As in `certify`.
        workers: As in `certify`.
        answers: As in `certify`.

    Returns:
        The best response, an agent.

    Raises:
        GameTooLargeError: The agent reaches more than `most` positions.
        PolicyError: An answer is not a distribution over the free cells.
        NoVerdictError: A program or a model behind an endpoint gave no answer (a time-out, a crash), so there
            is no verdict.

    Example:
        >>> response = best_response("random", "tictactoe-v0")
        >>> f"{match(response, 'random').score:.4f}"
        '0.9598'

    """
    player = make_agent(agent, game_of(game, agent))
    takes_all_positions = is_enumerable(player.game) and not (
        isinstance(player, AskedAgent)
        or (isinstance(player, PolicyTable) and player.positions == "reachable")
    )
    table = PolicyTable.of(
        player,
        positions="all" if takes_all_positions else "reachable",
        most=most,
        complete=True,
        progress=progress,
        workers=workers,
        answers=answers,
    )
    solution = solve(table.game) if keep_value else None
    respond = best if solution is None else solution.restrict_to_best(best)
    as_x = _response_to(table, "O", respond)
    as_o = _response_to(table, "X", respond)
    return ValueAgent(table.game, (as_x, best), (as_o, best), keeps=solution)


def _response_to(table: PolicyTable, seat: Seat, respond: Responder) -> Values:
    """The values of all positions for a player who uses this responder against the agent on this seat."""
    layers = table.answered_layers if table.positions == "all" else table.layers(seat)
    responders: list[Responder] = [respond, respond]
    responders[SEATS.index(seat)] = follow_answers
    values = backward_induction(layers, *responders).values()
    game = table.game
    if not is_enumerable(game):
        return values
    rest = [np.zeros(grid(game, ply).n_slots) for ply in range(len(layers), game.n_cells + 1)]
    return Values(game, [*values.layers, *rest])
