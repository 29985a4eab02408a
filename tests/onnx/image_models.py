#!/usr/bin/env python3
"""Exports torchvision's models of images with random weights, each with an input and what ONNX Runtime answers, as
sten_onnx_testdata reads them:

  image_models.py DIR [--size 224] [--batch 1] [--opset 17] [MODEL...]
  sten_onnx_testdata DIR --tolerance 1e-4

It takes torch, torchvision, onnx and onnxruntime. The running statistics of batch norms are those of a few batches, so
that activations stay within a few units and differences mean something."""

import argparse
import pathlib
import warnings

import numpy
import onnx
import onnxruntime
import torch
import torchvision
from onnx import numpy_helper

warnings.filterwarnings("ignore")
MODELS = [
    "resnet18", "resnet50", "wide_resnet50_2", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large",
    "efficientnet_b0", "efficientnet_v2_s", "vgg11", "vgg16_bn", "densenet121", "squeezenet1_0", "squeezenet1_1",
    "googlenet", "inception_v3", "regnet_y_400mf", "regnet_x_400mf", "convnext_tiny", "alexnet", "shufflenet_v2_x1_0",
    "mnasnet0_5", "resnext50_32x4d",
]  # fmt: skip


def made(name, size):
    torch.manual_seed(0)
    others = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    if name in ("googlenet", "inception_v3"):
        others["aux_logits"] = False
    model = getattr(torchvision.models, name)(weights=None, **others)
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = None  # a plain mean
    model.train()
    with torch.no_grad():
        for _ in range(2):
            model(torch.randn(4, 3, size, size))
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=[])
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--opset", type=int, default=17)
    given = parser.parse_args()
    for name in given.models or MODELS:
        size = max(given.size, 299) if name == "inception_v3" else given.size
        folder = given.dir / "torchvision" / name
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        x = torch.randn(given.batch, 3, size, size)
        torch.onnx.export(made(name, size), (x,), str(folder / "model.onnx"), input_names=["x"], output_names=["y"],
                          opset_version=given.opset, dynamo=False, dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
        y = onnxruntime.InferenceSession(str(folder / "model.onnx")).run(["y"], {"x": x.numpy()})[0]
        for file, tensor, port in (("input_0", x.numpy(), "x"), ("output_0", y, "y")):
            saved = numpy_helper.from_array(numpy.ascontiguousarray(tensor), port)
            (data / f"{file}.pb").write_bytes(saved.SerializeToString())
        print(f"{name}: {(folder / 'model.onnx').stat().st_size / 1e6:.1f} MB, outputs to {abs(y).max():.3g}", flush=True)


main()
