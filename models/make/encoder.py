"""A BERT encoder in plain ONNX operators, as exporters write it: no fused attention, LayerNorm or Gelu."""

import numpy as np


class Encoder:
    """Adds encoder layers to a graph. `weights` has BERT's names, linear weights as [outputs, inputs]."""

    def __init__(self, graph, weights, width, heads, epsilon=1e-12):
        self.g, self.weights, self.width, self.heads, self.epsilon = graph, weights, width, heads, epsilon

    def layer(self, index, x, mask=None):
        """One layer: attention and two linears, each with a residual Add and a LayerNorm. x is [batch, seq, width]."""
        scope = f"/encoder/layer.{index}"
        context = self._attention(f"{scope}/attention/self", x, mask)
        x = self._residual(f"{scope}/attention/output", context, x)
        inner = self._gelu(f"{scope}/intermediate/intermediate_act_fn", self._linear(f"{scope}/intermediate/dense", x))
        return self._residual(f"{scope}/output", inner, x)

    def layer_norm(self, scope, x):
        """(x - mean) / sqrt(variance + epsilon) * scale + shift, over the last axis, in nine operators."""
        g = self.g
        centred = g.op(scope, "Sub", [x, g.op(scope, "ReduceMean", [x], axes=[-1])])
        squares = g.op(scope, "Pow", [centred, g.constant(scope, np.float32(2.0))])
        variance = g.op(scope, "ReduceMean", [squares], axes=[-1])
        shifted = g.op(scope, "Add", [variance, g.constant(scope, np.float32(self.epsilon))])
        normal = g.op(scope, "Div", [centred, g.op(scope, "Sqrt", [shifted])])
        scaled = g.op(scope, "Mul", [normal, self._weight(f"{scope}/weight")])
        return g.op(scope, "Add", [scaled, self._weight(f"{scope}/bias")])

    def dimension(self, scope, x, axis):
        """The length of an axis of `x` at run time, as a tensor [1]."""
        g = self.g
        length = g.op(scope, "Gather", [g.op(scope, "Shape", [x]), g.constant(scope, np.int64(axis))], axis=0)
        return g.op(scope, "Unsqueeze", [length, g.constant(scope, np.array([0], np.int64))])

    def _attention(self, scope, x, mask):
        g = self.g
        query, key, value = (
            self._split_heads(scope, self._linear(f"{scope}/{part}", x), order)
            for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        root = g.constant(scope, np.float32(np.sqrt(self.width // self.heads)))
        scores = g.op(scope, "Div", [g.op(scope, "MatMul", [query, key]), root])
        if mask is not None:
            scores = g.op(scope, "Add", [scores, mask])
        context = g.op(scope, "MatMul", [g.op(scope, "Softmax", [scores], axis=-1), value])
        merged = g.op(scope, "Transpose", [context], perm=[0, 2, 1, 3])
        return self._reshape(scope, merged, x, [self.width])

    def _split_heads(self, scope, x, order):
        heads = self._reshape(scope, x, x, [self.heads, self.width // self.heads])
        return self.g.op(scope, "Transpose", [heads], perm=order)

    def _reshape(self, scope, data, like, rest):
        """`data` as [batch, seq, *rest], where batch and seq are read from `like` at run time."""
        g = self.g
        lengths = [self.dimension(scope, like, axis) for axis in (0, 1)]
        rest = [g.constant(scope, np.array([length], np.int64)) for length in rest]
        return g.op(scope, "Reshape", [data, g.op(scope, "Concat", lengths + rest, axis=0)])

    def _residual(self, scope, x, residual):
        sum_ = self.g.op(scope, "Add", [self._linear(f"{scope}/dense", x), residual])
        return self.layer_norm(f"{scope}/LayerNorm", sum_)

    def _linear(self, scope, x):
        product = self.g.op(scope, "MatMul", [x, self._weight(f"{scope}/weight", transposed=True)])
        return self.g.op(scope, "Add", [self._weight(f"{scope}/bias"), product])

    def _gelu(self, scope, x):
        """x / 2 * (1 + erf(x / sqrt 2))"""
        g = self.g
        erf = g.op(scope, "Erf", [g.op(scope, "Div", [x, g.constant(scope, np.float32(np.sqrt(2.0)))])])
        gate = g.op(scope, "Add", [erf, g.constant(scope, np.float32(1.0))])
        return g.op(scope, "Mul", [g.op(scope, "Mul", [x, gate]), g.constant(scope, np.float32(0.5))])

    def _weight(self, path, transposed=False):
        name = path[1:].replace("/", ".")
        array = self.weights[name]
        return self.g.weight(name, np.ascontiguousarray(array.T) if transposed else array)
