"""A network in an ONNX file as an agent.

An ONNX file holds numbers and the operators of a network, which `onnxruntime` runs; no other code of the file
is ever run.
"""

from __future__ import annotations

from hashlib import sha256
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agents.learned.network import NetworkAgent, NetworkInput
from ttt_env.agents.planning.planners import Temperature
from ttt_env.envs.observation import Flat, Planes
from ttt_env.errors import FileError, PolicyError, extra_for
from ttt_env.rules import Game, checked, get_game
from ttt_env.storage import file_errors, open_regular, reason

SCORES = "scores"
"""The name of the output with the scores of the cells."""
GAME, RULES, TEMPERATURE = "ttt_env.game", "ttt_env.rules", "ttt_env.temperature"
"""The entries of a file's metadata that say for which game it is, and at which temperature it plays."""
_MAX_BYTES = 1 << 30
_REMEDY = """Write the scores from the model itself:
from ttt_env.integrations.onnx.export import export_onnx
export_onnx(ttt_env.make_agent(model, "tictactoe-v0"), "model.onnx")"""
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


class Onnx(NetworkAgent):
    """Plays the legal move with the highest score of a network in an ONNX file, from any library.

    The network has one input, the stones of the player to move and of the other, in a tensor `[B, *shape, 2]`
    like `Boards.planes`, or flat, `[B, 2·cells]`; B may be fixed to 1. Its output `scores`, or else its first
    output, has a number for each cell, `[B, cells]`, such as action values or logits; the scores of taken
    cells are ignored. `export_onnx` writes such files, with the game in their metadata.

    Args:
        game: The game, or its id.
        path: The file.
        temperature: 0 plays the highest score, uniformly among equal ones; above 0 the policy is the softmax
            of scores / temperature. By default the temperature in the file, else 0.

    Raises:
        FileError: The file is not such a network, or one for another game.

    """

    is_stationary = True

    @checked
    def __init__(self, game: Game | str, path: str, temperature: Temperature | None = None) -> None:
        game = get_game(game)
        network = OnnxNetwork(path, _content(path))
        observation = network.observation_of(game)
        if temperature is None:
            temperature = network.temperature
        super().__init__(game, network, observation, temperature)


def rules_of(game: Game) -> str:
    """A digest of the rules of a game, which a file has in addition to its name."""
    rules = game.shape, sorted(game.winning_masks), game.misere, *game.resting
    return sha256(repr(rules).encode()).hexdigest()[:16]


class OnnxNetwork:
    """The function from observations to scores in an ONNX file; its pickle holds the whole file."""

    def __init__(self, path: str, content: bytes) -> None:
        self._path, self._content = path, content
        self._session = _session(path, content)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or inputs[0].type not in _TYPES or not outputs:
            inputs_text = ", ".join(f"{each.name} {each.type}" for each in inputs)
            raise self._error(f"it has the inputs {inputs_text}; expected one, of numbers")
        self._input, self._type = inputs[0].name, _TYPES[inputs[0].type]
        self._shape: list[object] = inputs[0].shape
        output = next((each for each in outputs if each.name == SCORES), outputs[0])
        if len(output.shape) == 1:  # as Stable-Baselines3's documentation writes models
            raise self._error(f"its output {output.name} holds actions, not scores of all cells. {_REMEDY}")
        self._output = output.name
        self._facts: dict[str, str] = self._session.get_modelmeta().custom_metadata_map

    def __reduce__(self) -> tuple[type[OnnxNetwork], tuple[str, bytes]]:
        return type(self), (self._path, self._content)

    def __call__(self, observations: Planes | Flat) -> NDArray[Any]:
        """The scores of the cells, `[B, cells]`."""
        batch = observations.astype(self._type)
        if self._shape[0] != 1:
            return self._run(batch)
        return np.concatenate([self._run(batch[row : row + 1]) for row in range(len(batch))])

    def _run(self, batch: NDArray[Any]) -> NDArray[Any]:
        try:
            scores: NDArray[Any] = self._session.run([self._output], {self._input: batch})[0]
        except Exception as error:  # onnxruntime has an exception of its own for each kind of fault
            raise PolicyError(f"{self._path} fails on observations {batch.shape}: {reason(error)}") from error
        return scores

    @property
    def temperature(self) -> float:
        """The temperature in the file; 0 if there is none.

        Raises `FileError` if it is not a temperature.
        """
        text = self._facts.get(TEMPERATURE, "0")
        try:
            temperature = float(text)
        except ValueError:
            temperature = -1.0
        if not (isfinite(temperature) and temperature >= 0):
            raise self._error(f"its {TEMPERATURE} is {text[:40]!r}")
        return temperature

    def observation_of(self, game: Game) -> NetworkInput:
        """The form of the network's input. Raises `FileError` if it does not fit the game."""
        name = self._facts.get(GAME, game.name)
        if name != game.name:
            raise self._error(f"it is one for {name[:200]!r}, not for {game.name}")
        if self._facts.get(RULES, rules_of(game)) != rules_of(game):
            raise self._error(f"it is one for rules that differ from {game.name}")
        expected: dict[NetworkInput, list[int]] = {"planes": [*game.shape, 2], "flat": [2 * game.n_cells]}
        for observation, shape in expected.items():
            lengths = self._shape[1:]
            if len(lengths) == len(shape) and all(
                length == due or not isinstance(length, int)
                for length, due in zip(lengths, shape, strict=True)
            ):
                return observation
        shapes = " or ".join(str(["B", *shape]).replace("'", "") for shape in expected.values())
        raise self._error(f"its input {self._input} has the shape {self._shape}; {game.name} needs {shapes}")

    def _error(self, fault: str) -> FileError:
        return FileError(f"{self._path} is not an ONNX network that plays: {fault}")


def _content(path: str) -> bytes:
    with file_errors(path, "read"), open_regular(path) as stream:
        content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise FileError(f"{path} is not an ONNX network that plays: it holds more than {_MAX_BYTES:,} bytes")
    return content


def _session(path: str, content: bytes) -> Any:
    """A session that runs the network in one thread: on small boards more threads only cost time."""
    with extra_for("onnx agents need", "onnx"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # faults are raised; its other messages would mix with our output
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise FileError(f"{path} is not an ONNX network that plays: {reason(error)}") from error
