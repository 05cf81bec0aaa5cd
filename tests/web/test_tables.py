"""The files of policies hold the probabilities of the agents, as the page decodes them."""

import numpy as np
import pytest

from tests.support.games import TICTACTOE
from ttt_env import make_agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.web.data import facts_of_table


def numbers_of(facts):
    """The numbers that encode the rows."""
    digits = np.array([int(digit, 32) for digit in facts["rows"]]).reshape(-1, facts["digits"])
    return digits @ 32 ** np.arange(facts["digits"])[::-1]


@pytest.mark.parametrize(
    "spec", ["win-block", "minimax", "epsilon:minimax,epsilon=0.3", "mixture:rules+random"]
)
def test_table_holds_probabilities_of_agent(spec):
    agent = make_agent(spec, TICTACTOE)
    facts, policies = facts_of_table(agent, TICTACTOE), Lookup.of(agent, TICTACTOE).arrays()["policies"]
    if "shares" in facts:
        decoded = np.array(facts["shares"])[numbers_of(facts)].reshape(policies.shape)
    else:
        masks = numbers_of(facts)[:, None] >> np.arange(TICTACTOE.n_cells) & 1
        decoded = masks / masks.sum(axis=1, keepdims=True)
    assert np.allclose(decoded, policies, atol=1e-6)
    assert ("shares" in facts) == (spec.partition(":")[0] in ("epsilon", "mixture"))
