"""LSTM, GRU and RNN."""

import numpy as np

from .case import computed, numbers, one

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def inputs(op, directions=1, lengths=None, state=False, peepholes=False, batch=2, hidden=2):
    gates, time, size = GATES[op], 4, 3
    x = numbers("x", time, batch, size)
    w = numbers("w", directions, gates * hidden, size, low=-1, high=1)
    r = numbers("r", directions, gates * hidden, hidden, low=-1, high=1)
    b = numbers("b", directions, 2 * gates * hidden, low=-0.5, high=0.5)
    h = numbers("h", directions, batch, hidden, low=-1, high=1) if state else None
    c = numbers("c", directions, batch, hidden, low=-1, high=1) if state and op == "LSTM" else None
    p = numbers("p", directions, 3 * hidden, low=-1, high=1) if peepholes else None
    given = [x, w, r, b, None if lengths is None else np.array(lengths, np.int32), h, c, p]
    while given[-1] is None:
        given.pop()
    return given


def cases():
    for op in GATES:
        outputs = 3 if op == "LSTM" else 2

        def case(name, fed=(0,), outputs=outputs, direction=None, **attributes):
            which = {key: attributes.pop(key) for key in ("directions", "lengths", "state", "peepholes", "batch", "hidden") if key in attributes}
            return one(name, op, inputs(op, **which), outputs=outputs, fed=fed, hidden_size=which.get("hidden", 2), direction=direction, **attributes)

        for direction, directions in [("forward", 1), ("reverse", 1), ("bidirectional", 2)]:
            both = {"direction": direction, "directions": directions}
            yield case(f"{direction}", **both)
            yield case(f"{direction} with a state", **both, state=True)
            for lengths in ([4, 4], [2, 4], [1, 3], [0, 2]):
                yield case(f"{direction} of constant lengths {lengths}", **both, lengths=lengths)
                yield case(f"{direction} of given lengths {lengths}", **both, lengths=lengths, fed=(0, 4))
            yield case(f"{direction} of given lengths with a state", **both, lengths=[3, 1], state=True, fed=(0, 4))
            yield case(f"{direction} of given lengths, only the last", **both, lengths=[3, 1], fed=(0, 4), outputs=["", "y"])
            yield case(f"{direction} of given lengths, only the sequence", **both, lengths=[3, 1], fed=(0, 4), outputs=["y"])
            yield case(f"{direction} with a clip", **both, clip=0.25)
            default = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op]
            yield case(f"{direction} with the default activations", **both, activations=default * directions)
            other = {"RNN": ["Relu"], "GRU": ["HardSigmoid", "Relu"], "LSTM": ["HardSigmoid", "Softsign", "Relu"]}[op]
            yield case(f"{direction} with other activations", **both, activations=other * directions)
        yield case("affine activations", activations=(["Affine"] + ["Tanh"] * 2)[: len(default)], activation_alpha=[0.5], activation_beta=[0.25])
        for batch, hidden in ((1, 2), (3, 2), (2, 3), (1, 1), (3, 1)):
            yield case(f"{batch} in a batch, {hidden} hidden", batch=batch, hidden=hidden)
        if op == "LSTM":
            yield case("peepholes", peepholes=True)
            yield case("peepholes and a state", peepholes=True, state=True)
            yield case("input and forget coupled", input_forget=1)
        if op == "GRU":
            yield case("linear before reset", linear_before_reset=1)
            yield case("linear before reset, given lengths", linear_before_reset=1, lengths=[3, 1], fed=(0, 4), state=True)


        for direction, directions in [("forward", 1), ("reverse", 1), ("bidirectional", 2)]:
            yield batch_first(op, direction, directions, outputs, state=False)
            yield batch_first(op, direction, directions, outputs, state=True)
            yield batch_first(op, direction, directions, outputs, state=False, lengths=[2, 3])


def batch_first(op, direction, directions, outputs, **which):
    """`layout` 1, which ONNX Runtime lacks: what it computes with the batch behind the time, turned."""
    given = inputs(op, directions, **which)
    shared = {"outputs": outputs, "hidden_size": 2, "direction": direction}
    told = "".join(f", {key}" for key in which if which[key])
    expected = list(computed(one("", op, given, **shared)).values())
    turned = [each.swapaxes(0, 1) if slot in (0, 5, 6) and each is not None else each for slot, each in enumerate(given)]
    expected = [expected[0].transpose(2, 0, 1, 3)] + [each.swapaxes(0, 1) for each in expected[1:]]
    return one(f"{direction}, batch first{told}", op, turned, **shared, expected=expected, layout=1)
