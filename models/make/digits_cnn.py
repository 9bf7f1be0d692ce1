"""`digits_cnn.onnx`: a convolutional network that reads handwritten digits, trained here."""

import numpy as np

import digits
from graph import GraphBuilder, info
from layers import BatchNorm, Conv3x3, Flatten, Linear, MaxPool2x2, Relu, exported, train

NAME = "digits_cnn"
CHANNELS = (8, 16, 32)


def build():
    """The trained model, and its test images [360, 1, 8, 8] with their labels."""
    (images, labels), (test_images, test_labels) = digits.split()
    rng = np.random.default_rng(1)
    layers = [
        *(Conv3x3(rng, 1, CHANNELS[0]), BatchNorm(CHANNELS[0]), Relu()),
        *(Conv3x3(rng, CHANNELS[0], CHANNELS[1]), BatchNorm(CHANNELS[1]), Relu(), MaxPool2x2()),
        *(Conv3x3(rng, CHANNELS[1], CHANNELS[2]), BatchNorm(CHANNELS[2]), Relu(), MaxPool2x2()),
        *(Flatten(), Linear(rng, CHANNELS[2] * 4, 64), Relu(), Linear(rng, 64, 10)),
    ]
    train(layers, _scaled(images), labels, rng, epochs=40, batch=64, rate=3e-3, augment=_shifted)
    return _export(layers), _scaled(test_images).astype(np.float32), test_labels.astype(np.int64)


def _scaled(images):
    return images[:, None] / 16.0


def _shifted(images, rng):
    """Every image moved by up to one pixel in both directions."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = rng.integers(0, 3, (2, len(images)))
    return np.stack([p[:, r : r + 8, c : c + 8] for p, r, c in zip(padded, rows, columns)])


def _export(layers):
    g = GraphBuilder()
    convs = [layer for layer in layers if isinstance(layer, Conv3x3)]
    norms = [layer for layer in layers if isinstance(layer, BatchNorm)]
    linears = [layer for layer in layers if isinstance(layer, Linear)]

    x = "image"
    for k, (conv, norm) in enumerate(zip(convs, norms), 1):
        weights = [g.weight(f"conv{k}.weight", exported(conv.weight)), g.weight(f"conv{k}.bias", exported(conv.bias))]
        x = g.op(f"/conv{k}", "Conv", [x, *weights], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
        moments = {"weight": norm.scale, "bias": norm.shift, "running_mean": norm.mean, "running_var": norm.variance}
        names = [g.weight(f"bn{k}.{name}", exported(array)) for name, array in moments.items()]
        x = g.op(f"/bn{k}", "BatchNormalization", [x, *names], epsilon=BatchNorm.EPSILON)
        x = g.op(f"/relu{k}", "Relu", [x])
        if k > 1:
            x = g.op(f"/pool{k}", "MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("", "Flatten", [x], axis=1)
    for k, linear in enumerate(linears, 1):
        weights = [g.weight(f"fc{k}.weight", exported(linear.weight.T)), g.weight(f"fc{k}.bias", exported(linear.bias))]
        x = g.op(f"/fc{k}", "Gemm", [x, *weights], transB=1)
        if k == 1:
            x = g.op("/relu4", "Relu", [x])
    g.op("", "Softmax", [x], output="probabilities", axis=-1)
    return g.model(NAME, [info("image", ["batch", 1, 8, 8])], [info("probabilities", ["batch", 10])])
