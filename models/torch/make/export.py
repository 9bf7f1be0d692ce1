"""Exports the network with both exporters of PyTorch. Run by scripts/make-torch-models, in this directory."""

import pathlib
import sys

import torch
from train_lib.network import Network

INTO = pathlib.Path(sys.argv[1])
HERE = str(pathlib.Path(__file__).resolve().parent) + "/"
SITE = str(pathlib.Path(torch.__file__).resolve().parent.parent) + "/"


def without_paths(text):
    """Files of this project become relative, and those of packages begin with `site-packages`."""
    return text.replace(HERE, "").replace(SITE, "site-packages/")


def save(program_or_file, name):
    import onnx

    model = onnx.load(program_or_file)
    model.doc_string = ""
    for node in model.graph.node:
        node.doc_string = ""
        for entry in node.metadata_props:
            entry.value = without_paths(entry.value)
    for part in [*model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.initializer]:
        del part.metadata_props[:]
    del model.metadata_props[:], model.graph.metadata_props[:]
    onnx.save(model, INTO / name)


def main():
    torch.manual_seed(0)
    network = Network().eval()
    image = torch.rand(1, 1, 4, 4)
    part = INTO / "part.onnx"
    torch.onnx.export(network, (image,), part, dynamo=True, input_names=["image"], output_names=["logits"], external_data=False)
    save(part, "network.onnx")
    torch.onnx.export(network, (image,), part, dynamo=False, input_names=["image"], output_names=["logits"])
    save(part, "network_torchscript.onnx")
    part.unlink()


main()
