# Quantises a model with ONNX Runtime's quantizer, each time with other nodes left out. The model is calibrated once.
#
# Arguments: the model, a directory with a directory for each set of inputs (0.npy is that of the first input), and a file
# for what calibration finds. The first line of the output lists the nodes that can be quantised. Each line of the input asks
# for a model: {"exclude": [NODE, ...], "output": PATH}; the line of the output that answers has an "error" if it failed.
import inspect
import json
import os
import pathlib
import sys

# Libraries print what is for people; here they would come between the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def answer(**fields):
    print(json.dumps(fields), file=answers, flush=True)


try:
    import numpy
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry
except ImportError as missing:
    answer(error=f"{missing}; install it: pip install onnx onnxruntime")
    sys.exit()

model, inputs, calibration = sys.argv[1:]
graph = onnx.load(model, load_external_data=False).graph
stored = {tensor.name for tensor in graph.initializer}
names = [value.name for value in graph.input if value.name not in stored]


class Sets(CalibrationDataReader):
    def __init__(self):
        self.places = iter(sorted(pathlib.Path(inputs).iterdir(), key=lambda place: int(place.name)))

    def get_next(self):
        place = next(self.places, None)
        return place and {name: numpy.load(place / f"{at}.npy") for at, name in enumerate(names)}


# Older versions calibrate anew for each model.
cached = {"calibration_cache_path": calibration} if "calibration_cache_path" in inspect.signature(quantize_static).parameters else {}
kinds = set(QDQRegistry) | set(QLinearOpsRegistry)
answer(nodes=[node.name for node in graph.node if node.op_type in kinds])
for line in sys.stdin:
    asked = json.loads(line)
    try:
        quantize_static(model, asked["output"], Sets(), quant_format=QuantFormat.QDQ, nodes_to_exclude=asked["exclude"], **cached)
        answer(output=asked["output"])
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}")
