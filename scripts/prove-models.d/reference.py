"""What ONNX Runtime says: every value of a model, a node's values on their own, and how long a run takes."""

import time

import numpy as np
import onnx
import onnxruntime


def session(model, optimised=False):
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def names_of_inputs(model):
    """The inputs that a caller gives, in order."""
    weights = {each.name for each in model.graph.initializer}
    return [each.name for each in model.graph.input if each.name not in weights]


def every_value(model, feeds):
    """Every value that a node makes, by name; None for those that are no tensors."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    for node in every.graph.node:
        node.ClearField("name")  # ONNX Runtime takes no name twice
    have = {output.name for output in every.graph.output}
    for name in (name for node in model.graph.node for name in node.output if name):
        if name not in have:
            every.graph.output.add().name = name
    made = session(every.SerializeToString())
    values = made.run(None, feeds)
    return {output.name: x if isinstance(x, np.ndarray) else None for output, x in zip(made.get_outputs(), values)}


def outputs_of_node(model, node, values):
    """What the node makes of these values alone, by name."""
    graph = onnx.GraphProto(name="one")
    graph.node.add().CopyFrom(node)
    graph.node[0].ClearField("name")
    for name in read_by(node):
        graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape))
    for name in (name for name in node.output if name):
        graph.output.add().name = name
    one = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    made = session(one.SerializeToString())
    return dict(zip([output.name for output in made.get_outputs()], made.run(None, {value.name: values[value.name] for value in graph.input})))


def read_by(node):
    """The names of the values that a node reads, including those that its bodies take from the graph around them."""
    names = dict.fromkeys(name for name in node.input if name)
    for attribute in node.attribute:
        for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            own = {each.name for each in [*body.input, *body.initializer]} | {name for inner in body.node for name in inner.output}
            names |= dict.fromkeys(name for inner in body.node for name in read_by(inner) if name not in own)
            names |= dict.fromkeys(each.name for each in body.output if each.name not in own)
    return list(names)


def constants(model):
    """The values that are in the file: initializers and the outputs of Constant nodes."""
    found = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                value = onnx.helper.get_attribute_value(attribute)
                plain = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
                if attribute.name == "value":
                    found[node.output[0]] = onnx.numpy_helper.to_array(value)
                elif attribute.name in plain:
                    found[node.output[0]] = np.array(value, plain[attribute.name])
    return found


def median_ms(path, feeds, seconds=3.0):
    """The median of a run's times, optimised, on one thread."""
    made = session(str(path), optimised=True)
    made.run(None, feeds)
    times = []
    while len(times) < 50 and (sum(times) < seconds or len(times) < 3):
        start = time.perf_counter()
        made.run(None, feeds)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))
