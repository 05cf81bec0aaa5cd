"""A game against an opponent as a conversation: texts in and out, and exact rewards.

Its opponents may draw by the position alone, so that they answer the same board in the same way. `start_rows`
are the rows of a data set to train or to judge a player on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite, nan
from typing import Annotated, Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike

from ttt_env.agent import Agent, AgentLike, Outcome, chosen_cell, read_cell
from ttt_env.analysis.known import PROOF_NODES, known_value
from ttt_env.envs.board import DEFAULT_REWARDS, OpponentMix, PlayAs, StartLike
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.errors import EpisodeOrderError, IllegalMoveError, ParameterError, brief
from ttt_env.rules import (
    SEATS,
    Between,
    Game,
    Position,
    Seat,
    as_integer,
    canonical,
    check_names,
    checked,
    declared,
    get_game,
    one_of,
    other_seat,
    parameters_of_game,
)
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.wording import BoardStyle, board_text, end_text, fault_text, prompt_text, turn_text

_2_TO_MINUS_53 = 2.0**-53


class SeededByPosition(Agent):
    """Plays as another agent does, with random numbers that depend on `seed` and the position alone.

    In all games under one seed, it then replies to the same board with the same move, in any order and
    process. This does not hold for an agent that depends on more than the position and its `rng`: `mcts`
    without a seed, which keeps its tree between moves, or a function with a state.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self.agent, self.seed = agent, 0
        self._takes_one_draw = agent.plays_by != "choose"  # `choose` may draw any numbers from `rng`

    def __repr__(self) -> str:
        return repr(self.agent)

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        rng_of_position: Any
        if self._takes_one_draw:
            rng_of_position = _OneDraw(self.seed, position.mine, position.theirs)
        else:
            rng_of_position = np.random.default_rng((self.seed, position.mine, position.theirs))
        return chosen_cell(self.agent, position, rng_of_position)


class _OneDraw:
    """The one random number that sampling a policy needs, ten times as fast as a generator."""

    def __init__(self, seed: int, mine: int, theirs: int) -> None:
        self._key = f"{seed} {mine} {theirs}"

    def random(self) -> float:
        """A number from [0, 1): the upper 53 of 64 bits of a hash."""
        bits = int.from_bytes(blake2b(self._key.encode(), digest_size=8).digest(), "little")
        return (bits >> 11) * _2_TO_MINUS_53


IllegalReply = Literal["lose", "raise", "retry"]
Replies = Literal["by_position", "by_stream"]
RewardName = Literal["result", "regret", "shaped"]
Reward: TypeAlias = "RewardName | Callable[[TextEnv], float]"


class MoveRecord(NamedTuple):
    """A move of the player, with the values of the position before and after it for that player.

    Values are 1 won, 0 drawn, −1 lost, and None where they are not known. `cell` is None for a reply that
    lost the game without a move.
    """

    cell: int | None
    value_before: int | None
    value_after: int | None

    @classmethod
    def of(cls, position: Position, cell: int | None, nodes: int) -> Self:
        """The record of a move to a free cell, or of a reply without one, which loses the game.

        On games that are too large to be solved, a search of at most `nodes` positions proves the values.
        """
        before = known_value(position, nodes)
        if cell is None:
            return cls(None, before, -1)
        after = known_value(position.child(cell), nodes)
        return cls(cell, before, None if after is None else -after)

    @property
    def regret(self) -> int | None:
        """The value that the move has given away, from 0 (a best move) to 2; None if it is not known."""
        if self.value_before is None or self.value_after is None:
            return None
        return self.value_before - self.value_after


class TextInfo(TypedDict):
    """The facts about a conversation, for code that trains or judges the player.

    `seat` is the player's seat. `legal_cells` may be played now. `outcome` is the outcome of the last reply.
    `regret` has the value that each move of the player gave away, `values` the values before and after it,
    for the player and under best play, None where they are not known. An illegal reply that loses the game
    counts as a move. `winner` is None in a draw, during the game, and after such a reply, by which the player
    loses but neither seat wins.
    """

    seat: Seat
    legal_cells: list[int]
    winner: Seat | None
    outcome: Outcome | None
    regret: list[int | None]
    values: list[tuple[int | None, int | None]]


class TextEnv:
    """A game against an opponent, in which a player reads texts and replies with texts.

    `reset` returns the prompt: the rules, the board, the player's mark, the free cells, and how to answer.
    Each `reply` (free text) or `move` (a cell) returns a text that says what happened and what to do next.
    Then `reward` is the reward of this reply, `done` is True if the game is over, and `info` is a `TextInfo`.

    Args:
        game: The game, or its id.
        opponent: An agent or a list of agents, as in `ttt_env.make`.
        opponent_weights: The chances of the agents in a list, as in `ttt_env.make`.
        play_as: The player's seat: "X", "O", "random" or "alternate", as in `ttt_env.make`.
        illegal: The effect of an unreadable reply or a taken cell: "lose" loses the game; "raise" raises
            `IllegalMoveError`; "retry" returns what was wrong, up to `retries` times in a game, and the next
            one loses.
        retries: The number of retries in a game.
        rewards: The rewards of the end, as in `ttt_env.make`.
        reward: "result", the reward of the end; "regret", minus the value that the move has given away;
            "shaped", the sum of both times `reward_weights`; or a function of this env.
        reward_weights: The weights of result and regret in "shaped".
        replies: "by_position": the opponent draws its moves from the seed of `reset` and the position alone,
            so that in all games under one seed it answers the same board in the same way (unless it depends
            on more than the position, as `mcts` does without a seed); "by_stream": from one stream of random
            numbers, as in the Gymnasium env.
        start: The start of each game, as in `ttt_env.make`.
        board: The drawing of the board: "grid", "coordinates" or "line" (see `board_text`).
        answer: The form in which a reply names its cell, such as "[{cell}]", "[{name}]" or "row {row}, column
            {column}" (see `AnswerFormat`).
        nodes: The most positions to search for a value. Values are exact: games of up to 16 cells are solved,
            and on larger ones a search proves the value or leaves it unknown, with 0 at once.
        seed: The seed of the first `reset` without one.
        **parameters: The parameters of the game.

    Raises:
        ParameterError: A name is neither an argument nor a parameter of the game, such as `observation`; or
            a value is invalid, as in `ttt_env.make`.

    Example:
        >>> env = TextEnv("tictactoe-v0", opponent="minimax", play_as="X", board="line")
        >>> print(env.reset(seed=3).splitlines()[-1])
        It is your turn. Free cells: 0 1 2 3 4 5 6 7 8. Answer with the number of a free cell in the form [0].
        >>> text = env.reply("I take a side: [1]")
        >>> env.done, env.info["regret"]
        (False, [0])

    """

    @checked
    def __init__(
        self,
        game: Game | str = "tictactoe-v0",
        opponent: AgentLike | Sequence[AgentLike] = "random",
        *,
        opponent_weights: ArrayLike | None = None,
        play_as: PlayAs = "random",
        illegal: IllegalReply = "lose",
        retries: Annotated[int, Between(0)] = 3,
        rewards: Sequence[float] | Mapping[str, float] = DEFAULT_REWARDS,
        reward: Reward = "result",
        reward_weights: Sequence[float] = (1.0, 1.0),
        replies: Replies = "by_position",
        start: StartLike | None = None,
        board: BoardStyle = "grid",
        answer: str | AnswerFormat = "[{cell}]",
        nodes: Annotated[int, Between(0)] = PROOF_NODES,
        seed: Annotated[int, Between(0)] | None = None,
        **parameters: Any,
    ) -> None:
        self.game, _ = split_settings("TextEnv", game, parameters, SETTINGS)
        self.illegal, self.replies, self.board = illegal, replies, board
        self.retries, self.nodes, self._seed = retries, nodes, seed
        self.answer = answer if isinstance(answer, AnswerFormat) else AnswerFormat(answer)
        self._reward_of = _reward_function(reward, reward_weights)
        self._env: SingleAgentEnv[Any] = SingleAgentEnv(
            self.game, play_as=play_as, illegal="raise", rewards=rewards, start=start, actions="cells"
        )
        self._default_lineup = self._lineup_of(opponent, opponent_weights, trusted=True)
        self._set_lineup(self._default_lineup)
        self._seed_of_replies = 0
        self._has_started = False
        self._clear_episode()

    def _clear_episode(self) -> None:
        self.moves: list[MoveRecord] = []
        self.done, self.reward, self.result, self.total_reward = False, 0.0, 0.0, 0.0
        self.outcome: Outcome | None = None
        self._winner: Seat | None = None
        self._n_illegal = 0

    def _lineup_of(
        self, opponent: AgentLike | Sequence[AgentLike], weights: ArrayLike | None, trusted: bool
    ) -> tuple[list[Agent], ArrayLike | None]:
        agents = OpponentMix(opponent, weights, self.game, trusted).agents
        by_position: list[Agent] = [SeededByPosition(agent) for agent in agents]
        return by_position if self.replies == "by_position" else agents, weights

    def _set_lineup(self, lineup: tuple[list[Agent], ArrayLike | None]) -> None:
        self._lineup = lineup
        self._env.set_opponent(*lineup)

    @property
    def position(self) -> Position:
        """The current position. Raises `EpisodeOrderError` before the first `reset`."""
        return self._env.position

    @property
    def seat(self) -> Seat:
        """The player's seat."""
        return self._env.seat

    @property
    def info(self) -> TextInfo:
        """The facts about the conversation so far, as `TextInfo` describes them."""
        return {
            "seat": self.seat,
            "legal_cells": [] if self.done else self.position.legal_cells,
            "winner": self._winner,
            "outcome": self.outcome,
            "regret": [move.regret for move in self.moves],
            "values": [(move.value_before, move.value_after) for move in self.moves],
        }

    def reset(
        self,
        *,
        seed: int | None = None,
        position: Position | str | None = None,
        play_as: PlayAs | None = None,
        opponent: AgentLike | Sequence[AgentLike] | None = None,
        **columns: object,
    ) -> str:
        """Begin a game and return the prompt.

        A row of a data set can be given as it is, `reset(**row)`. The arguments hold for this game alone;
        None means the setting of the env. After an error nothing has changed.

        Args:
            seed: The seed of the random numbers; None continues their stream.
            position: The position to start in, or its text.
            play_as: The player's seat, as in the constructor.
            opponent: The opponent. A row is data: a text names an agent of this package without files and
                commands, as with `make_agent(…, trusted=False)`.
            **columns: Ignored: the other columns of the row.

        Raises:
            TttEnvError: A value is invalid; the error is the one that `ttt_env.make` and its `reset` raise.

        """
        options: dict[str, Any] = {} if play_as is None else {"play_as": play_as}
        if isinstance(position, str):
            position = Position.parse(position, self.game)
        if position is not None:
            options["position"] = position
        if seed is not None:
            seed = as_integer("seed", seed, "reset", 0)
        elif not self._has_started:
            seed = self._seed
        before, rng = (self._env, self._lineup, self._seed_of_replies), self._env.np_random
        state = rng.bit_generator.state
        self._env = copy(self._env)
        try:
            if opponent is not None:
                self._set_lineup(self._lineup_of(opponent, None, trusted=False))
            elif self._lineup is not self._default_lineup:
                self._set_lineup(self._default_lineup)
            if self.replies == "by_position":
                self._seed_replies(int(rng.integers(2**63)) if seed is None else seed)
            self._env.reset(seed=seed, options=options)
        except BaseException:
            (self._env, self._lineup, seed_of_replies), rng.bit_generator.state = before, state
            self._seed_replies(seed_of_replies)
            raise
        self._has_started = True
        self._clear_episode()
        return prompt_text(self.position, self.board, self.answer.template, self._env.last_cell)

    def move(self, cell: SupportsIndex) -> str:
        """Play a cell and return what happened and what to do next.

        Raises:
            EpisodeOrderError: The game has not begun, or is over.
            IllegalMoveError: The cell is not free, and `illegal` is "raise"; nothing has changed then.

        """
        self._check_in_progress()
        before = self.position
        free_cell, outcome = read_cell(cell, before)
        if free_cell is None:
            return self._handle_illegal(outcome)
        record = MoveRecord.of(before, free_cell, self.nodes)
        _, result, is_over, _, info = self._env.step(free_cell)
        self.moves.append(record)
        after = self.position
        winner = info.get("winner", -1)
        self._winner = None if winner < 0 else SEATS[winner]
        self._settle("played", result, is_over)
        message = f"You have played {free_cell}."
        if after.ply > before.ply + 1:
            message += f" {other_seat(self.seat)} has played {self._env.last_cell}."
        elif self._env.forfeit is not None:
            message += f" {other_seat(self.seat)} has named no free cell."
        if is_over:
            return f"{message}\n\n{board_text(after, self.board)}\n\n{end_text(self._winner, self.seat)}"
        return f"{message}\n\n{self._turn_text()}"

    def reply(self, text: str) -> str:
        """Play the cell that a reply names and return what happened and what to do next; raises as `move`.

        The rest of the reply is ignored, and nothing in it is ever run.
        """
        self._check_in_progress()
        reading = self.answer.read(text, self.position)
        return self._handle_illegal(reading.outcome) if reading.cell is None else self.move(reading.cell)

    def give_up(self) -> str:
        """Lose the game as by a reply that names no cell, whatever `illegal` says, and return what happened.

        Call it for a player who has stopped replying, so that this is worth no more than losing.

        Raises:
            EpisodeOrderError: The game has not begun, or is over.

        """
        self._check_in_progress()
        return self._lose("unreadable")

    def _seed_replies(self, seed: int) -> None:
        self._seed_of_replies = seed
        for agent in self._lineup[0]:
            if isinstance(agent, SeededByPosition):
                agent.seed = seed

    def _check_in_progress(self) -> None:
        if not self._has_started or self.done:
            raise EpisodeOrderError("no game in progress: call reset()")

    def _handle_illegal(self, outcome: Outcome) -> str:
        """Apply `illegal` to a reply that plays no free cell, and return the text for it."""
        reason = self._fault_text(outcome)
        if self.illegal == "raise":
            free = self.position.legal_cells
            raise IllegalMoveError(f"{outcome}: {reason}; free cells of {self.position} are {free}")
        if self.illegal == "retry" and self._n_illegal < self.retries:
            self._n_illegal += 1
            self._settle(outcome, 0.0, False)
            n_left = self.retries - self._n_illegal
            more = f"{n_left + 1} more replies like this lose" if n_left else "One more reply like this loses"
            return f"That is not a move: {reason}. Try again. {more} the game.\n\n{self._turn_text()}"
        return self._lose(outcome)

    def _lose(self, outcome: Outcome) -> str:
        """End the game as lost by a reply, and return the text for it."""
        self.moves.append(MoveRecord.of(self.position, None, self.nodes))
        self._settle(outcome, self._env.rewards_of.illegal, True)
        return f"The game is over, and you have lost: {self._fault_text(outcome)}."

    def _fault_text(self, outcome: Outcome) -> str:
        return fault_text(outcome, self.answer.text_of(0, self.game), self.game)

    def _settle(self, outcome: Outcome, result: float, is_over: bool) -> None:
        self.outcome, self.result, self.done = outcome, result, is_over
        self.reward = float(self._reward_of(self))
        self.total_reward += self.reward

    def _turn_text(self) -> str:
        return turn_text(self.position, self.board, self.answer.template)


SETTINGS = tuple(declared(TextEnv))[1:]
"""The names of the settings of `TextEnv`; the parameters of the game come in addition."""


def split_settings(
    owner: str, game: Game | str, values: Mapping[str, Any], settings: Collection[str]
) -> tuple[Game, dict[str, Any]]:
    """The game, made with the values that are its parameters, and the values that are `settings`.

    Raises the errors of `get_game`, and `ParameterError` for a name that is neither.
    """
    of_game = [name for name in parameters_of_game(game) if name not in settings]
    game = get_game(game, **{name: values[name] for name in of_game if name in values})
    check_names(f"{owner} for {game.name}", values, [*of_game, *settings])
    return game, {name: values[name] for name in settings if name in values}


@dataclass(frozen=True)
class _WeightedReward:
    """The reward of the last reply, the weighted difference of the result of the game and the move's regret.

    A regret that is not known counts as 0.
    """

    result_weight: float
    regret_weight: float

    def __call__(self, env: TextEnv) -> float:
        """The reward of the last reply."""
        regret = env.moves[-1].regret if env.outcome == "played" or env.done else None
        return self.result_weight * env.result - self.regret_weight * (regret or 0)


def _reward_function(reward: Reward, weights: Sequence[float]) -> Callable[[TextEnv], float]:
    """The function that returns the reward of the last reply to an environment.

    `weights` weigh result and regret for "shaped". Raises `ParameterError` for an unknown name, and for
    weights that are not two finite numbers.
    """
    if callable(reward):
        return reward
    name = one_of("reward", reward, get_args(RewardName))
    try:
        result_weight, regret_weight = map(float, weights)
    except Exception:  # they may be of a user's class
        result_weight = regret_weight = nan
    if not isfinite(result_weight) or not isfinite(regret_weight):
        raise ParameterError(
            f"reward_weights={brief(weights)}: expected two finite numbers, for result and regret"
        )
    by_name = {"result": (1.0, 0.0), "regret": (0.0, 1.0), "shaped": (result_weight, regret_weight)}
    return _WeightedReward(*by_name[name])


class StartRow(TypedDict):
    """The start of a game, for `TextEnv.reset(**row)`; no `position` is the start of the environment."""

    position: str | None
    play_as: Seat
    seed: int


@checked
def start_rows(
    game: Game | str, *, plies: Annotated[int, Between(0)] = 0, seeds: Annotated[int, Between(1)] = 1
) -> Iterator[StartRow]:
    """The rows of a data set of games, from the start on both seats and from the positions soon after it.

    There is a game with the player as X, one with the player as O, and one for every reachable position of 1
    to `plies` stones that is not over (one for all symmetric positions), with the player to move; each with
    the seeds 0 to `seeds` − 1. The rows are generated lazily, ply by ply.

    >>> [row["position"] for row in start_rows("tictactoe-v0", plies=1)]
    [None, None, 'X../.../...', '.X./.../...', '.../.X./...']
    """
    return _rows(get_game(game), plies, range(seeds))


def _rows(game: Game, plies: int, seeds: range) -> Iterator[StartRow]:
    seats: tuple[Seat, Seat] = ("X", "O")
    for seat in seats:
        for seed in seeds:
            yield {"position": None, "play_as": seat, "seed": seed}
    layer = [game.start]
    for _ in range(plies):
        after = (position.play(cell) for position in layer for cell in position.legal_cells)
        # One of all symmetric ones, in a fixed order.
        layer = list(dict.fromkeys(canonical(position) for position in after if not position.is_over))
        for position in layer:
            for seed in seeds:
                yield {"position": str(position), "play_as": position.to_move, "seed": seed}
