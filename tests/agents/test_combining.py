"""Agents that combine or wrap other agents."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.agents import Nth
from tests.support.games import TICTACTOE, lowest, open_boards
from ttt_env.agents.combining import BestResponse, Epsilon, Mixture, SafeExploit, Symmetric
from ttt_env.agents.heuristics.rules import Random
from ttt_env.errors import ParameterError, UnknownAgentError
from ttt_env.rules.symmetry import canonical, symmetries, transform

PROOF = Path(__file__).parents[2] / "docs" / "proofs" / "tictactoe-v0.npz"


def policies(spec):
    return ttt_env.make_agent(spec, TICTACTOE).policies(open_boards())


class Restless(ttt_env.Agent):
    """Has no fixed policy: plays the first or the last free cell at random."""

    def choose(self, position, rng):
        return position.legal_cells[-1 if rng.random() < 0.5 else 0]


class TestEpsilon:
    @pytest.mark.parametrize("epsilon", [0, 0.1, 0.5, 1])
    def test_epsilon_mixes_in_random_moves(self, epsilon):
        expected = (1 - epsilon) * policies("minimax") + epsilon * policies("random")
        np.testing.assert_allclose(policies(f"epsilon:minimax,epsilon={epsilon}"), expected, atol=1e-15)
        if epsilon == 0.1:
            np.testing.assert_array_equal(policies("epsilon:minimax"), expected)

    def test_other_keywords_belong_to_inner_agent(self):
        one = policies("epsilon:softmax:temperature=0.2,epsilon=0.3,opponent_temperature=2")
        other = policies("epsilon:(softmax:temperature=0.2,opponent_temperature=2),epsilon=0.3")
        np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ("minimax,epsilon=-0.1", ParameterError, "of epsilon: expected a number from 0 to 1"),
            ("minimax,epsilon=1.0001", ParameterError, "of epsilon: expected a number from 0 to 1"),
            ("epsilon=0.1", ParameterError, "epsilon needs agent"),
            ("minmax", UnknownAgentError, "did you mean minimax"),
            ("minimax,epsilo=0.1", ParameterError, "unknown parameter 'epsilo' of minimax"),
        ],
    )
    def test_invalid_parameters_are_refused(self, parameters, error, message):
        with pytest.raises(error, match=message):
            ttt_env.make_agent(f"epsilon:{parameters}")

    def test_epsilon_accepts_agents_and_functions(self):
        agent = Epsilon(TICTACTOE, Nth(TICTACTOE, 0), 0.5)
        assert agent.policy(TICTACTOE.start) == pytest.approx([0.5 + 1 / 18] + [1 / 18] * 8)
        twice = Epsilon(TICTACTOE, agent, 0)
        assert twice.policy(TICTACTOE.start) == pytest.approx(agent.policy(TICTACTOE.start))
        with pytest.raises(UnknownAgentError, match="plays tictactoe-v0, not square-v0"):
            Epsilon(ttt_env.get_game("square-v0"), agent)
        drawn, rng = Epsilon(TICTACTOE, lowest, 0.5), np.random.default_rng(0)
        assert not drawn.is_stationary
        chosen = [drawn.choose(TICTACTOE.start, rng) for _ in range(3600)]
        assert np.bincount(chosen)[0] == pytest.approx(2000, abs=150) and len(set(chosen)) == 9


class TestMixture:
    @pytest.mark.parametrize(
        ("weights", "shares"),
        [(",weights=0.7+0.2+0.1", [0.7, 0.2, 0.1]), (",weights=7+2+1", [0.7, 0.2, 0.1]), ("", [1 / 3] * 3)],
    )
    def test_policy_is_weighted_average(self, weights, shares):
        agents = ["minimax", "random", "block"]
        expected = sum(share * policies(agent) for share, agent in zip(shares, agents, strict=True))
        np.testing.assert_allclose(policies(f"mixture:{'+'.join(agents)}{weights}"), expected, atol=1e-15)

    def test_mixture_accepts_python_objects(self):
        agent = Mixture(TICTACTOE, [lowest, "random", Random(TICTACTOE)], [2, 1, 1])
        assert not agent.is_stationary  # A function is not stationary, so the drawn agent chooses.
        rng = np.random.default_rng(0)
        chosen = [agent.choose(TICTACTOE.start, rng) for _ in range(3600)]
        assert np.bincount(chosen)[0] == pytest.approx(2000, abs=150) and len(set(chosen)) == 9
        assert Mixture(TICTACTOE, ["block", Random(TICTACTOE)]).is_stationary

    @pytest.mark.parametrize(
        "weights",
        [*"1 1+2+3 1+-1 0+0 nan+1 inf+1 1+x 1++2".split(), [10**400, 1], 7, [None, 1]],
        ids=lambda weights: str(weights)[:9],
    )
    def test_invalid_weights_are_refused(self, weights):
        with pytest.raises(ParameterError, match="of mixture of 2 agents: expected as many numbers ≥ 0"):
            Mixture(TICTACTOE, ["minimax", "random"], weights)

    @pytest.mark.parametrize("agents", [None, 3, {"random"}], ids=["None", "int", "set"])
    def test_agents_of_wrong_type_are_refused(self, agents):
        with pytest.raises(ParameterError, match="a sequence of agents, or specs joined by"):
            Mixture(TICTACTOE, agents)

    @pytest.mark.parametrize(
        "spec",
        [
            "mixture:(epsilon:minimax,epsilon=0.2)+(softmax:temperature=1)",
            " mixture : ( epsilon : minimax , epsilon = 0.2 ) + (softmax: temperature=1)",
            "mixture:agents=(epsilon:minimax,epsilon=0.2)+(softmax:temperature=1)",
            "(mixture:(epsilon:minimax,epsilon=0.2)+softmax:temperature=1)",
        ],
    )
    def test_brackets_group_agent_specs(self, spec):
        expected = (policies("epsilon:minimax,epsilon=0.2") + policies("softmax:temperature=1")) / 2
        np.testing.assert_allclose(policies(spec), expected, atol=1e-15)
        np.testing.assert_allclose(policies(f"epsilon:{spec},epsilon=0"), expected, atol=1e-15)

    def test_missing_agents_are_refused(self):
        with pytest.raises(ParameterError, match="mixture needs agents"):
            ttt_env.make_agent("mixture")
        with pytest.raises(ParameterError, match="of mixture of 0 agents"):
            Mixture(TICTACTOE, [])
        with pytest.raises(UnknownAgentError, match="''"):
            ttt_env.make_agent("mixture:minimax+")


class TestAgentsWithoutPolicy:
    @pytest.mark.parametrize("wrap", [Epsilon, lambda game, agent: Mixture(game, [agent, "random"])])
    def test_wrappers_choose_without_fixed_policy(self, wrap):
        agent = wrap(TICTACTOE, Restless(TICTACTOE))
        assert not agent.is_stationary
        rng = np.random.default_rng(0)
        chosen = {agent.choose(TICTACTOE.start, rng) for _ in range(400)}
        assert chosen == set(range(9))
        alone = Epsilon(TICTACTOE, Restless(TICTACTOE), 0.0)
        assert {alone.choose(TICTACTOE.start, rng) for _ in range(100)} == {0, 8}
        assert all(type(cell) is int for cell in chosen)
        assert not ttt_env.match(agent, "random", games=20).exact

    def test_best_response_queries_each_position_once(self):
        asked = []

        class Counted(ttt_env.Agent):
            def choose(self, position, rng):
                asked.append(position)
                return Restless(TICTACTOE).choose(position, rng)

        assert BestResponse(TICTACTOE, Counted(TICTACTOE)).is_stationary
        assert len(asked) == len(set(asked))


class TestBestResponse:
    @pytest.mark.parametrize("spec", ["random", "softmax:temperature=0.5"])
    def test_best_response_reaches_exploitability(self, spec):
        match, found = ttt_env.match(f"best-response:{spec}", spec), ttt_env.exploitability(spec)
        assert (match.as_x.value, match.as_o.value) == pytest.approx((found.as_o, found.as_x))
        if spec == "random":
            published = (float(reference.BEST_RESPONSE_TO_RANDOM[seat]) for seat in "XO")
            assert (match.as_x.value, match.as_o.value) == pytest.approx(tuple(published))

    @pytest.mark.parametrize("game", ["mnk-v0:m=3,n=2,k=2", "mnk-v0:m=3,n=3,k=2"])
    @pytest.mark.parametrize(
        "wrapper", [ttt_env.best_response, SafeExploit, BestResponse], ids=lambda w: w.__name__
    )
    def test_response_covers_positions_after_forfeits(self, wrapper, game):
        def first(position):
            return position.legal_cells[0] if position.ply < 3 else 99

        game = ttt_env.get_game(game)
        response = wrapper(first, game) if wrapper is ttt_env.best_response else wrapper(game, first)
        assert ttt_env.match(response, "random", game).exact and ttt_env.certify(response).n_positions["X"]
        for position in open_boards(game):
            assert response.policy(position).sum() == pytest.approx(1)


class TestSafeExploit:
    @pytest.mark.parametrize("spec", ["safe-exploit", "safe-exploit:agent=random"])
    def test_safe_exploit_is_unbeatable_and_maximal_against_random(self, spec):
        found = ttt_env.match(spec, "random")
        assert ttt_env.certify(spec).unbeatable
        for result, seat in ((found.as_x, "X"), (found.as_o, "O")):
            assert result.value == pytest.approx(float(reference.KEEPING_RANGE[seat][1]), abs=1e-13)
        assert found.as_x.loss == found.as_o.loss == 0

    @pytest.mark.parametrize("model", ["win-block", "epsilon:weights,epsilon=0.3"])
    def test_value_is_between_minimax_and_best_response(self, model):
        specs = "minimax", f"safe-exploit:{model}", f"best-response:{model}"
        least, exploiter, most = (ttt_env.match(spec, model) for spec in specs)
        assert ttt_env.certify(f"safe-exploit:{model}").unbeatable
        for seat in ("as_x", "as_o"):
            values = [getattr(found, seat).value for found in (least, exploiter, most)]
            assert values[0] - 1e-12 <= values[1] <= values[2] + 1e-12
        assert exploiter.score > least.score

    @pytest.mark.slow
    @pytest.mark.parametrize("game", ["square-v0", "mnk-v0:m=4,n=4,k=4"])
    def test_safe_exploit_beats_minimax_score_on_sixteen_cells(self, game):
        exploiter = ttt_env.make_agent("safe-exploit", game)
        assert ttt_env.certify(exploiter).unbeatable
        found, minimax = (ttt_env.match(agent, "random", game) for agent in (exploiter, "minimax"))
        assert found.as_x.value > minimax.as_x.value
        assert found.as_o.value > minimax.as_o.value

    @pytest.mark.parametrize("wrap", [BestResponse, SafeExploit])
    def test_pickled_copy_keeps_inner_agent(self, wrap):
        agent = wrap(TICTACTOE, lowest)
        again = pickle.loads(pickle.dumps(agent))
        np.testing.assert_array_equal(again.policies(open_boards()), agent.policies(open_boards()))


class TestSymmetric:
    @pytest.mark.parametrize("agent", ["ppo", "minimax"])
    def test_policy_is_that_of_canonical_position(self, agent):
        plays = ttt_env.make_agent(agent, TICTACTOE)
        symmetric = Symmetric(TICTACTOE, agent)
        for position in open_boards()[::21]:
            image = canonical(position)
            policy = symmetric.policy(position)
            motions = [motion for motion in symmetries(TICTACTOE) if transform(position, motion) == image]
            assert any(np.array_equal(policy, plays.policy(image)[list(motion)]) for motion in motions)

    def test_symmetric_agent_is_consistent(self):
        assert ttt_env.certify("ppo").inconsistent
        assert not ttt_env.certify("symmetric:ppo").inconsistent

    def test_function_is_called_with_canonical_position(self):
        asked = []

        def corner(position):
            asked.append(position)
            return position.legal_cells[0]

        game, player = TICTACTOE, Symmetric(TICTACTOE, corner)
        assert not player.is_stationary
        for cell in (0, 2, 6, 8):
            position = game.start.play(cell)
            after = position.play(player.choose(position, np.random.default_rng(0)))
            assert canonical(after) == canonical(asked[0].play(asked[0].legal_cells[0]))
        assert len(set(asked)) == 1

    def test_choice_outside_board_is_refused(self):
        class Nowhere(ttt_env.Agent):
            def choose(self, position, rng):
                return 99

        with pytest.raises(ttt_env.IllegalMoveError, match=r"<Nowhere of tictactoe-v0> plays 99 in"):
            ttt_env.play_game(Symmetric(TICTACTOE, Nowhere(TICTACTOE)), "random")

    def test_forfeit_error_names_position(self):
        silent = ttt_env.PolicyTable.of(lambda position: 99, TICTACTOE)
        with pytest.raises(ttt_env.errors.ForfeitError, match=r"plays 99 in \.{3}/\.{3}/\.{3}"):
            ttt_env.certify(Symmetric(TICTACTOE, silent))
