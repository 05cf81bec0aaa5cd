"""Networks as agents: they see the observations of the environments, and score each cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats, of_legal_cells
from ttt_env.agents.planning.planners import Temperature
from ttt_env.analysis.induction import softmax
from ttt_env.envs.observation import flat_of
from ttt_env.errors import ParameterError, PolicyError, brief
from ttt_env.rules import Boards, Game, Position, checked

ScoreFunction: TypeAlias = Callable[[Any], Any]
NetworkInput = Literal["planes", "flat"]
_BATCH = 1 << 14
_ROUNDING = 1e-2  # of the largest score: the error of numbers of 16 bits, such as bfloat16


class NetworkAgent(Agent):
    """Plays the free cell to which a network gives the highest score; see `make_agent`, which makes it.

    The network is a function from a batch of observations to scores `[B, cells]`: action values, logits or
    the like, in an array or tensor of any library. Scores of taken cells do not matter. A function gets NumPy
    arrays. A module gets tensors on the device and of the number type of its first parameter (`float32` if it
    has none); it runs in `eval` mode and without gradients, and is then put back into its own mode.

    The agent declares a fixed policy, so that results about it are exact. Hence the scores may depend on
    nothing but the position: not on chance, on former calls, or on the rest of the batch. The agent calls the
    network itself, not a copy, so do not train it during an analysis. It can be pickled if the network can.

    Args:
        game: The game, or its id.
        network: A `torch.nn.Module`, or any function.
        observation: What it sees: "planes", `int8[B, *shape, 2]`, as `Boards.planes` gives them, or "flat",
            `float32[B, 2·cells]`, as the environments with the same `observation`.
        temperature: 0 for the highest score, uniformly among ties; above 0 the policy is the softmax of
            scores / temperature over the free cells, so that 1 turns logits into their probabilities.

    Raises:
        ParameterError: The network cannot be called, or a parameter is out of its range.
        PolicyError: In play, an answer has another shape, the score of a free cell is not finite, or the
            scores of a position differ alone and in a batch.

    Example:
        >>> agent = NetworkAgent("tictactoe-v0", lambda planes: [range(9)] * len(planes))
        >>> agent.explain(agent.game.start).cells
        [8]

    """

    is_stationary = True

    @checked
    def __init__(
        self,
        game: Game | str,
        network: ScoreFunction,
        observation: NetworkInput = "planes",
        temperature: Temperature = 0.0,
    ) -> None:
        if not callable(network) or isinstance(network, type):
            raise ParameterError(f"network={brief(network)}: expected a function or another callable")
        super().__init__(game)
        self.network, self.observation, self.temperature = network, observation, temperature

    @classmethod
    def of(
        cls,
        network: ScoreFunction,
        game: Game,
        observation: NetworkInput = "planes",
        temperature: float = 0.0,
    ) -> NetworkAgent:
        """The agent of this network, for `make_agent`."""
        return cls(game, network, observation, temperature)

    def __repr__(self) -> str:
        name = getattr(self.network, "__name__", type(self.network).__name__)
        return f"<NetworkAgent {name} of {self.game.name}>"

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        scores = np.empty(boards.legal.shape)
        for start in range(0, len(boards), _BATCH):
            scores[start : start + _BATCH] = self._scores(boards[start : start + _BATCH])
        if len(boards) > 1:
            last = boards[-1:]
            alone, together = self._scores(last)[0], scores[-1]
            if np.abs(alone - together).max() > _ROUNDING * np.abs(scores).max():
                raise self._error(
                    f"gives {together.tolist()} in {last[0]} in a batch, but {alone.tolist()} alone; "
                    "is it random, or does it normalise batches?"
                )
        return softmax(self.temperature)(scores, boards.legal)

    def _explain(self, position: Position) -> Explanation:
        scores = of_legal_cells(position, self._scores(Boards.of([position]))[0])
        reason = "The network gives {cells} the highest score."
        if self.temperature:
            reason = (
                f"The chance of a cell grows with the network’s score as exp(score / {self.temperature:g})."
            )
        return self._policy_explanation(position, reason, CellNumbers("network’s score", scores, "number"))

    def _scores(self, boards: Boards) -> Floats:
        """The scores of the cells, `[B, cells]`; 0 on taken ones."""
        batch: Any = boards.planes
        if self.observation == "flat":
            batch = flat_of(batch)
        try:
            answer = _answer(self.network, batch)
        except Exception as error:
            other = "planes" if self.observation == "flat" else "flat"
            raise PolicyError(
                f"{self!r} raises {type(error).__name__} for observations of shape {batch.shape}: {error}. "
                f"For {other} ones make the agent by make_agent(network, game, observation={other!r})"
            ) from error
        try:
            scores: Floats = np.asarray(answer, np.float64)
        except (TypeError, ValueError, RuntimeError):
            raise self._error(f"answers {brief(answer)}") from None
        scores = by_cell(self.game, scores)
        if scores.shape != boards.legal.shape:
            raise self._error(
                f"answers observations of shape {batch.shape} with scores of shape {scores.shape}, "
                f"not {boards.legal.shape}"
            )
        wrong = np.flatnonzero((boards.legal & ~np.isfinite(scores)).any(axis=1))
        if len(wrong):
            first = int(wrong[0])
            raise self._error(f"gives {scores[first].tolist()} in {boards[first]}")
        return np.where(boards.legal, scores, 0.0)

    def _error(self, fault: str) -> PolicyError:
        return PolicyError(
            f"{self!r} {fault}. Expected scores [B, cells], finite on free cells, "
            "that depend on the position alone"
        )


def by_cell(game: Game, scores: Floats) -> Floats:
    """The scores of actions, `[B, actions]`, as `[B, cells]`: of a column of cells, each has the column's."""
    of_columns = scores.ndim == 2 and scores.shape[1] == len(game.columns)
    return scores[:, game.column_of] if of_columns else scores


def _answer(network: ScoreFunction, observations: Any) -> Any:
    """The network's answer; tensors of PyTorch are converted to NumPy arrays."""
    torch: Any = sys.modules.get("torch")  # never imported here: the maker of the network has done so
    if torch is None:
        return network(observations)
    with torch.no_grad():
        if isinstance(network, torch.nn.Module):
            parameter = next(network.parameters(), torch.empty(0))
            tensor = torch.as_tensor(observations).to(parameter.device, parameter.dtype)
            with _eval_mode(network):
                answer = network(tensor)
        else:
            answer = network(observations)
    return answer.detach().cpu().double().numpy() if isinstance(answer, torch.Tensor) else answer


@contextmanager
def _eval_mode(module: Any) -> Iterator[None]:
    """Put a module of PyTorch into `eval` mode, and each of its parts back into its own mode at the end."""
    in_training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in in_training:
            part.training = True
