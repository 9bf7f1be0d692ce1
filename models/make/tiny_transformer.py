"""`tiny_transformer.onnx`: two encoder layers with seeded random weights. Nobody trained it; its arithmetic is real."""

import numpy as np

from encoder import Encoder
from graph import GraphBuilder, info
from layers import exported

NAME = "tiny_transformer"
LAYERS, WIDTH, HEADS, INNER, LONGEST = 2, 64, 4, 192, 64


def build():
    """The model: float input [batch, sequence, 64] with up to 64 positions, output of the same shape."""
    rng = np.random.default_rng(3)
    g = GraphBuilder()
    encoder = Encoder(g, _weights(rng), WIDTH, HEADS)
    x = g.op("/embeddings", "Add", ["hidden_states", _positions(g, encoder, rng)])
    x = encoder.layer_norm("/embeddings/LayerNorm", x)
    for index in range(LAYERS):
        x = encoder.layer(index, x)
    g.nodes[-1].output[0] = "last_hidden_state"
    shape = ["batch", "sequence", WIDTH]
    return g.model(NAME, [info("hidden_states", shape)], [info("last_hidden_state", shape)])


def sample(batch, sequence):
    """A seeded input."""
    return np.random.default_rng(4).normal(size=(batch, sequence, WIDTH)).astype(np.float32)


def _positions(g, encoder, rng):
    """The first `sequence` rows of the position table, cut off at run time."""
    scope = "/embeddings/position_embeddings"
    table = g.weight("embeddings.position_embeddings.weight", exported(rng.normal(0.0, 0.3, (1, LONGEST, WIDTH))))
    start, axis = (g.constant(scope, np.array([value], np.int64)) for value in (0, 1))
    return g.op(scope, "Slice", [table, start, encoder.dimension(scope, "hidden_states", 1), axis])


def _weights(rng):
    """Weights under BERT's names, with the spread that keeps the activations near one."""
    weights = {}

    def norm(name):
        weights[f"{name}.weight"] = exported(rng.normal(1.0, 0.1, WIDTH))
        weights[f"{name}.bias"] = exported(rng.normal(0.0, 0.1, WIDTH))

    def linear(name, outputs, inputs):
        weights[f"{name}.weight"] = exported(rng.normal(0.0, inputs**-0.5, (outputs, inputs)))
        weights[f"{name}.bias"] = exported(rng.normal(0.0, 0.1, outputs))

    norm("embeddings.LayerNorm")
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", WIDTH, WIDTH)
        linear(f"{layer}.attention.output.dense", WIDTH, WIDTH)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", INNER, WIDTH)
        linear(f"{layer}.output.dense", WIDTH, INNER)
        norm(f"{layer}.output.LayerNorm")
    return weights
