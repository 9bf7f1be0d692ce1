"""Operators of the domain com.microsoft, which ONNX Runtime's quantizers and optimizers write."""

import numpy as np

from .case import numbers, one

f32, i64, u8, i8, i32 = np.float32, np.int64, np.uint8, np.int8, np.int32


def ms(name, op_type, inputs, **given):
    return one(name, op_type, inputs, domain="com.microsoft", **given)


def scale(value):
    return np.array(value, f32)


def cases():
    for part in (quantized, integers, fused, normalised, attention):
        yield from part()


def quantized():
    for kind in (u8, i8):
        name = np.dtype(kind).name
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        x, y = numbers("qa", 2, 3, 4, low=low, high=high, dtype=kind), numbers("qb", 3, 4, low=low, high=high, dtype=kind)
        zero = [np.array(low + 100, kind), np.array(low + 120, kind), np.array(low + 90, kind)]
        for op in ("QLinearAdd", "QLinearMul"):
            given = [x, scale(0.05), zero[0], y, scale(0.03), zero[1], scale(0.07), zero[2]]
            yield ms(f"{name}, constant", op, given)
            yield ms(f"{name}, given", op, given, fed=(0, 3))
        yield ms(f"{name}", "QLinearConcat", [scale(0.07), zero[2], x, scale(0.05), zero[0], x, scale(0.03), zero[1]], fed=(2, 5), axis=1)
        one_input = [x, scale(0.05), zero[0], scale(0.043), zero[1]]
        yield ms(f"{name}", "QLinearLeakyRelu", one_input, alpha=0.25)
        yield ms(f"{name}, default", "QLinearLeakyRelu", one_input)
        yield ms(f"{name}", "QLinearSigmoid", [x, scale(0.05), zero[0], scale(0.00390625), np.array(low, kind)])
        for axis in (-1, 1):
            for opset in (11, 13):
                given = [x, scale(0.05), zero[0], scale(0.00390625), np.array(low, kind)]
                yield softmax(f"{name}, axis {axis}, opset {opset}", given, axis, opset)
        pooled = numbers("qp", 1, 2, 4, 5, low=low, high=high, dtype=kind)
        given = [pooled, scale(0.05), zero[0], scale(0.043), zero[1]]
        shape = {"kernel_shape": [2, 2], "strides": [2, 2]}
        yield ms(f"{name}", "QLinearAveragePool", given, **shape)
        yield ms(f"{name}, pads", "QLinearAveragePool", given, pads=[1, 0, 1, 1], **shape)
        yield ms(f"{name}, counting the pads", "QLinearAveragePool", given, pads=[1, 0, 1, 1], count_include_pad=1, **shape)
        yield ms(f"{name}, ceil", "QLinearAveragePool", given, ceil_mode=1, **shape)
        yield ms(f"{name}", "QLinearGlobalAveragePool", given)
        yield ms(f"{name}, channels last", "QLinearGlobalAveragePool", given, channels_last=1)
        yield ms(f"{name}", "QLinearWhere", [numbers("cond", 3, 4, low=0, high=1, dtype=i64).astype(bool), x, scale(0.05), zero[0], y, scale(0.03), zero[1], scale(0.07), zero[2]], fed=(0, 1, 4))
        yield ms(f"{name}", "DequantizeLinear", [x, scale(0.05), zero[0]])
        yield ms(f"{name}", "QuantizeLinear", [numbers("f", 2, 3, low=-6, high=6), scale(0.05), zero[0]])
        for a in (0, 1):
            for b in (0, 1):
                rows, columns = numbers("ga", 3, 3, low=low, high=high, dtype=kind), numbers("gb", 3, 3, low=-128, high=127, dtype=i8)
                points = [rows, scale(0.05), zero[0], columns, scale(0.02), np.array(0, i8)]
                c = numbers("gc", 3, low=-900, high=900, dtype=i32)
                yield ms(f"{name}, {a}{b}, to float", "QGemm", [*points, c], transA=a, transB=b, alpha=0.5)
                yield ms(f"{name}, {a}{b}", "QGemm", [*points, c, scale(0.5), zero[2]], transA=a, transB=b)
        yield ms(f"{name}, columns, no bias", "QGemm", [*points[:4], numbers("gs", 3, low=0.02, high=0.1), np.zeros(3, i8), None, scale(0.5), zero[2]])


def softmax(name, given, axis, opset):
    made = one(name, "QLinearSoftmax", given, domain="com.microsoft", axis=axis)
    made.nodes[0]["attributes"]["opset"] = opset
    return made


def integers():
    x = numbers("mx", 2, 3, 4)
    for kind in (u8, i8):
        name = np.dtype(kind).name
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        w = numbers("mw", 4, 5, low=low, high=high, dtype=kind)
        zero, zeros = np.array(low + 130, kind), numbers("mz", 5, low=low + 120, high=low + 135, dtype=kind)
        scales, bias = numbers("ms", 5, low=0.02, high=0.25), numbers("mb", 5)
        yield ms(f"{name}", "DynamicQuantizeMatMul", [x, w, scale(0.02)])
        yield ms(f"{name}, zero point", "DynamicQuantizeMatMul", [x, w, scale(0.02), zero])
        yield ms(f"{name}, columns", "DynamicQuantizeMatMul", [x, w, scales, zeros, bias])
        yield ms(f"{name}, bias alone", "DynamicQuantizeMatMul", [x, w, scale(0.02), None, bias])
        q = numbers("mq", 2, 3, 4, low=0, high=255, dtype=u8)
        yield ms(f"{name}", "MatMulIntegerToFloat", [q, w, scale(0.05), scale(0.02)])
        yield ms(f"{name}, zero points", "MatMulIntegerToFloat", [q, w, scale(0.05), scale(0.02), np.array(90, u8), zero])
        yield ms(f"{name}, zero point of the weights", "MatMulIntegerToFloat", [q, w, scale(0.05), scale(0.02), None, zero])
        yield ms(f"{name}, columns", "MatMulIntegerToFloat", [q, w, scale(0.05), scales, np.array(90, u8), zeros, bias])
        yield ms(f"{name}, given scales", "MatMulIntegerToFloat", [q, w, scale(0.05), scales, np.array(90, u8), zeros, bias], fed=(0, 2, 4))
    time, batch, size, hidden = 3, 2, 4, 3
    for direction, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        for columns in (False, True):
            lstm_x = numbers("lx", time, batch, size)
            w, r = numbers("lw", directions, size, 4 * hidden, low=-127, high=127, dtype=i8), numbers("lr", directions, hidden, 4 * hidden, low=-127, high=127, dtype=i8)
            b = numbers("lb", directions, 8 * hidden, low=-0.5, high=0.5)
            scales = [numbers(f"l{key}", directions, 4 * hidden, low=0.01, high=0.02).clip(1 / 128) if columns else np.full(directions, 1 / 128, f32) for key in "wr"]
            zeros = [np.zeros(each.shape, i8) for each in scales]
            state = [numbers("lh", directions, batch, hidden, low=-1, high=1), numbers("lc", directions, batch, hidden, low=-1, high=1)]
            tail = [None, scales[0], zeros[0], scales[1], zeros[1]]
            name = f"{direction}, columns {columns}"
            shared = {"outputs": 3, "hidden_size": hidden, "direction": direction}
            yield ms(name, "DynamicQuantizeLSTM", [lstm_x, w, r, b, None, None, None, *tail], **shared)
            yield ms(f"{name}, a state", "DynamicQuantizeLSTM", [lstm_x, w, r, b, None, *state, *tail], **shared)
            yield ms(f"{name}, no bias", "DynamicQuantizeLSTM", [lstm_x, w, r, None, None, None, None, *tail], **shared)


def fused():
    x, w, b = numbers("cx", 1, 2, 5, 5), numbers("cw", 3, 2, 3, 3), numbers("cb", 3)
    for activation, parameters in {"Relu": None, "Tanh": None, "Sigmoid": None, "LeakyRelu": [0.25], "Clip": [-0.5, 0.75], "HardSigmoid": [0.25, 0.5]}.items():
        yield ms(activation, "FusedConv", [x, w, b], pads=[1, 1, 1, 1], strides=[2, 2], activation=activation, activation_params=parameters)
    yield ms("added", "FusedConv", [x, w, b, numbers("cz", 1, 3, 3, 3)], fed=(0, 3), activation="Relu")
    yield ms("no bias", "FusedConv", [x, w], activation="Relu")
    a, c = numbers("fa", 2, 3, 4), numbers("fb", 2, 4, 5)
    yield ms("plain", "FusedMatMul", [a, c], fed=(0, 1), alpha=0.5)
    yield ms("transA", "FusedMatMul", [a.swapaxes(1, 2), c], fed=(0, 1), transA=1)
    yield ms("transB", "FusedMatMul", [a, c.swapaxes(1, 2)], fed=(0, 1), transB=1, alpha=2.0)
    yield ms("both, rank 2", "FusedMatMul", [a[0].T, c[0].T], transA=1, transB=1)
    yield ms("transB of a shared matrix", "FusedMatMul", [a, c[0].T], transB=1)
    yield ms("rank 4", "FusedMatMul", [a[:, None], c[:, None].swapaxes(2, 3)], transB=1, fed=(0, 1))
    yield ms("transBatchA", "FusedMatMul", [a.transpose(1, 0, 2), c], fed=(0, 1), transBatchA=1)
    for activation, parameters in {"Relu": {}, "LeakyRelu": {"activation_alpha": 0.25}, "HardSigmoid": {"activation_alpha": 0.25, "activation_beta": 0.5}}.items():
        yield ms(activation, "FusedGemm", [a[0], c[0].T, numbers("gc", 5)], transB=1, alpha=0.5, beta=2.0, activation=activation, **parameters)
    flat = numbers("gelu", 2, 6, low=-4, high=4)
    yield ms("", "Gelu", [flat])
    yield ms("", "BiasGelu", [flat, numbers("gb", 6)])
    yield ms("", "FastGelu", [flat])
    yield ms("bias", "FastGelu", [flat, numbers("gb", 6)])
    yield ms("", "QuickGelu", [flat])
    yield ms("alpha", "QuickGelu", [flat], alpha=0.5)


def normalised():
    x, skip = numbers("nx", 2, 3, 4), numbers("nk", 2, 3, 4)
    gamma, beta, bias = numbers("ng", 4), numbers("nb", 4), numbers("ns", 4)
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        rest = [gamma, beta] if op == "SkipLayerNormalization" else [gamma]
        yield ms("plain", op, [x, skip, *rest], fed=(0, 1))
        yield ms("epsilon", op, [x, skip, *rest], fed=(0, 1), epsilon=0.5)
        yield ms("bias and sum", op, [x, skip, *rest, bias], fed=(0, 1), outputs=["y", "", "", "sum"])
    yield ms("no beta", "SkipLayerNormalization", [x, skip, gamma], fed=(0, 1))
    yield ms("no beta, a bias", "SkipLayerNormalization", [x, skip, gamma, None, bias], fed=(0, 1))
    yield ms("skip of one row", "SkipLayerNormalization", [x, skip[0], gamma, beta], fed=(0, 1))
    yield one("", "SimplifiedLayerNormalization", [x, gamma], axis=-1, epsilon=0.5)
    yield one("all outputs", "SimplifiedLayerNormalization", [x, gamma], axis=-1, outputs=2)
    ids, segments = numbers("ei", 2, 3, low=0, high=6, dtype=i32), numbers("es", 2, 3, low=0, high=1, dtype=i32)
    words, places, kinds = numbers("ew", 7, 4), numbers("ep", 5, 4), numbers("ek", 2, 4)
    mask = np.array([[1, 1, 0], [1, 0, 0]], i32)
    for opset in (11, 17):
        yield ms(f"all, opset {opset}", "EmbedLayerNormalization", [ids, segments, words, places, kinds, gamma, beta, mask], fed=(0, 1, 7), outputs=2, opset=opset)
    yield ms("no mask", "EmbedLayerNormalization", [ids, segments, words, places, kinds, gamma, beta], fed=(0, 1), outputs=2, epsilon=0.25)
    yield ms("no segments", "EmbedLayerNormalization", [ids, None, words, places, None, gamma, beta], outputs=2)
    yield ms("positions and sum", "EmbedLayerNormalization", [ids, segments, words, places, kinds, gamma, beta, mask, np.array([[4, 3, 2], [0, 1, 2]], i32)], fed=(0, 1, 7, 8), outputs=3)


def attention():
    x, w, b = numbers("ax", 2, 3, 4), numbers("aw", 4, 12), numbers("ab", 12)
    mask = np.array([[1, 1, 0], [1, 0, 0]], i32)
    yield ms("plain", "Attention", [x, w, b], num_heads=2)
    yield ms("mask", "Attention", [x, w, b, mask], num_heads=2, fed=(0, 3))
    yield ms("mask, filter value", "Attention", [x, w, b, mask], num_heads=2, fed=(0, 3), mask_filter_value=-1.0)
    yield ms("causal", "Attention", [x, w, b], num_heads=2, unidirectional=1)
    yield ms("causal, mask", "Attention", [x, w, b, mask], num_heads=2, unidirectional=1, fed=(0, 3))
    yield ms("scale", "Attention", [x, w, b], num_heads=2, scale=0.25)
    yield ms("lengths", "Attention", [x, w, b, np.array([2, 3], i32)], num_heads=2, fed=(0, 3))
    yield ms("of three dimensions", "Attention", [x, w, b, np.array([[[1, 1, 0]] * 3, [[1, 0, 0]] * 3], i32)], num_heads=2, fed=(0, 3))
    yield ms("bias of scores", "Attention", [x, w, b, None, None, numbers("as", 2, 2, 3, 3)], num_heads=2, fed=(0, 5))
    yield ms("widths", "Attention", [x, numbers("aw", 4, 14), numbers("ab", 14)], num_heads=2, qkv_hidden_sizes=[4, 4, 6])
    yield ms("past", "Attention", [x, w, b, None, numbers("pa", 2, 2, 2, 3, 2)], num_heads=2, outputs=2)
    for kind in (u8, i8):
        name = np.dtype(kind).name
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        q, qw = numbers("qx", 2, 3, 4, low=0, high=255, dtype=u8), numbers("qw", 4, 12, low=low, high=high, dtype=kind)
        points = [np.array(120, u8), np.array(low + 128, kind)]
        yield ms(f"{name}", "QAttention", [q, qw, b, scale(0.02), scale(0.01), None, *points], num_heads=2)
        yield ms(f"{name}, mask", "QAttention", [q, qw, b, scale(0.02), scale(0.01), mask, *points], num_heads=2, fed=(0, 5))
        yield ms(f"{name}, causal", "QAttention", [q, qw, b, scale(0.02), scale(0.01), None, *points], num_heads=2, unidirectional=1)
        yield ms(f"{name}, columns", "QAttention", [q, qw, b, scale(0.02), numbers("qs", 12, low=0.01, high=0.05), mask, points[0], np.full(12, points[1])], num_heads=2, fed=(0, 5))
    q, k, v = numbers("hq", 2, 3, 4), numbers("hk", 2, 5, 4), numbers("hv", 2, 5, 4)
    both = (0, 1, 2)
    multi = "MultiHeadAttention"
    yield ms("plain", multi, [q, k, v], num_heads=2, fed=both)
    yield ms("bias", multi, [q, k, v, numbers("hb", 12)], num_heads=2, fed=both)
    yield ms("scale", multi, [q, k, v], num_heads=2, fed=both, scale=0.25)
    yield ms("causal", multi, [q, k, v], num_heads=2, fed=both, unidirectional=1)
    long_mask = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 0, 1]], i32)
    yield ms("key padding", multi, [q, k, v, None, long_mask], num_heads=2, fed=(0, 1, 2, 4))
    yield ms("filter value", multi, [q, k, v, None, long_mask], num_heads=2, fed=(0, 1, 2, 4), mask_filter_value=-1.0)
    yield ms("bias of scores", multi, [q, k, v, None, None, numbers("hs", 2, 2, 3, 5)], num_heads=2, fed=(0, 1, 2, 5))
    yield ms("one row of scores", multi, [q, k, v, None, None, numbers("hs", 1, 1, 3, 5)], num_heads=2, fed=(0, 1, 2, 5))
    past = [numbers("hp", 2, 2, 2, 2), numbers("hr", 2, 2, 2, 2)]
    yield ms("past", multi, [q, q, q, None, None, None, *past], num_heads=2, fed=both, outputs=3)
    grouped = "GroupQueryAttention"
    gq, gk, gv = numbers("gq", 1, 3, 16), numbers("gk", 1, 3, 8), numbers("gv", 1, 3, 8)
    empty = np.zeros((1, 1, 0, 8), f32)
    lengths = [np.array([[2]], i32), np.array(3, i32)]
    for attributes in ({}, {"scale": 0.25}, {"softcap": 0.5}, {"local_window_size": 2}):
        yield ms(f"{attributes}", grouped, [gq, gk, gv, empty, empty, *lengths], num_heads=2, kv_num_heads=1, fed=both, outputs=3, **attributes)
    wide = [numbers("gc", 4, 8), numbers("gs", 4, 8)]
    large = [numbers("gq", 1, 3, 32), numbers("gk", 1, 3, 16), numbers("gv", 1, 3, 16), *[np.zeros((1, 1, 0, 16), f32)] * 2]
    cache = [numbers("gc", 4, 2), numbers("gs", 4, 2)]
    for interleaved in (0, 1):
        yield ms(f"rotated, interleaved {interleaved}", grouped, [*large, *lengths, *wide], num_heads=2, kv_num_heads=1, fed=both, outputs=3, do_rotary=1, rotary_interleaved=interleaved)
        positions = np.array([[0, 1, 3]], i64)
        yield ms(f"interleaved {interleaved}", "RotaryEmbedding", [numbers("rx", 1, 2, 3, 4), positions, *cache], interleaved=interleaved)
    yield ms("rows", "RotaryEmbedding", [numbers("rx", 1, 3, 8), positions, *cache], num_heads=2, rotary_embedding_dim=4)
    yield ms("offset", "RotaryEmbedding", [numbers("rx", 1, 2, 3, 4), np.array([1], i64), *cache])
    for bits in (4, 8):
        packed = numbers(f"nb{bits}", 3, 2, 16 * bits // 8, low=0, high=255, dtype=u8)
        scales = numbers("ns", 6, low=0.02, high=0.1)
        shared = {"K": 32, "N": 3, "bits": bits, "block_size": 16}
        yield ms(f"{bits} bits", "MatMulNBits", [numbers("nx", 2, 32), packed, scales], **shared)
        zeros = numbers("nz", 3 * 2 * bits // 8, low=0, high=255, dtype=u8)
        yield ms(f"{bits} bits, zero points", "MatMulNBits", [numbers("nx", 2, 32), packed, scales, zeros], **shared)
        yield ms(f"{bits} bits, bias", "MatMulNBits", [numbers("nx", 2, 32), packed, scales, None, None, numbers("nbias", 3)], **shared)
