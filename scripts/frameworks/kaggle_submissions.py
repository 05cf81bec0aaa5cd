"""kaggle-environments plays our agents as submissions, and its agents are certified as ours.

Follows the way to write and to run an agent: https://github.com/Kaggle/kaggle-environments

What differs: the agents. Its `env.run` plays games between submissions of this package and its own random
agent, on both seats; then a function that is written for it is certified here.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "kaggle-environments==1.33.2", "open-spiel==2.0.1"]
# ///

from kaggle_environments import make
from outcome import assert_unbeatable

import ttt_env  # ttt_env
from ttt_env.integrations.kaggle import KaggleAgent, submission  # ttt_env

GAMES = 10


def first_free(observation, configuration):
    """A submission as Kaggle's users write it: it plays the first free cell."""
    board = observation.get("observationString", "").replace("\n", "")
    return {"submission": board.find(".")}


def rewards(env, agents):
    """The rewards of one game."""
    env.reset()
    return [state.reward for state in env.run(agents)[-1]]


def main():
    """Play in Kaggle's loop, and certify in both directions."""
    env = make("open_spiel_tic_tac_toe")
    for seed in range(GAMES):
        ours = submission("minimax", seed)  # ttt_env
        assert rewards(env, [ours, "random"])[0] >= 0
        assert rewards(env, ["random", ours])[1] >= 0
    assert rewards(env, [submission("minimax", 0), submission("minimax", 1)]) == [0, 0]  # ttt_env
    print(f"in {2 * GAMES} games nobody beats our submission", flush=True)

    theirs = ttt_env.certify(KaggleAgent(first_free))  # ttt_env
    print(theirs)
    assert not theirs.unbeatable
    cells = theirs.refutations["X"].cells  # ttt_env
    moves = iter(cells[1::2])

    def player(seen, configuration):
        is_to_move = seen.get("observationString") and seen["currentPlayer"] == seen["playerId"]
        return {"submission": next(moves) if is_to_move else -1}

    assert rewards(env, [first_free, player]) == [-1, 1]  # the game that refutes it, in Kaggle's loop

    agent = KaggleAgent(submission("minimax", 0))  # ttt_env
    assert_unbeatable(agent, ["kaggle-environments", "open-spiel"])


if __name__ == "__main__":
    main()
