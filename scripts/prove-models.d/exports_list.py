"""What exports.py exports, for those who do not have PyTorch."""

PACKAGES = ["torch==2.15.0", "onnx==1.23.2", "onnxscript==0.7.2"]

ABOUT = {
    "resnet": "CNN in the manner of ResNet",
    "mobilenet": "CNN in the manner of MobileNetV3, depthwise",
    "lstm": "LSTM of two layers",
    "bilstm": "LSTM of two layers, both ways",
    "gru": "GRU of two layers, both ways",
    "encoder": "transformer encoder with a mask",
    "decoder": "transformer decoder with a cache, rotary places and grouped heads",
    "unet": "UNet as diffusion models have it",
}
HALVES = ["resnet", "encoder", "decoder", "unet"]
EXPORTERS = {"script": "TorchScript exporter", "dynamo": "dynamo exporter"}


def every():
    """The name, the description and the exporter of each export."""
    for net, about in ABOUT.items():
        for exporter, called in EXPORTERS.items():
            yield f"{net}-{exporter}-fixed", about, called
            yield f"{net}-{exporter}-free", f"{about}, free dimensions", called
    for net in HALVES:
        yield f"{net}-dynamo-fixed-half", f"{ABOUT[net]}, half precision", EXPORTERS["dynamo"]
