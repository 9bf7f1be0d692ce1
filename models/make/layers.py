"""The few neural-network layers that the models are trained with, forward and backward, in numpy.

Everything is float64. What is exported is rounded by `exported`, so that the last bits of an `exp` or of a matrix
product, which differ between processors, do not change the files that are made.
"""

import numpy as np

GRID = 2.0**-12


def exported(weights):
    """The float32 weights that go into a file: rounded to multiples of 2^-12, which float32 holds exactly."""
    return (np.round(weights / GRID) * GRID).astype(np.float32)


class Linear:
    """`x @ weight + bias`, with weight [inputs, outputs]."""

    def __init__(self, rng, inputs, outputs, bias=True):
        self.weight = rng.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs))
        self.bias = np.zeros(outputs) if bias else None

    def forward(self, x):
        self.x = x
        y = x @ self.weight
        return y if self.bias is None else y + self.bias

    def backward(self, dy):
        self.grads = [self.x.T @ dy] + ([] if self.bias is None else [dy.sum(axis=0)])
        return dy @ self.weight.T

    def parameters(self):
        return [self.weight] + ([] if self.bias is None else [self.bias])


class Conv3x3:
    """A 3x3 convolution, stride 1, padding 1, with weight [outputs, inputs, 3, 3]."""

    def __init__(self, rng, inputs, outputs):
        self.weight = rng.normal(0.0, np.sqrt(2.0 / (9 * inputs)), (outputs, inputs, 3, 3))
        self.bias = np.zeros(outputs)

    def forward(self, x):
        self.shape = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        n, c, h, w = x.shape
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        y = self.columns @ self.weight.reshape(len(self.weight), -1).T + self.bias
        return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, c, h, w = self.shape
        dy = dy.transpose(0, 2, 3, 1).reshape(n * h * w, -1)
        self.grads = [(dy.T @ self.columns).reshape(self.weight.shape), dy.sum(axis=0)]
        columns = (dy @ self.weight.reshape(len(self.weight), -1)).reshape(n, h, w, c, 3, 3)
        padded = np.zeros((n, c, h + 2, w + 2))
        for i in range(3):
            for j in range(3):
                padded[:, :, i : i + h, j : j + w] += columns[:, :, :, :, i, j].transpose(0, 3, 1, 2)
        return padded[:, :, 1:-1, 1:-1]

    def parameters(self):
        return [self.weight, self.bias]


class BatchNorm:
    """Normalisation per channel: with the batch's moments in training, with their running means in a file."""

    MOMENTUM = 0.1
    EPSILON = 1e-5

    def __init__(self, channels):
        self.scale, self.shift = np.ones(channels), np.zeros(channels)
        self.mean, self.variance = np.zeros(channels), np.ones(channels)

    def forward(self, x):
        mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
        self.mean += self.MOMENTUM * (mean - self.mean)
        self.variance += self.MOMENTUM * (variance - self.variance)
        self.deviation = np.sqrt(variance + self.EPSILON)[:, None, None]
        self.normal = (x - mean[:, None, None]) / self.deviation
        return self.normal * self.scale[:, None, None] + self.shift[:, None, None]

    def backward(self, dy):
        axes = (0, 2, 3)
        self.grads = [(dy * self.normal).sum(axis=axes), dy.sum(axis=axes)]
        dn = dy * self.scale[:, None, None]
        centred = dn - dn.mean(axis=axes, keepdims=True)
        return (centred - self.normal * (dn * self.normal).mean(axis=axes, keepdims=True)) / self.deviation

    def parameters(self):
        return [self.scale, self.shift]


class Relu:
    def forward(self, x):
        self.open = x > 0
        return x * self.open

    def backward(self, dy):
        return dy * self.open

    def parameters(self):
        return []


class MaxPool2x2:
    """The largest of every 2x2 block; where several are equal, the first takes the gradient."""

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.largest = blocks.argmax(axis=-1)[..., None]
        return np.take_along_axis(blocks, self.largest, axis=-1)[..., 0]

    def backward(self, dy):
        n, c, h, w = dy.shape
        blocks = np.zeros((n, c, h, w, 4))
        np.put_along_axis(blocks, self.largest, dy[..., None], axis=-1)
        return blocks.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)

    def parameters(self):
        return []


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)

    def parameters(self):
        return []


def train(layers, inputs, labels, rng, epochs, batch, rate, augment=None):
    """Trains `layers` in place: cross-entropy, Adam, a cosine schedule that ends at zero."""
    moments = [(np.zeros_like(p), np.zeros_like(p)) for layer in layers for p in layer.parameters()]
    steps = epochs * (len(inputs) // batch)
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(inputs))
        for start in range(0, len(inputs) - batch + 1, batch):
            chosen = order[start : start + batch]
            x = inputs[chosen] if augment is None else augment(inputs[chosen], rng)
            for layer in layers:
                x = layer.forward(x)
            dy = _softmax(x)
            dy[np.arange(batch), labels[chosen]] -= 1.0
            dy /= batch
            for layer in reversed(layers):
                dy = layer.backward(dy)
            step += 1
            _adam(layers, moments, step, rate * 0.5 * (1.0 + np.cos(np.pi * step / steps)))


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _adam(layers, moments, step, rate):
    pairs = [(p, g) for layer in layers if layer.parameters() for p, g in zip(layer.parameters(), layer.grads)]
    for (parameter, grad), (first, second) in zip(pairs, moments):
        first += 0.1 * (grad - first)
        second += 0.001 * (grad * grad - second)
        unbiased = np.sqrt(second / (1.0 - 0.999**step)) + 1e-8
        parameter -= rate * (first / (1.0 - 0.9**step)) / unbiased
