"""ONNX files from outside this package: networks of one layer, built operator by operator."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weights_of(game):
    """Random weights of a layer, `[2·cells, cells]`, in 32 bits."""
    return np.random.default_rng(0).standard_normal((2 * game.n_cells, game.n_cells)).astype(np.float32)


def write_linear(
    path,
    game,
    *,
    weights=None,
    shape=None,
    batch="B",
    dtype=TensorProto.FLOAT,
    output="anything",
    metadata=None,
    n_inputs=1,
):
    """Write a network whose scores are the flattened observation times `weights`."""
    weights = weights_of(game) if weights is None else weights
    shape = (2 * game.n_cells,) if shape is None else shape
    inputs = [helper.make_tensor_value_info(f"x{n}", dtype, [batch, *shape]) for n in range(n_inputs)]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, weights.shape[1]])]
    nodes = [
        helper.make_node("Cast", ["x0"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["numbers"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], [output]),
    ]
    graph = helper.make_graph(nodes, "linear", inputs, outputs, [numpy_helper.from_array(weights, "weights")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
