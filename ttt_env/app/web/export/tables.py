"""The policies of agents, as facts for the scripts of an exported page: `policies.js` reads them."""

from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.app.web.roster import Roster
from ttt_env.rules import Game, split_spec

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_UNIFORM = 1e-6  # Lookup holds single precision


def facts_of(roster: Roster, player: str, game: Game) -> dict[str, Any]:
    """The policy of this player of the roster, for JSON.

    Softmax minimax is given by its temperatures and epsilon by its agent and its chance: the browser computes
    the probabilities. All other agents get a table.
    """
    name = split_spec(player).name
    values = roster.values(player)
    if name == "softmax":
        return {key: float(values[key]) for key in ("temperature", "opponent_temperature")}
    if name == "epsilon":
        return {"of": values["agent"], "epsilon": float(values["epsilon"])}
    return table_of(roster.fixed(player, game), game)


def table_of(agent: Agent, game: Game) -> dict[str, Any]:
    """The policy of an agent as `Lookup` tabulates it: a row for each position, in the order of their codes.

    Most agents move at random among some cells. Then `rows` has the mask of these for each position; else it
    has a number for each cell, that of its probability among the `shares`. Numbers are written with so many
    `digits` of base 32. `merged` says whether there is one row for all symmetric positions.
    """
    arrays = Lookup.of(agent, game).arrays()
    policies = arrays["policies"]
    is_played = policies > 0
    facts: dict[str, Any] = {"merged": bool(arrays["merged"])}
    if np.allclose(policies * is_played.sum(axis=1, keepdims=True), is_played, atol=_UNIFORM):
        return facts | _written(is_played @ (1 << np.arange(game.n_cells)))
    shares, numbers = np.unique(policies, return_inverse=True)
    return facts | {"shares": shares.tolist()} | _written(numbers.ravel())


def _written(numbers: NDArray[np.intp]) -> dict[str, Any]:
    base = len(_DIGITS)
    n_digits = next(n for n in count(1) if base**n > numbers.max())
    powers = base ** np.arange(n_digits)[::-1]
    digits = numbers[:, None] // powers % base
    return {"digits": n_digits, "rows": "".join(_DIGITS[digit] for digit in digits.ravel())}
