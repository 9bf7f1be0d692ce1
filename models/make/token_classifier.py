"""`token_classifier.onnx`: reads a digit as a sentence of int64 tokens, one for each pixel that is not blank.

Token 0 is padding; a pixel at position p (0 to 63) with ink i (1 to 16) is token 1 + 4 p + (i - 1) / 4. Sentences have
different lengths and are padded with zeros, which the model masks. As ONNX allows, several nodes here have no name, and
two have the same one.
"""

import numpy as np
from onnx import TensorProto

import digits
from graph import GraphBuilder, info
from layers import Linear, Relu, exported, train

NAME = "token_classifier"
VOCABULARY = 1 + 64 * 4
WIDTH = 24


def build():
    """The trained model, and its test sentences [360, longest] with their labels."""
    (images, labels), (test_images, test_labels) = digits.split()
    rng = np.random.default_rng(2)
    layers = [Linear(rng, VOCABULARY, WIDTH, bias=False), Linear(rng, WIDTH, 48), Relu(), Linear(rng, 48, 10)]
    layers[0].weight *= 4.0
    train(layers, _bags(_tokens(images)), labels, rng, epochs=25, batch=48, rate=1e-2, augment=_forgetting)
    return _export(layers), _tokens(test_images), test_labels.astype(np.int64)


def _tokens(images):
    """Sentences [n, longest] of int64, padded with zeros."""
    flat = images.reshape(len(images), 64).astype(np.int64)
    sentences = [1 + 4 * np.flatnonzero(row) + (row[row > 0] - 1) // 4 for row in flat]
    padded = np.zeros((len(sentences), max(map(len, sentences))), np.int64)
    for row, sentence in zip(padded, sentences):
        row[: len(sentence)] = sentence
    return padded


def _bags(tokens):
    """How often each token is in its sentence, as a share: times the embedding this is the masked mean."""
    bags = np.zeros((len(tokens), VOCABULARY))
    for bag, sentence in zip(bags, tokens):
        bag[sentence[sentence > 0]] = 1.0
    return bags / bags.sum(axis=1, keepdims=True)


def _forgetting(bags, rng):
    """The bags with three tokens in ten left out, so that no single token decides."""
    kept = bags * (rng.random(bags.shape) < 0.7)
    return kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-9)


def _export(layers):
    embedding, hidden, head = (layer for layer in layers if isinstance(layer, Linear))
    g = GraphBuilder()
    words = g.weight("embeddings.word_embeddings.weight", exported(embedding.weight))
    embedded = g.op("/embeddings/word_embeddings", "Gather", [words, "input_ids"])

    blank = g.op("/mask", "Equal", ["input_ids", g.constant("/mask", np.int64(0))])
    present = g.op("/mask", "Cast", [g.op("/mask", "Not", [blank], name="")], to=TensorProto.FLOAT)
    axis = g.weight("pooling.last_axis", np.array([-1], np.int64))
    weights = g.op("/pooling", "Unsqueeze", [present, axis], name="")

    masked = g.op("/pooling", "Mul", [embedded, weights], name="")
    words_axis = g.weight("pooling.words_axis", np.array([1], np.int64))
    total = g.op("/pooling", "ReduceSum", [masked, words_axis], name="/pooling/ReduceSum", keepdims=0)
    count = g.op("/pooling", "ReduceSum", [weights, words_axis], name="/pooling/ReduceSum", keepdims=0)
    count = g.op("/pooling", "Clip", [count, g.weight("pooling.at_least", np.float32(1.0)), ""])
    x = g.op("/pooling", "Div", [total, count])

    for scope, linear, last in (("/classifier/dense", hidden, False), ("/classifier/out_proj", head, True)):
        weight = g.weight(f"{scope[1:].replace('/', '.')}.weight", exported(linear.weight.T))
        bias = g.weight(f"{scope[1:].replace('/', '.')}.bias", exported(linear.bias))
        x = g.op(scope, "Gemm", [x, weight, bias], output="logits" if last else None, transB=1)
        if not last:
            x = g.op("/classifier", "Relu", [x], name="")
    shape = ["batch", "sequence"]
    return g.model(NAME, [info("input_ids", shape, TensorProto.INT64)], [info("logits", ["batch", 10])])
