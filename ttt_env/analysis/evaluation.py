"""The strength of an agent: computed over all positions where the game can be enumerated, else sampled."""

from functools import partial
from pathlib import Path

import numpy as np

from ttt_env.agent import Agent, AgentLike, Floats, Forfeit, checked_policies, game_of, make_agent
from ttt_env.analysis.grid import grid
from ttt_env.analysis.induction import Outcomes, TwoPass, Values, backward_induction, best, follow, highest
from ttt_env.analysis.layers import BatchPolicy, Layer, Responder, reachable
from ttt_env.analysis.many import one_or_several
from ttt_env.analysis.play import play_cells
from ttt_env.analysis.recorded import (
    Asking,
    answering,
    answering_both,
    asking,
    check_declared,
    checked_workers,
    source_of,
)
from ttt_env.analysis.results import Ending, Exploitability, Match, Result, match_of_games, rounded
from ttt_env.analysis.solution import ValueAgent, solve
from ttt_env.errors import ForfeitError
from ttt_env.rules import (
    Boards,
    Game,
    GameRecord,
    as_bool,
    as_callback,
    as_generator,
    as_integer,
    is_enumerable,
    one_of,
)

_TELLING = 1e-12  # the least probability of a game's own moves that a sum of these digits still shows


def match(
    first: AgentLike,
    second: AgentLike,
    game: Game | str | None = None,
    *,
    exact: bool | None = None,
    games: int = 1000,
    rng: np.random.Generator | int = 0,
    progress: Asking | None = None,
    workers: int = 1,
) -> Match:
    """The result of `first` against `second`, on both seats; by default of the game that the agents play.

    With `exact=None` it is computed if both agents declare a fixed policy and the game can be enumerated,
    else sampled. `exact=True` computes it: an agent that declares no fixed policy, such as a function, is
    asked once in each position that the two can reach, and judged by these answers; `progress` and
    `workers` are as in `certify`, and where a function names no free cell it loses. `exact=False` samples it:
    `games` games are played, half of them on each seat, for an odd number one fewer, with random numbers
    from `rng`, a generator or a seed. A program, or another agent that is asked, loses a game in which it
    names no free cell: see `Match.forfeits`. For a function that is an error there.

    Raises `ParameterError` for arguments that are not allowed, needed or not. With `exact=True`, raises
    `GameTooLargeError` for a game that cannot be enumerated; `PolicyError` for a policy that is no
    distribution or, if it is declared fixed, differs when asked for a batch. Raises `NotJudgedError` where
    accidents leave a question without an answer; in games that are played a program that does not answer
    loses instead, and only what cannot be asked at all raises it. Raises `UntrustedAnswersError` for a
    program that says a line too many.

    >>> played = match("random", "minimax", "tictactoe-v0")
    >>> played.exact, played.as_x.win, f"{played.score:.4f}"
    (True, 0.0, '-0.8726')
    """
    game = game_of(game, first, second)
    one, two = make_agent(first, game), make_agent(second, game)
    workers, progress = checked_workers(workers), as_callback("progress", progress, "a match")
    rng, half = as_generator(rng), as_integer("games", games, "a match", 2) // 2  # on each seat
    if one_of("exact", exact, (None, True, False)) is None:
        exact = one.is_fixed and two.is_fixed and is_enumerable(game)
    if not exact:
        with asking(one, two):
            endings: list[Ending] = [("X", *_played(one, two, rng)) for _ in range(half)]
            endings += [("O", *_played(two, one, rng)) for _ in range(half)]
        return match_of_games(endings)
    if first is second and not isinstance(first, str):
        two = one
    one, two = answering_both(one, two, game, progress, workers)
    with asking(one, two):
        as_x, as_o = _result(one, two), _result(two, one)
    return Match(as_x, Result(*reversed(as_o)), exact=True, source=source_of(one, two))


def _result(x: Agent, o: Agent) -> Result:
    """The exact result of two agents, from the side of X. A probability is 0 only where it is none."""
    layers, responders = explored_between(x, o)
    win, loss = backward_induction(layers, *(each or highest for each in responders)).start
    draw = rounded(1.0 - win - loss)
    if not any(len(layer.drawn) for layer in layers):
        draw = 0.0
    elif draw <= 0:  # too small for the digits of the difference
        again = (follow(partial(checked_policies, agent)) for agent in (x, o))
        draw = backward_induction(layers, *again, payoff=lambda ply: (0.0, 1.0, 0.0)).start[0]
    return Result(rounded(win) or win, draw, rounded(loss) or loss)


def explored_between(
    x: Agent | None, o: Agent | None, policy: BatchPolicy | None = None
) -> tuple[list[Layer], list[TwoPass | None]]:
    """The positions that two agents can reach, and how these move in them; None makes every move.

    `policy` is by default that of each agent. Raises `PolicyError` for answers that contradict a declared
    policy.
    """
    game = (o if x is None else x).game  # type: ignore[union-attr]
    responders = [
        None if agent is None else TwoPass(policy or partial(checked_policies, agent)) for agent in (x, o)
    ]
    layers = reachable(game, *responders)
    for first_ply, agent in enumerate((x, o)):
        if agent is not None:
            check_declared(agent, layers[first_ply::2])
    return layers, responders


def _outcomes(
    x: Agent | None,
    o: Agent | None,
    respond: Responder,
    policy: BatchPolicy | None = None,
    above: Values | None = None,
) -> Outcomes:
    """The sweep over the positions that can be reached; a seat without an agent answers by `respond`."""
    layers, responders = explored_between(x, o, policy)
    return backward_induction(layers, *(responder or respond for responder in responders), above=above)


def _of_all_plies(values: Values) -> Values:
    """The values, and 0 for positions of plies that are not reached."""
    n_cells = values.game.n_cells
    rest = [np.zeros(grid(n_cells, ply).n_slots) for ply in range(len(values.layers), n_cells + 1)]
    return Values(values.game, [*values.layers, *rest])


class _LeastSeen:
    """The checked policies of an agent, and the least positive probability among those asked for."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.least = agent, 1.0

    def __call__(self, boards: Boards) -> Floats:
        policies = checked_policies(self.agent, boards)
        self.least = min(self.least, float(policies[policies > 0].min(initial=1.0)))
        return policies


def _played(x: Agent, o: Agent, rng: np.random.Generator) -> tuple[int, Forfeit | None]:
    """The value of one whole game for X, and the forfeit that has ended it, if one has."""
    try:
        return GameRecord(x.game, play_cells(x, o, rng)).value("X"), None
    except ForfeitError as error:
        return -1 if error.forfeit.position.to_move == "X" else 1, error.forfeit


@one_or_several
def exploitability(
    agent: AgentLike,
    game: Game | str | None,
    *,
    progress: Asking | None,
    workers: int,
    answers: str | Path | None,
) -> Exploitability:
    """The gain of the best response to the agent on each seat; by default of the game that it plays.

    An agent that does not declare a fixed policy is asked once in each position that it can reach, and judged
    by these answers; `progress`, `workers` and `answers` are as in `certify`. Where a function names no free
    cell, the agent loses.

    Raises `GameTooLargeError` if the game cannot be enumerated; `PolicyError` for a policy that is no
    distribution or, if it is declared fixed, differs when asked for a batch; `NotJudgedError` where accidents
    leave a question without an answer, `UntrustedAnswersError` for a program that says a line too many.

    Several agents, in a list or a mapping that gives them names, are judged as by `certify`.

    >>> found = exploitability("random", "tictactoe-v0")
    >>> f"{found.as_x:.3f} {found.as_o:.3f} {found.exploitability:.3f}"
    '0.925 0.995 0.960'
    >>> {name: each.exploitability for name, each in exploitability(["minimax", "brute-force"]).items()}
    {'minimax': 0.0, 'brute-force': 0.5}
    """
    judged = answering(agent, game, progress, workers, answers)
    with asking(judged):
        policy, source = _LeastSeen(judged), source_of(judged)
        against_x = _outcomes(judged, None, highest, policy).start
        against_o = _outcomes(None, judged, highest, policy).start
        most_moves = (judged.game.n_cells + 1) // 2
        if policy.least**most_moves >= _TELLING:
            return Exploitability(
                rounded(against_x[1] - against_x[0]), rounded(against_o[0] - against_o[1]), source
            )
        solution = solve(judged.game)
        above_x = _outcomes(judged, None, highest, policy, solution.values).start[1]
        above_o = _outcomes(None, judged, highest, policy, solution.values).start[0]
        as_x, as_o = above_x - solution.value, above_o + solution.value
        return Exploitability(rounded(as_x) or as_x, rounded(as_o) or as_o, source, above_x + above_o)


def best_response(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    keep_value: bool = False,
    progress: Asking | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
) -> ValueAgent:
    """The agent that gains the most, on average, against this one, on both seats and in every position.

    With `keep_value` it chooses only among the moves that give nothing away under best play, so that it is
    unbeatable too, and of all agents that never give value away none gains more against this one.

    An agent that does not declare a fixed policy is asked only in the positions that play against it can
    reach; in all others the response plays any move.

    Raises as `exploitability` does.

    >>> response = best_response("random", "tictactoe-v0")
    >>> f"{match(response, 'random').score:.4f}"
    '0.9598'
    """
    as_bool("keep_value", keep_value, "a best response")
    judged = answering(agent, game, progress, workers, answers)
    solution = solve(judged.game) if keep_value else None
    respond = best if solution is None else solution.keeping(best)
    with asking(judged):
        if source_of(judged) == "recorded":
            as_o = _of_all_plies(_outcomes(judged, None, respond).values())
            as_x = _of_all_plies(_outcomes(None, judged, respond).values())
        else:
            layers, responder = reachable(judged.game), follow(partial(checked_policies, judged))
            check_declared(judged, layers)
            as_x = backward_induction(layers, respond, responder).values()
            as_o = backward_induction(layers, responder, respond).values()
    return ValueAgent(judged.game, (as_x, best), (as_o, best), keeps=solution)
