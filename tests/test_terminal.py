"""A person at the terminal, played by a list of answers."""

import numpy as np
import pytest

import ttt_env
from ttt_env.app.terminal import Table


class Person:
    """Answers from a list; an exception in it is raised."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, prompt):
        self.asked.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, type):
            raise answer
        return answer


def sit(person, opponent, game="tictactoe-v0", seat="X"):
    game, said = ttt_env.get_game(game), []
    table = Table(game, ttt_env.make_agent(opponent, game), np.random.default_rng(0), person, said.append)
    table.sit_down(seat)
    return table.score, "\n".join(said)


def lowest(position):
    return position.legal_cells[0]


def test_winning_as_x_then_sides_are_swapped():
    score, said = sit(Person("4", "2", "6", "", "4", "2", "6", "n"), lowest)
    assert said.index("You are X.") < said.index("You win!") < said.index("You are O.")
    assert (score.wins, score.draws, score.losses) == (2, 0, 0)


@pytest.mark.parametrize("leaving", ["q", "quit", EOFError, KeyboardInterrupt])
def test_leaving_in_the_middle_of_a_game(leaving):
    score, said = sit(Person("4", leaving), "minimax")
    assert (score.wins, score.draws, score.losses) == (0, 0, 0)
    assert said.endswith("Goodbye. Final score: you 0, draws 0, opponent 0.")


def test_misere_says_who_lost():
    _, said = sit(Person("0", "3", "6", "n"), lambda p: p.legal_cells[-1], "tictactoe-v0:misere=true")
    assert "You lose." in said


def test_a_draw_is_counted():
    script = iter([4, 2, 3, 7])
    score, said = sit(Person("0", "1", "6", "5", "8", "n"), lambda p: next(script))
    assert "A draw." in said
    assert (score.wins, score.draws, score.losses) == (0, 1, 0)


def test_wrong_answers_change_nothing():
    person = Person("9", "-1", "4.0", "", "X", "4", "4", "q")
    _, said = sit(person, lowest)
    assert said.count("is no cell") == 3
    assert said.count("is not a cell of tictactoe-v0") == 2
    assert "cell 4 of O.././... is taken" not in said
    assert "cell 4 of O../.X./... is taken" in said
