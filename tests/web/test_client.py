"""The page computes what the package computes: its modules run in the browser, and Python repeats them."""

import random
from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest

from tests.support.games import MISERE, TICTACTOE, random_game
from tests.web.conftest import FANO
from ttt_env import get_game, make_agent, solve
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.rules import Boards, Game, Position

SOLVED = [TICTACTOE, MISERE]
FALLING = get_game("connect-four-v0:m=3,n=3,k=3")
RULED = [
    *SOLVED,
    FALLING,
    Game("fano", (7,), FANO),
    *map(get_game, ("square-v0", "qubic-v0", "connect-four-v0")),
]


def data_of(game):
    return {
        "cells": game.n_cells,
        "sets": game.winning_sets,
        "misere": game.misere,
        "supports": game.supports,
    }


def boards_of(page, game):
    """The positions of a game in the order of their numbers in the page."""
    script = "return solver.enumerate(given[0]).map(({mine, theirs}) => [mine, theirs]);"
    masks = page.module(script, data_of(game), names="solver")
    return Boards(game, *np.array(masks, np.uint64).T)


# ---- Rules.


def completed(game, cells):
    """The winning sets through the last of these cells that its owner has completed."""
    own = set(cells[-1::-2])
    return [list(each) for each in game.winning_sets if cells and cells[-1] in each and own.issuperset(each)]


@pytest.mark.parametrize("game", RULED, ids=str)
def test_games_follow_same_rules(game, page):
    rng = random.Random(2)
    games = []
    for _ in range(200):
        positions = random_game(game, rng)
        before = [position.occupied_mask for position in positions]
        cells = [(a ^ b).bit_length() - 1 for a, b in pairwise(before)]
        games.append((positions, cells))
    outputs = page.module(
        """return given[1].map((cells) => [...cells.keys(), cells.length].map((ply) => {
             const {stones, ...shown} = rules.positionAfter(given[0], cells.slice(0, ply));
             return [stones.map((stone) => stone || '.').join(''), shown];
           }));""",
        data_of(game),
        [cells for _, cells in games],
        names="rules",
    )
    for (positions, cells), rows in zip(games, outputs, strict=True):
        for ply, (position, row) in enumerate(zip(positions, rows, strict=True)):
            stones = "".join("O.X"[1 + each] for each in position.board.ravel().tolist())
            assert row[0] == stones
            assert (
                row[1]
                | {
                    "winner": position.winner,
                    "isOver": position.is_over,
                    "legal": [] if position.is_over else position.legal_cells,
                    "completed": completed(game, cells[:ply]),
                    "mover": position.to_move,
                }
                == row[1]
            )


# ---- The solver.


@pytest.mark.parametrize("game", [*SOLVED, FALLING], ids=str)
def test_positions_have_same_values(game, page):
    boards = boards_of(page, game)
    assert (
        len(boards)
        == len(set(zip(boards.mine.tolist(), boards.theirs.tolist(), strict=True)))
        == (sum(len(layer) for layer in reachable(game)))
    )
    values = page.module(
        "return policies.bestValues(solver.enumerate(given[0]));", data_of(game), names="solver, policies"
    )
    solution = solve(game)
    assert values == [solution.value_of(position) for position in boards]


@pytest.mark.parametrize("game", SOLVED, ids=str)
@pytest.mark.parametrize("temperatures", [(0.2, 1.0), (1.0, 0.05), (0.0, 0.5)])
def test_softmax_minimax_sweep_is_equal(temperatures, game, page):
    boards, (x, o) = boards_of(page, game), temperatures
    values = page.module(
        """const {win, loss} = solver.sweep(solver.enumerate(given[0]), given[1], given[2]);
           return [...win].map((each, at) => each - loss[at]);""",
        data_of(game), x, o, names="solver",
    )  # fmt: skip
    outcomes = backward_induction(reachable(game), softmax(x), softmax(o))
    assert np.allclose(values, outcomes.values().of(boards), rtol=0, atol=1e-12)


# ---- Policies.


@pytest.mark.parametrize("game", SOLVED, ids=str)
def test_agents_have_same_policies(game, page):
    boards = boards_of(page, game)
    open_rows = np.flatnonzero(~boards.is_over)
    soft = ["softmax", "softmax:temperature=0.2", "softmax:temperature=0.1,opponent_temperature=2"]
    tables = page.module(
        """const known = new knowledge.Knowledge(game(given[0]), app), tables = {};
           for (const agent of [...Object.keys(game(given[0]).policies), ...given[1]]) {
             const table = await known.table(agent);
             tables[agent] = known.positions.flatMap(({moves}, number) => {
               const chances = Array(9).fill(0);
               moves.forEach(([cell], at) => { chances[cell] = table[number][at]; });
               return moves.length ? [chances] : [];
             });
           }
           return tables;""",
        game.name, soft, names="knowledge",
    )  # fmt: skip
    assert len(tables) > 12
    for agent, policies in tables.items():
        assert np.allclose(policies, make_agent(agent, game).policies(boards[open_rows]), atol=1e-6), agent


# ---- Monte Carlo tree search.


class Node:
    """The counts of a node of the tree that the test builds itself."""

    def __init__(self):
        self.wins, self.visits, self.children = 0.0, 0, {}

    def upper_bounds(self, c):
        """The UCB1 score of each child."""
        return {
            cell: child.wins / child.visits + c * sqrt(log(self.visits) / child.visits)
            for cell, child in self.children.items()
        }

    def facts(self):
        children = [[cell, child.facts()] for cell, child in sorted(self.children.items())]
        return [self.visits, self.wins, children]


@pytest.mark.parametrize("text", [".../.../...", "XX./OO./...", "XOX/.X./O.O"])
def test_simulations_follow_formula_and_count_results(text, page):
    start = Position.parse(text)
    xs, os = ([cell for cell, each in enumerate(text.replace("/", "")) if each == seat] for seat in "XO")
    moves = [cell for pair in zip(xs, os, strict=False) for cell in pair] + xs[len(os) :]
    steps, tree = page.module(
        """const search = new mcts.Search(game('tictactoe-v0'), given[0], {seed: 3, c: 1.2}), steps = [];
           for (let each = 0; each < 300; each++) { search.step(); steps.push({...search.last}); }
           const facts = ({visits, wins, children}) => [visits, wins,
             children.toSorted((a, b) => a.cell - b.cell).map((child) => [child.cell, facts(child)])];
           return [steps, facts(search.root)];""",
        moves, names="mcts",
    )  # fmt: skip
    root = Node()
    for step in steps:
        position, node, nodes, expanded = start, root, [root], False
        for cell in step["path"]:
            assert not expanded, "a simulation goes on below the node that it has added"
            if set(node.children) == set(position.legal_cells):
                scores = node.upper_bounds(1.2)
                assert scores[cell] == pytest.approx(max(scores.values()), abs=1e-12)
            else:
                assert cell not in node.children
                expanded = True
            node = node.children.setdefault(cell, Node())
            position = position.play(cell)
            nodes.append(node)
        assert expanded == step["isExpanded"]
        if position.is_over:
            assert step["winner"] == position.winner
        for depth, each in enumerate(nodes):
            each.visits += 1
            moved = "OX"[(start.ply + depth) % 2]  # the seat that moved there
            each.wins += 0.5 if step["winner"] is None else step["winner"] == moved
    assert tree == root.facts() and tree[0] == 300


def test_win_in_one_is_found_by_every_seed(page):
    best_moves = page.module(
        """return [...Array(20).keys()].map((seed) =>
             new mcts.Search(game('tictactoe-v0'), [0, 3, 1, 4], {seed}).run(200).best);""",
        names="mcts",
    )
    assert best_moves == [[2]] * 20
