"""Operators with graphs inside."""

import numpy as np

from .case import Case, node, numbers

f32, i64 = np.float32, np.int64
TRUE = {"dtype": "bool", "shape": [], "values": [True]}


def cases():
    x, count = numbers("loop", 2, 3), np.array(3, i64)
    yield loop("a constant number of times", body(), {"x": x}, {"m": count})
    yield loop("a given number of times", body(), {"x": x, "m": count})
    yield loop("once", body(), {"x": x}, {"m": np.array(1, i64)})
    yield loop("never", body(collects=False), {"x": x}, {"m": np.array(0, i64)}, outputs=["y"])
    yield loop("a condition that stays", body(), {"x": x}, {"m": count, "c": np.array(True)})
    yield loop("a given condition", body(), {"x": x, "c": np.array(True)}, {"m": count})
    yield loop("a given condition that is false", body(collects=False), {"x": x, "c": np.array(False)}, {"m": count}, outputs=["y"])
    yield loop("a constant condition", body(condition="constant"), {"x": x}, {"m": count})
    yield loop("while the number is less", body(condition="less"), {"x": x}, {"c": np.array(True)})
    yield loop("while the number is less, with a limit", body(condition="less"), {"x": x}, {"m": np.array(2, i64), "c": np.array(True)})
    yield loop("while the data say so", body(condition="data"), {"x": x}, {"m": count, "c": np.array(True)})
    yield loop("a number of times that is computed from data", body(), {"x": x, "d": np.array([2.5], f32)}, before=[
        node("ReduceSum", ["d"], ["s"], name="sum", keepdims=0),
        node("Cast", ["s"], ["m"], name="count", to=7),
    ])
    yield loop("opset 11", body(), {"x": x}, {"m": count}, opset=11)
    yield scan("nodes named as inputs", "state", "element")
    yield scan("nodes without names", "", "")
    yield nested("nested, over numbers", [])
    for captured in ("outside", "e"):
        yield mapped(f"in a Scan, elements of rows, {captured}", (3, 2), [3, 2], captured)
        yield mapped(f"in a Scan, one element, {captured}", (3, 1), [3, 1], captured)
        yield mapped(f"in a Scan, elements of rows by names, {captured}", (3, 2), ["n", "m"], captured)
        yield mapped(f"in a Scan, rows of tables, {captured}", (3, 2, 4), [3, 2, 4], captured)
    for zeros in (["zero", "zero"], ["zero", "zero_too"]):
        for shape in ([2, 3], [3], [2, 1, 3], [1, 3], [2, 1], []):
            yield two_states(f"two states of {' and '.join(zeros)} {shape}", zeros, shape)
    yield nested("nested, over rows", [3])
    yield nested("nested, over tables", [3, 2])
    for choice in (True, False):
        yield branches(f"nodes named as what they take, {choice}", choice, given=False)
        yield branches(f"nodes named as what they take, given {choice}", choice, given=True)


def body(condition="same", collects=True):
    """Adds the number of the iteration and a captured value, and collects what it has."""
    nodes = [
        node("Cast", ["i"], ["f"], name="cast", to=1),
        node("Add", ["before", "f"], ["plus"], name="add"),
        node("Mul", ["plus", "half"], ["halved"], name=""),
        node("Add", ["halved", "outside"], ["after"], name="x"),
        node("Identity", ["after"], ["kept"], name="keep"),
    ]
    given = {
        "same": [node("Identity", ["go"], ["on"], name="go")],
        "constant": [node("Identity", ["yes"], ["on"], name="go")],
        "less": [node("Less", ["i", "four"], ["on"], name="go")],
        "data": [node("ReduceMax", ["after"], ["largest"], name="max", keepdims=0), node("Less", ["largest", "half"], ["on"], name="go")],
    }
    initializers = {"half": {"dtype": "float32", "shape": [], "values": [0.5]}}
    if condition == "constant":
        initializers["yes"] = TRUE
    if condition == "less":
        initializers["four"] = {"dtype": "int64", "shape": [], "values": [4]}
    return {
        "inputs": [["i", "INT64", []], ["go", "BOOL", []], ["before", "FLOAT", [2, 3]]],
        "outputs": [["on", "BOOL", []], ["after", "FLOAT", [2, 3]], ["kept", "FLOAT", [2, 3]]][: 3 if collects else 2],
        "nodes": nodes + given[condition],
        "initializers": initializers,
    }


def loop(name, inner, feeds, initializers=(), outputs=("y", "all"), before=(), opset=17):
    initializers = dict(initializers)
    known = {*feeds, *initializers, *(output for each in before for output in each["outputs"])}
    inputs = [slot if slot in known else "" for slot in ("m", "c")] + ["x"]
    made = node("Loop", inputs, list(outputs), body=inner)
    nodes = [*before, node("Neg", ["x"], ["outside"], name="outside"), made]
    return Case(f"Loop: {name}", nodes, feeds, initializers, list(outputs), opset)


def scan(name, first, second):
    inner = {
        "inputs": [["state", "FLOAT", [3]], ["element", "FLOAT", [3]]],
        "outputs": [["next", "FLOAT", [3]], ["row", "FLOAT", [3]]],
        "nodes": [node("Add", ["state", "element"], ["next"], name=first), node("Mul", ["next", "outside"], ["row"], name=second)],
    }
    nodes = [node("Neg", ["start"], ["outside"], name="outside"), node("Scan", ["start", "x"], ["last", "rows"], body=inner, num_scan_inputs=1)]
    return Case(f"Scan: {name}", nodes, {"start": numbers("start", 3), "x": numbers("rows", 4, 3)}, {}, ["last", "rows"])


def nested(name, inner_shape):
    """A Scan over rows in a Scan over tables: `inner_shape` is that of a row."""
    row = {
        "inputs": [["sum", "FLOAT", inner_shape], ["row", "FLOAT", inner_shape]],
        "outputs": [["sum_after", "FLOAT", inner_shape], ["row_y", "FLOAT", inner_shape]],
        "nodes": [node("Add", ["sum", "row"], ["sum_after"], name="add"), node("Neg", ["sum_after"], ["row_y"], name="neg")],
    }
    table = {
        "inputs": [["total", "FLOAT", inner_shape], ["table", "FLOAT", [2, *inner_shape]]],
        "outputs": [["total_after", "FLOAT", inner_shape], ["table_y", "FLOAT", [2, *inner_shape]]],
        "nodes": [node("Scan", ["total", "table"], ["total_after", "table_y"], name="inner", body=row, num_scan_inputs=1)],
    }
    made = node("Scan", ["start", "x"], ["last", "all"], body=table, num_scan_inputs=1)
    feeds = {"start": numbers("start", *inner_shape), "x": numbers("tables", 3, 2, *inner_shape)}
    return Case(f"Scan: {name}", [made], feeds, {}, ["last", "all"])


def mapped(name, shape, dims, captured):
    """A Scan in a Scan, both without states."""
    element = ["y_e"]
    row = {
        "inputs": [["e", "FLOAT", dims[2:]]],
        "outputs": [["y_e", "FLOAT", dims[2:]]],
        "nodes": [node("Mul", ["e", captured], element, name="multiply")],
    }
    table = {
        "inputs": [["r", "FLOAT", dims[1:]]],
        "outputs": [["y_r", "FLOAT", dims[1:]]],
        "nodes": [node("Neg", ["r"], ["n"], name="negate"), node("Scan", ["n"], ["y_r"], name="inner", body=row, num_scan_inputs=1)],
    }
    nodes = [node("ReduceMax", ["x"], ["outside"], name="outside", keepdims=0), node("Scan", ["x"], ["y"], body=table, num_scan_inputs=1)]
    return Case(f"Scan: {name}", nodes, {"x": numbers("mapped", *shape)}, {}, ["y"])


def two_states(name, zeros, shape):
    """A Scan whose states both start with zeros."""
    each = {
        "inputs": [["a", "FLOAT", shape], ["b", "FLOAT", shape], ["x_t", "FLOAT", shape]],
        "outputs": [["a_after", "FLOAT", shape], ["b_after", "FLOAT", shape], ["y_t", "FLOAT", shape]],
        "nodes": [
            node("Add", ["a", "x_t"], ["a_after"], name="add"),
            node("Sub", ["b", "a_after"], ["b_after"], name="subtract"),
            node("Tanh", ["b_after"], ["y_t"], name="tanh"),
        ],
    }
    made = node("Scan", [*zeros, "x"], ["last_a", "last_b", "y"], body=each, num_scan_inputs=1)
    feeds = {"x": numbers("two", 4, *shape)}
    return Case(f"Scan: {name}", [made], feeds, {name: np.zeros(shape, f32) for name in zeros}, ["last_a", "last_b", "y"])


def branches(name, choice, given):
    def branch(op_type):
        return {"inputs": [], "outputs": [["b", "FLOAT", [2]]], "nodes": [node(op_type, ["x"], ["a"], name="x" if op_type == "Exp" else "d"), node("Neg", ["a"], ["b"], name="")]}

    made = node("If", ["choice"], ["y"], then_branch=branch("Exp"), else_branch=branch("Sigmoid"))
    nodes = [made] if given else [node("ReduceMax", ["d"], ["largest"], name="max", keepdims=0), node("Cast", ["largest"], ["choice"], name="cast", to=9), made]
    feeds = {"x": numbers("if", 2), **({"choice": np.array(choice)} if given else {"d": np.array([choice], f32)})}
    return Case(f"If: {name}", nodes, feeds)
