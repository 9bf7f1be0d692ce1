"""Operators of ONNX's own domain, with every attribute that changes what they compute."""

import numpy as np

from .case import Case, node, numbers, one

f32, i64, u8, i8, i32 = np.float32, np.int64, np.uint8, np.int8, np.int32


def ints(*values):
    return np.array(values, i64)


def cases():
    for part in (moving, pooling, convolutions, resizing, reducing, normalising, elementwise, quantizing, picking, attention, others):
        yield from part()


def moving():
    for opset in (11, 17):
        yield one(f"all axes, opset {opset}", "Squeeze", [numbers("s", 1, 3, 1, 2)], opset)
        yield one(f"no axis of one, opset {opset}", "Squeeze", [numbers("s", 3, 2)], opset)
        yield one(f"to a scalar, opset {opset}", "Squeeze", [numbers("s", 1, 1)], opset)
    yield one("negative axes, opset 11", "Squeeze", [numbers("s", 1, 3, 1)], 11, axes=[-1])
    yield one("empty axes", "Squeeze", [numbers("s", 1, 3, 1), ints()])
    x = numbers("t", 2, 3, 4)
    yield one("without axes", "Transpose", [x])
    for axis in (0, 1, 3, -1):
        yield one(f"axis {axis}", "Flatten", [x], axis=axis)
    yield one("allowzero", "Reshape", [numbers("z", 0, 3), ints(3, 0)], allowzero=1)
    yield one("a zero that copies", "Reshape", [x, ints(0, 2, -1)])
    for mode in ("constant", "edge", "reflect"):
        yield one(mode, "Pad", [x, ints(1, 0, 2, 0, 1, 1)], mode=mode)
        yield one(f"{mode}, negative", "Pad", [x, ints(0, -1, 0, 0, 0, -1)], mode=mode)
    yield one("wrap", "Pad", [x, ints(1, 0, 2, 0, 1, 1)], 19, mode="wrap")
    yield one("axes", "Pad", [x, ints(1, 2), np.array(3, f32), ints(-1)], 18)
    yield one("opset 2", "Pad", [x], 10, pads=[0, 1, 0, 1, 0, 0], value=2.5)
    for mode in ("DCR", "CRD"):
        yield one(mode, "DepthToSpace", [numbers("d", 1, 8, 2, 3)], blocksize=2, mode=mode)
    yield one("", "SpaceToDepth", [numbers("d", 1, 2, 4, 6)], blocksize=2)
    yield one("default axis", "Split", [numbers("p", 4, 2)], 13, outputs=2)
    yield one("sizes as attribute", "Split", [numbers("p", 4, 2)], 11, outputs=2, split=[1, 3])
    yield one("num_outputs uneven", "Split", [numbers("p", 5, 2)], 18, outputs=2, num_outputs=2)
    for upper in (0, 1):
        for k in (-1, 0, 2):
            yield one(f"upper {upper}, {k}", "Trilu", [numbers("l", 2, 4, 3), np.array(k, i64)], upper=upper)
    yield one("k, other type", "EyeLike", [numbers("e", 3, 4)], k=1, dtype=7)
    yield one("negative steps", "Slice", [x, ints(-1, 3), ints(-5, 0), ints(0, -1), ints(-1, -2)])
    yield one("attributes", "Slice", [x], 9, starts=[1, -2], ends=[2, 100], axes=[1, 2])
    yield one("repeated", "Tile", [x, ints(1, 2, 2)])
    yield one("two ways", "Expand", [numbers("x", 3, 1), ints(2, 1, 4)])
    yield one("negative axis", "Concat", [x, x], axis=-1)
    yield one("new_axis by attribute", "Unsqueeze", [x], 11, axes=[0, 4])
    yield one("negative", "Unsqueeze", [x, ints(-1, 0)])


def pooling():
    x = numbers("pool", 1, 2, 7, 6)
    shapes = {"kernel_shape": [3, 2], "strides": [2, 3]}
    for op in ("AveragePool", "MaxPool", "LpPool"):
        opset = 19 if op == "AveragePool" else 18
        for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            yield one(pad, op, [x], opset, auto_pad=pad, kernel_shape=[3, 2], strides=[2, 1])
        for ceil in (0, 1):
            yield one(f"pads, ceil {ceil}", op, [x], opset, pads=[1, 0, 1, 1], ceil_mode=ceil, **shapes)
            yield one(f"dilations, ceil {ceil}", op, [x], opset, dilations=[2, 2], ceil_mode=ceil, **shapes)
            yield one(f"large strides, ceil {ceil}", op, [x], opset, kernel_shape=[2, 2], strides=[3, 4], pads=[0, 1, 0, 1], ceil_mode=ceil)
        yield one("one dimension", op, [x[:, :, 0]], opset, kernel_shape=[3], strides=[2])
        yield one("three dimensions", op, [x.reshape(1, 2, 7, 3, 2)], opset, kernel_shape=[3, 2, 2])
    for ceil in (0, 1):
        for dilation in (1, 2):
            yield one(
                f"counting the pads, ceil {ceil}, dilation {dilation}",
                "AveragePool",
                [x],
                19,
                pads=[1, 1, 1, 1],
                ceil_mode=ceil,
                count_include_pad=1,
                dilations=[dilation] * 2,
                **shapes,
            )
    yield one("counting the pads, SAME_UPPER", "AveragePool", [x], 19, auto_pad="SAME_UPPER", count_include_pad=1, **shapes)
    yield one("indices", "MaxPool", [x], outputs=2, **shapes)
    yield one("indices, column first", "MaxPool", [x], outputs=2, storage_order=1, **shapes)
    yield one("indices, pads", "MaxPool", [x], outputs=2, pads=[1, 1, 1, 1], **shapes)
    yield one("indices, pads, ceil", "MaxPool", [x], outputs=2, pads=[1, 1, 1, 1], ceil_mode=1, **shapes)
    yield one("bytes", "MaxPool", [numbers("b", 1, 1, 4, 4, low=0, high=255, dtype=u8)], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
    yield one("signed bytes", "MaxPool", [numbers("b", 1, 1, 4, 4, low=-128, high=-1, dtype=i8)], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
    yield one("p 1", "LpPool", [x], 18, p=1, **shapes)
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield one("", op, [x])
    yield one("p 3", "GlobalLpPool", [x], p=3)


def convolutions():
    x, w = numbers("cx", 1, 4, 7, 6), numbers("cw", 6, 2, 3, 2)
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
        for strides in ([1, 1], [2, 3]):
            yield one(f"{pad} {strides}", "Conv", [x, w], auto_pad=pad, group=2, strides=strides)
            if pad != "NOTSET":
                yield one(f"{pad} {strides}", "ConvTranspose", [x, numbers("tw", 4, 2, 3, 2)], auto_pad=pad, group=2, strides=strides)
    yield one("dilations", "Conv", [x, w, numbers("b", 6)], group=2, dilations=[2, 2], pads=[1, 2, 0, 1])
    yield one("depthwise", "Conv", [x, numbers("dw", 4, 1, 3, 3), numbers("b", 4)], group=4, pads=[1, 1, 1, 1], strides=[2, 2])
    yield one("depthwise times two", "Conv", [x, numbers("dw", 8, 1, 3, 3)], group=4)
    yield one("weights given", "Conv", [x, w], group=2, fed=(0, 1))
    yield one("weights and bias given", "Conv", [x, w, numbers("b", 6)], group=2, fed=(0, 1, 2))
    yield one("one dimension", "Conv", [x[:, :, 0], w[:, :, 0]], group=2)
    yield one("three dimensions", "Conv", [x.reshape(1, 4, 7, 3, 2), w.reshape(6, 2, 3, 2, 1)], group=2)
    tw = numbers("tw", 4, 2, 3, 2)
    for name, attributes in {
        "plain": {},
        "groups": {"group": 2},
        "strides": {"strides": [2, 3]},
        "dilations": {"dilations": [2, 2]},
        "pads": {"pads": [1, 0, 1, 1], "strides": [2, 2]},
        "output_padding": {"output_padding": [1, 0], "strides": [2, 2]},
        "output_padding and pads": {"output_padding": [1, 1], "strides": [2, 2], "pads": [1, 1, 0, 1], "group": 2},
        "output_shape": {"output_shape": [15, 13], "strides": [2, 2]},
        "output_shape, SAME_LOWER": {"output_shape": [14, 13], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
        "output_shape, SAME_UPPER": {"output_shape": [14, 13], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    }.items():
        yield one(name, "ConvTranspose", [x, tw, numbers("b", 2 * attributes.get("group", 1))], **attributes)
    yield one("weights given", "ConvTranspose", [x, tw], fed=(0, 1), strides=[2, 2])
    yield one("one dimension", "ConvTranspose", [x[:, :, 0], tw[:, :, 0]], strides=[2])
    for form in ("zero points", "no zero points"):
        qx, qw = numbers("qx", 1, 2, 4, 4, low=0, high=255, dtype=u8), numbers("qw", 3, 2, 2, 2, low=0, high=255, dtype=u8)
        points = [np.array(100, u8), np.array(120, u8)] if form == "zero points" else []
        yield one(form, "ConvInteger", [qx, qw, *points])
        yield one(f"{form}, pads", "ConvInteger", [qx, qw, *points], pads=[1, 1, 1, 1], strides=[2, 2])
        yield one(f"{form}, auto_pad", "ConvInteger", [qx, qw, *points], auto_pad="SAME_UPPER")
    signed = numbers("qw", 3, 2, 2, 2, low=-128, high=127, dtype=i8)
    yield one("signed weights", "ConvInteger", [qx, signed, np.array(100, u8), np.array(0, i8)])
    for kind, kw, zero in (("u8", qw, np.array(120, u8)), ("i8", signed, np.array(0, i8))):
        for channels in (False, True):
            scale = np.array([0.02, 0.03, 0.01], f32) if channels else np.array(0.02, f32)
            zeros = np.full(3, zero) if channels else zero
            for bias in (False, True):
                given = [qx, np.array(0.05, f32), np.array(100, u8), kw, scale, zeros, np.array(0.1, f32), np.array(128, u8)]
                given += [numbers("qb", 3, low=-500, high=500, dtype=i32)] if bias else []
                yield one(f"{kind}, channels {channels}, bias {bias}", "QLinearConv", given, pads=[1, 0, 1, 0], strides=[1, 2])
    yield one(
        "computed scales",
        "QLinearConv",
        [qx, np.array(0.05, f32), np.array(100, u8), signed, np.array(0.02, f32), np.array(0, i8), np.array(0.1, f32), np.array(128, u8)],
        fed=(0, 1, 2, 6, 7),
    )
    mx, mw = numbers("qx", 3, 4, low=0, high=255, dtype=u8), numbers("mw", 4, 5, low=-128, high=127, dtype=i8)
    yield one("plain", "MatMulInteger", [mx, mw])
    yield one("zero points", "MatMulInteger", [mx, mw, np.array(90, u8), np.array(3, i8)])
    yield one("per row and column", "MatMulInteger", [mx, mw, np.array(90, u8), numbers("mz", 5, low=-5, high=5, dtype=i8)])
    yield one("batched", "MatMulInteger", [np.stack([mx, mx[::-1]]), mw, np.array(90, u8)])
    parts = [np.array(0.05, f32), np.array(90, u8)]
    for name, scale, zero in (("one", np.array(0.02, f32), np.array(3, i8)), ("columns", numbers("ms", 5, low=0.01, high=0.5), numbers("mz", 5, low=-5, high=5, dtype=i8))):
        yield one(name, "QLinearMatMul", [mx, *parts, mw, scale, zero, np.array(0.25, f32), np.array(128, u8)])
    yield one("saturating", "QLinearMatMul", [mx, *parts, mw, np.array(0.02, f32), np.array(3, i8), np.array(0.01, f32), np.array(128, u8)])
    for a in (0, 1):
        for b in (0, 1):
            yield one(f"transA {a}, transB {b}", "Gemm", [numbers("ga", 3, 3), numbers("gb", 3, 3), numbers("gc", 3)], transA=a, transB=b, alpha=0.5, beta=2.0)
    yield one("beta 0", "Gemm", [numbers("ga", 3, 3), numbers("gb", 3, 3), numbers("gc", 3, 1)], beta=0.0)
    yield one("column", "Gemm", [numbers("ga", 3, 3), numbers("gb", 3, 3), numbers("gc", 3, 1)])
    yield one("given", "Gemm", [numbers("ga", 3, 3), numbers("gb", 3, 3), numbers("gc", 3)], fed=(0, 1, 2), alpha=0.5)


def resizing():
    x = numbers("r", 1, 2, 4, 5)
    up, down, none = np.array([1, 1, 2.5, 2], f32), np.array([1, 1, 0.6, 0.5], f32), np.array([], f32)
    for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"):
        for mode in ("nearest", "linear", "cubic"):
            for name, scales in (("up", up), ("down", down)):
                yield one(f"{mode}, {coordinates}, {name}", "Resize", [x, None, scales], 19, coordinate_transformation_mode=coordinates, mode=mode)
            yield one(f"{mode}, {coordinates}, sizes", "Resize", [x, None, None, ints(1, 2, 7, 3)], 19, coordinate_transformation_mode=coordinates, mode=mode)
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        for coordinates in ("half_pixel", "asymmetric"):
            yield one(f"{nearest}, {coordinates}", "Resize", [x, None, up], 19, nearest_mode=nearest, mode="nearest", coordinate_transformation_mode=coordinates)
    yield one("cubic, exclude_outside", "Resize", [x, None, up], 19, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
    for mode in ("linear", "cubic"):
        yield one(f"antialias, {mode}", "Resize", [x, None, down], 19, mode=mode, antialias=1)
    yield one("axes", "Resize", [x, None, np.array([2, 0.5], f32)], 19, mode="linear", axes=[3, 2])
    for policy in ("not_larger", "not_smaller"):
        yield one(policy, "Resize", [x, None, None, ints(7, 6)], 19, mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)
    roi = np.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 1.2], f32)
    for mode in ("nearest", "linear"):
        yield one(f"crop, {mode}", "Resize", [x, roi, None, ints(1, 2, 3, 4)], 19, mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
    yield one("opset 10, nearest", "Resize", [x, up], 10, mode="nearest")
    yield one("opset 10, nearest, down", "Resize", [x, down], 10, mode="nearest")
    yield one("opset 10, linear", "Resize", [x, up], 10, mode="linear")
    yield one("opset 11, nearest", "Resize", [x, none, up], 11, mode="nearest")
    yield one("opset 11, sizes", "Resize", [x, none, none, ints(1, 2, 7, 3)], 11, mode="linear")
    yield one("opset 11, tf_half_pixel_for_nn", "Resize", [x, none, up], 11, mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn")
    yield one("nearest", "Upsample", [x, np.array([1, 1, 2, 3], f32)], 9, mode="nearest")
    yield one("linear", "Upsample", [x, np.array([1, 1, 2, 3], f32)], 9, mode="linear")
    yield one("opset 7", "Upsample", [x], 7, mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])
    grid = numbers("grid", 1, 3, 4, 2, low=-1.25, high=1.25)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                yield one(f"{mode}, {padding}, corners {corners}", "GridSample", [x, grid], 16, fed=(0, 1), mode=mode, padding_mode=padding, align_corners=corners)
    yield one("linear", "GridSample", [x, grid], 20, mode="linear")
    yield one("volume", "GridSample", [numbers("v", 1, 2, 3, 3, 3), numbers("vg", 1, 2, 2, 2, 3, low=-1.25, high=1.25)], 20, mode="linear")
    rois, batch = np.array([[0, 0, 3, 3], [1, 0.5, 2.5, 4]], f32), ints(0, 0)
    for mode in ("avg", "max"):
        yield one(mode, "RoiAlign", [x, rois, batch], 16, mode=mode, output_height=2, output_width=2, sampling_ratio=2, spatial_scale=0.5)


def reducing():
    x = numbers("reduce", 2, 3, 4)
    positive = np.abs(x) + f32(0.25)
    for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        given = positive if op == "ReduceLogSum" else x
        yield one("all, opset 11", op, [given], 11)
        yield one("axes, opset 11", op, [given], 11, axes=[-1, 0], keepdims=0)
        yield one("axes, opset 18", op, [given, ints(-1, 0)], 18, keepdims=0)
        yield one("all, opset 18", op, [given], 18)
        yield one("no axes, noop", op, [given, ints()], 18, noop_with_empty_axes=1)
        yield one("no axes, all", op, [given, ints()], 18)
        yield one("noop without axes", op, [given], 18, noop_with_empty_axes=1)
    whole = numbers("whole", 2, 3, low=-5, high=5, dtype=i32)
    for op in ("ReduceMax", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"):
        yield one("integers", op, [whole], 13)
    ties = np.array([[1, 3, 3, 0], [2, 2, 0, 2]], f32)
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            yield one(f"last {last}", op, [ties], axis=1, select_last_index=last, keepdims=0)
        yield one("negative axis", op, [x], axis=-2)
        yield one("default axis", op, [x])
    for exclusive in (0, 1):
        for reverse in (0, 1):
            yield one(f"exclusive {exclusive}, reverse {reverse}", "CumSum", [x, np.array(-1, i64)], exclusive=exclusive, reverse=reverse)
    yield one("integers", "CumSum", [whole, np.array(0, i32)])
    for largest in (0, 1):
        yield one(f"largest {largest}", "TopK", [numbers("top", 2, 5), ints(2)], outputs=2, axis=-1, largest=largest)
        yield one(f"largest {largest}, equal ones", "TopK", [ties, ints(3)], outputs=2, largest=largest)
    yield one("axis 0", "TopK", [x, ints(1)], outputs=2, axis=0)
    yield one("opset 9", "TopK", [x], 9, outputs=2, k=2)
    yield one("integers", "TopK", [numbers("tk", 2, 6, low=-9, high=9, dtype=i64), ints(3)], outputs=2)
    yield one("k given", "TopK", [ties, ints(3)], outputs=2, fed=(0, 1))


def normalising():
    x = numbers("norm", 2, 3, 4)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset in (11, 13):
            for axis in (None, 0, 1, -1):
                yield one(f"opset {opset}, axis {axis}", op, [x], opset, axis=axis)
    scale, bias = numbers("ns", 3), numbers("nb", 3)
    mean, variance = numbers("nm", 3), np.abs(numbers("nv", 3)) + f32(0.5)
    yield one("epsilon", "BatchNormalization", [x, scale, bias, mean, variance], 15, epsilon=0.5)
    yield one("training", "BatchNormalization", [x, scale, bias, mean, variance], 15, outputs=3, training_mode=1, momentum=0.75)
    yield one("rank 2", "BatchNormalization", [x[:, :, 0], scale, bias, mean, variance], 15)
    yield one("opset 8", "BatchNormalization", [x, scale, bias, mean, variance], 8)
    yield one("epsilon", "InstanceNormalization", [x, scale, bias], epsilon=0.25)
    yield one("opset 18", "GroupNormalization", [numbers("gn", 2, 4, 3), numbers("gs", 2), numbers("gb", 2)], 18, num_groups=2, epsilon=0.25)
    yield one("opset 21", "GroupNormalization", [numbers("gn", 2, 4, 3), numbers("gs", 4), numbers("gb", 4)], 21, num_groups=2)
    yield one("axis 1", "LayerNormalization", [x, numbers("ls", 3, 4), numbers("lb", 3, 4)], axis=1, epsilon=0.5)
    yield one("all outputs", "LayerNormalization", [x, numbers("ls", 4), numbers("lb", 4)], outputs=3)
    yield one("no bias", "LayerNormalization", [x, numbers("ls", 4)])
    yield one("axis 1", "RMSNormalization", [x, numbers("ls", 3, 4)], 23, axis=1, epsilon=0.5)
    yield one("axes", "MeanVarianceNormalization", [numbers("mv", 2, 3, 2, 2)], axes=[0, 2])
    yield one("default axes", "MeanVarianceNormalization", [numbers("mv", 2, 3, 2, 2)])
    for p in (1, 2):
        for axis in (-1, 1):
            yield one(f"p {p}, axis {axis}", "LpNormalization", [x], p=p, axis=axis)
    wide = numbers("lrn", 1, 7, 2, 2)
    for size in (3, 5):
        yield one(f"size {size}", "LRN", [wide], size=size, alpha=0.5, beta=0.5, bias=2.0)
    yield one("defaults", "LRN", [wide], size=3)


def elementwise():
    x = np.concatenate([numbers("ew", 10), np.array([0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 3, -3, 6, -6], f32)]).astype(f32)
    unary = "Abs Ceil Cos Cosh Sin Sinh Exp Erf Floor Neg Reciprocal Relu Round Sigmoid Sign Softplus Softsign Tan Tanh Atan Asinh HardSwish Mish".split()
    for op in unary:
        given = x[x != 0] if op == "Reciprocal" else x
        yield one("", op, [given], 18)
    for op in ("Acos", "Asin", "Atanh"):
        yield one("", op, [np.clip(x, -0.75, 0.75)])
    yield one("", "Acosh", [np.abs(x) + f32(1)])
    for op in ("Sqrt", "Log"):
        yield one("", op, [np.abs(x) + f32(0.25)])
    for op, attributes in {
        "Celu": {"alpha": 0.5},
        "Elu": {"alpha": 0.5},
        "HardSigmoid": {"alpha": 0.25, "beta": 0.75},
        "LeakyRelu": {"alpha": 0.25},
        "Selu": {"alpha": 1.5, "gamma": 2.0},
        "Shrink": {"bias": 0.25, "lambd": 0.75},
        "ThresholdedRelu": {"alpha": 0.75},
    }.items():
        yield one("defaults", op, [x])
        yield one("attributes", op, [x], **attributes)
    for approximate in ("none", "tanh"):
        yield one(approximate, "Gelu", [x], 20, approximate=approximate)
    yield one("both bounds", "Clip", [x, np.array(-0.5, f32), np.array(1, f32)])
    yield one("lower bound", "Clip", [x, np.array(-0.5, f32)])
    yield one("upper bound", "Clip", [x, None, np.array(0.5, f32)])
    yield one("attributes", "Clip", [x], 6, min=-0.5, max=0.75)
    yield one("given bounds", "Clip", [x, np.array(-0.5, f32), np.array(1, f32)], fed=(0, 1, 2))
    yield one("integers", "Clip", [numbers("ci", 6, low=-9, high=9, dtype=i64), np.array(-3, i64), np.array(4, i64)])
    whole, divisor = numbers("mod", 12, low=-9, high=9, dtype=i64), np.array([3, -3, 4, -4, 5, -5, 2, -2, 7, -7, 1, -1], i64)
    yield one("integers", "Mod", [whole, divisor], fed=(0, 1))
    yield one("integers, fmod", "Mod", [whole, divisor], fmod=1)
    yield one("floats", "Mod", [x[:12], divisor.astype(f32) / f32(4)], fmod=1)
    yield one("integers", "Div", [whole, divisor], fed=(0, 1))
    yield one("constant divisor", "Div", [whole, np.array(4, i64)])
    yield one("constant divisor", "Mod", [whole, np.array(4, i64)])
    yield one("constant negative divisor", "Mod", [whole, np.array(-4, i64)])
    yield one("unsigned", "Sub", [np.array([1, 2, 3], u8), np.array([2, 1, 3], u8)])
    yield one("overflow", "Add", [np.array([100, 127], i8), np.array([100, 1], i8)])
    yield one("integers", "Pow", [np.array([2, -3, 4], i64), np.array([3, 3, 0], i64)])
    yield one("mixed", "Pow", [np.array([2, 3, 4], f32), np.array([3, -1, 0], i64)])
    yield one("integer base", "Pow", [np.array([2, 3, 4], i32), np.array([2, 0.5, 2], f32)])
    yield one("negative base", "Pow", [np.array([-2, -3, 4], f32), np.array([3, 2, 0.5], f32)])
    yield one("per channel", "PRelu", [numbers("pr", 2, 3, 2), numbers("slope", 3, 1)])
    yield one("three", "Max", [x, -x, x * f32(0.5)])
    yield one("three", "Min", [x, -x, x * f32(0.5)])
    yield one("three", "Mean", [x, -x, x * f32(0.5)])
    yield one("three", "Sum", [x, -x, x * f32(0.5)])
    yield one("integers", "Max", [whole, divisor])
    for op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"):
        yield one("", op, [whole, divisor])
    special = np.array([np.inf, -np.inf, np.nan, 1, 0], f32)
    for positive in (0, 1):
        for negative in (0, 1):
            yield one(f"positive {positive}, negative {negative}", "IsInf", [special], detect_positive=positive, detect_negative=negative)
    yield one("", "IsNaN", [special])
    edges = np.array([1.5, -1.5, 2.5, -2.5, 300, -300, 127.9, 0.999], f32)
    for kind, name in ((3, "int8"), (2, "uint8"), (6, "int32"), (7, "int64"), (9, "bool"), (11, "double"), (10, "float16")):
        given = edges[np.abs(edges) < 128] if kind in (2, 3) else edges
        yield one(f"to {name}", "Cast", [np.abs(given) if kind == 2 else given], to=kind)
    yield one("int64 to uint8", "Cast", [ints(-1, 256, 255, 3)], to=2)
    yield one("int64 to int32", "Cast", [ints(-1, 2**31, 2**32 + 5, 3)], to=6)
    yield one("", "CastLike", [edges, np.array([1], i32)])
    for mode in ("LEFT", "RIGHT"):
        yield one(mode, "BitShift", [np.array([1, 128, 255], u8), np.array([1, 7, 4], u8)], direction=mode)
    yield one("alpha", "Swish", [x], 24, expected=[(x / (1 + np.exp(-f32(0.5) * x))).astype(f32)], alpha=0.5)


def quantizing():
    x = numbers("quant", 2, 3, 4, low=-4, high=4)
    x[0, 0] = [100, -100, 0.125, -0.125]
    for kind in (u8, i8):
        name = np.dtype(kind).name
        zero = np.array(3, kind)
        yield one(f"one scale, {name}", "QuantizeLinear", [x, np.array(0.05, f32), zero])
        yield one(f"ties, {name}", "QuantizeLinear", [np.array([0.5, 1.5, 2.5, -0.5], f32), np.array(1, f32), zero])
        for axis in (0, 1, 2, -1):
            length = x.shape[axis]
            scales, zeros = numbers("qs", length, low=0.02, high=0.5) + f32(1 / 64), numbers("qz", length, low=0, high=9, dtype=kind)
            yield one(f"axis {axis}, {name}", "QuantizeLinear", [x, scales, zeros], axis=axis)
            q = numbers("q", 2, 3, 4, low=0, high=127, dtype=kind)
            yield one(f"axis {axis}, {name}", "DequantizeLinear", [q, scales, zeros], axis=axis)
        yield one(f"default axis, {name}", "DequantizeLinear", [q, numbers("ds", 3, low=0.1, high=0.5), np.zeros(3, kind)])
        yield one(f"one scale, {name}", "DequantizeLinear", [q, np.array(0.05, f32), zero])
        yield one(f"computed scale, {name}", "DequantizeLinear", [q, np.array(0.05, f32), zero], fed=(0, 1, 2))
        yield one(f"computed scale, {name}", "QuantizeLinear", [x, np.array(0.05, f32), zero], fed=(0, 1, 2))
        yield one(f"computed scales, {name}", "DequantizeLinear", [q, numbers("ds", 3, low=0.1, high=0.5), np.zeros(3, kind)], fed=(0, 1, 2))
    yield one("no zero point", "QuantizeLinear", [x, np.array(0.05, f32)])
    yield one("no zero point", "DequantizeLinear", [q, np.array(0.05, f32)])
    yield one("no zero points", "DequantizeLinear", [q, numbers("ds", 3, low=0.1, high=0.5)])
    yield one("int32", "DequantizeLinear", [numbers("q32", 2, 3, low=-5000, high=5000, dtype=i32), np.array(0.05, f32)])
    yield one("int32, axis 0", "DequantizeLinear", [numbers("q32", 2, 3, low=-5000, high=5000, dtype=i32), numbers("ds", 2, low=0.1, high=0.5)], axis=0)
    yield one("blocks", "DequantizeLinear", [numbers("q", 2, 4, low=0, high=127, dtype=u8), numbers("ds", 2, 2, low=0.1, high=0.5)], 21, axis=1, block_size=2)
    yield one("blocks", "QuantizeLinear", [numbers("bx", 2, 4), numbers("ds", 2, 2, low=0.1, high=0.5), np.zeros((2, 2), u8)], 21, axis=1, block_size=2)
    for kind in (np.uint16, np.int16):
        name = np.dtype(kind).name
        yield one(f"{name}", "QuantizeLinear", [x, np.array(0.005, f32), np.array(300, kind)], 21)
        yield one(f"{name}", "DequantizeLinear", [numbers("q16", 2, 3, low=0, high=30000, dtype=kind), np.array(0.005, f32), np.array(300, kind)], 21)
    yield one("output_dtype", "QuantizeLinear", [x, np.array(0.05, f32)], 21, output_dtype=3)
    yield one("", "DynamicQuantizeLinear", [x], outputs=3)
    yield one("all positive", "DynamicQuantizeLinear", [np.abs(x) + f32(1)], outputs=3)
    yield one("zeros", "DynamicQuantizeLinear", [np.zeros((2, 2), f32)], outputs=3)
    yield one("ties", "DynamicQuantizeLinear", [np.array([0, 255, 0.5, 1.5, 2.5, 3.5], f32)], outputs=3)


def picking():
    x = numbers("pick", 3, 4)
    yield one("negative indices", "Gather", [x, np.array([[-1, 0], [2, -3]], i64)], axis=0)
    yield one("negative axis", "Gather", [x, ints(1, -1)], axis=-1)
    yield one("given negative indices", "Gather", [x, ints(1, -1)], axis=1, fed=(0, 1))
    yield one("a scalar", "Gather", [x, np.array(-1, i64)], axis=1)
    yield one("negative indices", "GatherElements", [x, np.array([[-1, 0, 1, -2]], i64)], axis=0)
    yield one("negative indices", "GatherND", [x, np.array([[-1, -2], [0, 3]], i64)])
    yield one("batch_dims", "GatherND", [numbers("gnd", 2, 3, 4), np.array([[1], [-1]], i64)], batch_dims=1)
    indices, updates = np.array([[1, 0, -1, 2]], i64), numbers("u", 1, 4)
    for reduction in (None, "add", "mul", "max", "min"):
        yield one(f"reduction {reduction}", "ScatterElements", [x, indices, updates], 18, axis=0, reduction=reduction)
        yield one(f"reduction {reduction}", "ScatterND", [x, np.array([[0], [-1], [0]], i64) if reduction else np.array([[0], [-1]], i64), numbers("u", 3 if reduction else 2, 4)], 18, reduction=reduction)
    yield one("twice the same, add", "ScatterElements", [x, np.array([[1, 1, 1, 1], [1, 1, 1, 1]], i64), numbers("u", 2, 4)], 18, axis=0, reduction="add")
    yield one("", "Scatter", [x, indices, updates], 10, axis=0)
    yield one("axis", "Compress", [x, np.array([True, False, True])], axis=0)
    yield one("flat", "Compress", [x, np.array([True, False, True, False, True])])
    for axis in (-1, 0, 1):
        yield one(f"axis {axis}", "OneHot", [ints(1, -1, 0, 7), np.array(4, i64), np.array([0, 1], f32)], axis=axis)
    yield one("values", "OneHot", [ints(1, -1, 0), np.array(3, i64), np.array([2, 5], f32)])
    yield one("", "NonZero", [np.array([[1, 0], [0, 3]], f32)])
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], f32)
    scores = np.array([[[0.9, 0.75, 0.6]]], f32)
    for center in (0, 1):
        yield one(f"center {center}", "NonMaxSuppression", [boxes, scores, ints(3), np.array([0.5], f32), np.array([0.1], f32)], center_point_box=center, fed=(0, 1))
    yield one("no limits", "NonMaxSuppression", [boxes, scores], fed=(0, 1))
    yield one("no thresholds", "NonMaxSuppression", [boxes, scores, ints(3)], fed=(0, 1))
    yield one("broadcast", "Where", [np.array([[True], [False], [True]]), x, numbers("w", 4)], fed=(0, 1))
    yield one("attributes", "Shape", [numbers("sh", 2, 3, 4)], 15, start=1, end=-1)
    yield one("diagonal", "Einsum", [numbers("ei", 3, 3)], equation="ii->i")
    yield one("ellipsis", "Einsum", [numbers("ea", 2, 3, 4), numbers("eb", 2, 4, 5)], equation="...ij,...jk->...ik")
    yield one("implicit", "Einsum", [numbers("ea", 3, 4), numbers("eb", 4, 5)], equation="ij,jk")
    yield one("sum", "Einsum", [numbers("ea", 3, 4)], equation="ij->")
    yield one("integers", "Range", [np.array(10, i64), np.array(-3, i64), np.array(-4, i64)])
    yield one("floats", "Range", [np.array(0, f32), np.array(1, f32), np.array(0.25, f32)])
    yield one("sorted", "Unique", [np.array([3, 1, 2, 1, 3], f32)], outputs=4)
    yield one("", "ReverseSequence", [x, ints(1, 2, 3, 3)], batch_axis=1, time_axis=0)
    yield one("batch first, given lengths", "ReverseSequence", [numbers("rs", 2, 4, 3), ints(1, 3)], fed=(0, 1), batch_axis=0, time_axis=1)
    yield one("integers", "ReverseSequence", [numbers("ri", 4, 2, low=0, high=9, dtype=i64), ints(2, 4)])
    yield one("", "Det", [numbers("det", 2, 3, 3)])


def attention():
    q, k, v = numbers("aq", 1, 2, 3, 4), numbers("ak", 1, 2, 5, 4), numbers("av", 1, 2, 5, 4)
    mask = np.array([[True, False, True, True, True]] * 3)
    rows = {"q": numbers("aq", 1, 3, 8), "k": numbers("ak", 1, 5, 8), "v": numbers("av", 1, 5, 8)}
    both = (0, 1, 2)
    yield one("plain", "Attention", [q, k, v], 23, fed=both)
    yield one("causal", "Attention", [q, k, v], 23, fed=both, is_causal=1)
    yield one("scale", "Attention", [q, k, v], 23, fed=both, scale=0.25)
    yield one("softcap", "Attention", [q, k, v], 23, fed=both, softcap=0.5)
    yield one("bool mask", "Attention", [q, k, v, mask], 23, fed=both)
    yield one("float mask", "Attention", [q, k, v, numbers("am", 3, 5)], 23, fed=both)
    yield one("softcap and mask", "Attention", [q, k, v, numbers("am", 3, 5)], 23, fed=both, softcap=0.5)
    yield one("causal and mask", "Attention", [q, k, v, numbers("am", 3, 5)], 23, fed=both, is_causal=1)
    yield one("grouped", "Attention", [numbers("gq", 1, 4, 3, 4), k, v], 23, fed=both)
    yield one("rows", "Attention", list(rows.values()), 23, fed=both, q_num_heads=2, kv_num_heads=2)
    yield one("values of another width", "Attention", [q, k, numbers("aw", 1, 2, 5, 6)], 23, fed=both)
    past = [numbers("pk", 1, 2, 2, 4), numbers("pv", 1, 2, 2, 4)]
    yield one("past", "Attention", [q, k, v, None, *past], 23, fed=both, outputs=3)
    for mode in (0, 1, 2, 3):
        yield one(f"matmul output {mode}", "Attention", [q, k, v, numbers("am", 3, 5)], 23, fed=both, outputs=["y", "", "", "qk"], qk_matmul_output_mode=mode, softcap=0.5)
    cache = numbers("rc", 5, 2), numbers("rs", 5, 2)
    positions = np.array([[0, 2, 4]], i64)
    for interleaved in (0, 1):
        yield one(f"interleaved {interleaved}", "RotaryEmbedding", [numbers("rq", 1, 2, 3, 4), *cache, positions], 23, interleaved=interleaved)
        yield one(f"rows, interleaved {interleaved}", "RotaryEmbedding", [numbers("rq", 1, 3, 8), *cache, positions], 23, interleaved=interleaved, num_heads=2)
    yield one("part", "RotaryEmbedding", [numbers("rq", 1, 2, 3, 6), *cache, positions], 23, rotary_embedding_dim=4)


def others():
    x = numbers("other", 2, 6)
    yield one("opset 11, mask", "Dropout", [x], 11, outputs=2, ratio=0.5)
    yield one("opset 13, mask", "Dropout", [x], 13, outputs=2)
    yield one("training without ratio", "Dropout", [x, np.array(0, f32), np.array(True)], 13)
    for inverse in (0, 1):
        for onesided in (0, 1):
            if not (inverse and onesided):
                parts = 1 if onesided else 2
                yield one(f"inverse {inverse}, onesided {onesided}", "DFT", [numbers("dft", 1, 8, parts)], inverse=inverse, onesided=onesided, axis=1)
    yield one("length", "DFT", [numbers("dft", 1, 8, 1), np.array(6, i64)], axis=1)
    yield one("two sided", "STFT", [numbers("stft", 1, 16, 1), np.array(4, i64), np.ones(8, f32), np.array(8, i64)], onesided=0)
    yield one("one sided", "STFT", [numbers("stft", 1, 16, 1), np.array(4, i64), np.ones(8, f32), np.array(8, i64)], onesided=1)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            yield one(f"periodic {periodic}", op, [np.array(8, i64)], fed=(), periodic=periodic)
    yield Case("Constant: of several kinds", [node("Constant", [], ["c"], value_floats=[1.0, 2.0]), node("Add", ["x", "c"], ["y"], name="add")], {"x": numbers("x", 2)})
    yield Case("Constant: of integers", [node("Constant", [], ["c"], value_ints=[2, 1]), node("Reshape", ["x", "c"], ["y"], name="add")], {"x": numbers("x", 2)})
    yield one("", "Identity", [x])
