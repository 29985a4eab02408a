#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes NAME-EXPORTER.onnx and reference.json beside this script, or into DIR: narrow networks of each family of
torchvision's classification models, as both exporters of PyTorch write them, with what ONNX Runtime and PyTorch compute.

  make_models.py [DIR] [NAME...]

It needs torch, torchvision, onnx, onnxruntime and numpy, and sten-prune, by STEN_BIN (default: build/bin). The files are
those of torch 2.15, torchvision 0.29 and onnxruntime 1.32.

Channels are fractions of torchvision's, and parameters and running statistics are random: exporters merge equal
tensors. reference.json has for each model, for the batch of `images()` with the labels 0, 1, 2, ...:

  inputs     [rows, 3, size, size] and the seed of their elements
  outputs    by exporter, of ONNX Runtime
  pruned     by exporter, of ONNX Runtime from the file that `sten-prune --sparsity 0.5` writes
  loss, gradients   cross-entropy in PyTorch, and the Euclidean norm of the gradient of each parameter and of the images
  masked, losses    five steps of SGD with the given rate, in which the smaller half of each of these tensors is 0
"""

import contextlib
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from functools import partial

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torchvision import models
from torchvision.models import efficientnet, maxvit, regnet, resnet, swin_transformer

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from pytorch import SOURCE, initial, random_uniform  # noqa: E402

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
CLASSES, ROWS, SEED = 10, 4, 7


@contextlib.contextmanager
def narrow(factor):
    """Within, modules have 1/factor of their channels, rounded up; colours and classes stay."""

    def fewer(n):
        return n if n in (1, 3, CLASSES) else -(-n // factor)

    def convolution(self, in_channels, out_channels, *args, groups=1, **others):
        i, o = fewer(in_channels), fewer(out_channels)
        groups = i if groups == in_channels else groups
        while i % groups or o % groups:
            groups //= 2
        inits[nn.Conv2d](self, i, o, *args, groups=groups, **others)

    def norm(self, num_features, *args, **others):
        inits[nn.BatchNorm2d](self, fewer(num_features), *args, **others)

    def linear(self, in_features, out_features, *args, **others):
        inits[nn.Linear](self, fewer(in_features), fewer(out_features), *args, **others)

    new = {nn.Conv2d: convolution, nn.BatchNorm2d: norm, nn.Linear: linear}
    inits = {module: module.__init__ for module in new}
    try:
        for module, init in new.items():
            module.__init__ = init
        yield
    finally:
        for module, init in inits.items():
            module.__init__ = init


def make_classifier_small(model):
    """Its layers have 32 features between them."""
    layers = [i for i, layer in enumerate(model.classifier) if isinstance(layer, nn.Linear)]
    inputs = model.classifier[layers[0]].in_features
    for i in layers:
        outputs = CLASSES if i == layers[-1] else 32
        model.classifier[i], inputs = nn.Linear(inputs, outputs), outputs


def mb(*rows):
    return [efficientnet.MBConvConfig(*row) for row in rows]


def fused_mb(*rows):
    return [efficientnet.FusedMBConvConfig(*row) for row in rows]


swin = partial(models.SwinTransformer, [2, 2], 8, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0)
# Name: size of images, factor, constructor. The earlier exporter takes AlexNet and VGG with 224 pixels only.
MODELS = {
    "alexnet": (224, 16, lambda: models.alexnet(dropout=0, num_classes=10)),
    "convnext": (32, 1, lambda: models.ConvNeXt(
        [models.convnext.CNBlockConfig(i, o, 1) for i, o in ((8, 16), (16, 24), (24, 32), (32, None))], num_classes=10)),
    "densenet": (32, 1, lambda: models.DenseNet(4, (2, 2, 2, 2), 8, num_classes=10)),
    "efficientnet": (32, 8, lambda: models.EfficientNet(
        mb((1, 3, 1, 32, 16, 1, 1, 1), (6, 3, 2, 16, 24, 2, 1, 1), (6, 5, 2, 24, 40, 1, 1, 1), (6, 3, 2, 40, 80, 1, 1, 1)),
        0, stochastic_depth_prob=0, num_classes=10)),
    "efficientnet_v2": (32, 8, lambda: models.EfficientNet(
        fused_mb((1, 3, 1, 24, 24, 1), (4, 3, 2, 24, 48, 2)) + mb((4, 3, 2, 48, 64, 1), (6, 3, 1, 64, 80, 1)),
        0, stochastic_depth_prob=0, num_classes=10, norm_layer=partial(nn.BatchNorm2d, eps=1e-3), last_channel=320)),
    "googlenet": (64, 16, lambda: models.googlenet(aux_logits=False, init_weights=True, dropout=0, num_classes=10)),
    "inception_v3": (96, 16, lambda: models.inception_v3(aux_logits=False, init_weights=True, dropout=0, num_classes=10)),
    "maxvit": (32, 1, lambda: maxvit.MaxVit((32, 32), 8, 2, [8, 16], [1, 1], 4, 0, num_classes=10)),
    "mnasnet": (32, 8, lambda: models.MNASNet(0.5, 10, dropout=0)),
    "mobilenet_v2": (32, 8, lambda: models.MobileNetV2(
        10, inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 2, 2], [6, 64, 1, 2]], dropout=0)),
    "mobilenet_v3": (32, 8, lambda: models.mobilenet_v3_small(num_classes=10, dropout=0)),
    "regnet_x": (32, 8, lambda: models.RegNet(regnet.BlockParams.from_init_params(6, 24, 24.48, 2.54, 16), 10)),
    "regnet_y": (32, 8, lambda: models.RegNet(regnet.BlockParams.from_init_params(6, 48, 27.89, 2.09, 8, 0.25), 10)),
    "resnet": (32, 16, lambda: models.ResNet(resnet.BasicBlock, [1, 1, 1, 1], 10)),
    "resnext": (32, 16, lambda: models.ResNet(resnet.Bottleneck, [1, 1, 1, 1], 10, groups=32, width_per_group=4)),
    "shufflenet_v2": (32, 4, lambda: models.ShuffleNetV2([2, 2, 2], [24, 48, 96, 192, 256], 10)),
    "squeezenet": (32, 8, lambda: models.squeezenet1_1(num_classes=10, dropout=0)),
    "swin": (32, 1, lambda: swin(num_classes=10)),
    "swin_v2": (32, 1, lambda: swin(num_classes=10, block=swin_transformer.SwinTransformerBlockV2,
                                    downsample_layer=swin_transformer.PatchMergingV2)),
    "vgg": (224, 16, lambda: models.vgg11(dropout=0, num_classes=10)),
    "vgg_bn": (224, 16, lambda: models.vgg11_bn(dropout=0, num_classes=10)),
    "vit": (32, 1, lambda: models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=10)),
    "wide_resnet": (32, 32, lambda: models.ResNet(resnet.Bottleneck, [1, 1, 1, 1], 10, width_per_group=128)),
}  # fmt: skip


def images(size):
    n = ROWS * 3 * size * size
    return torch.from_numpy((4 * random_uniform(SEED, np.arange(n)) - 2).astype(np.float32).reshape(ROWS, 3, size, size))


def with_statistics(model, batches):
    """The model for evaluation, with the running statistics of its batch norms over these batches."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # a plain mean
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
        for norm in norms:
            norm.running_var += 0.1  # no division by almost 0, of features that are almost constant
    return model.eval()


def made(name):
    size, factor, constructor = MODELS[name]
    torch.manual_seed(0)
    with narrow(factor):
        model = constructor()
    if name.startswith(("alexnet", "vgg")):
        make_classifier_small(model)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn(p.shape) * (p.dim() == 1 or bool((p == p.flatten()[0]).all()))
    return with_statistics(model, 2 * torch.randn(3, 4, 3, size, size))


def strip_comments(path):
    """Removes where in PyTorch's source a node comes from."""
    file = onnx.load(path)
    for node in file.graph.node:
        node.doc_string = ""
        for i in reversed(range(len(node.metadata_props))):
            if node.metadata_props[i].key != "pkg.torch.onnx.name_scopes":
                del node.metadata_props[i]
    for value in file.graph.value_info:
        del value.metadata_props[:]
    onnx.save(file, path)


def export(model, x, path, exporter):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if exporter == "dynamo":
            torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], dynamo=True,
                              external_data=False, dynamic_shapes=({0: torch.export.Dim("batch")},))  # fmt: skip
        else:  # names and batch norms of the model
            torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], dynamo=False, opset_version=17,
                              dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, do_constant_folding=False,
                              training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
    strip_comments(path)


def answer(path, x):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(["y"], {"x": x.numpy()})[0]


def rounded(values):
    return [float(f"{v:.9g}") for v in np.asarray(values).ravel()]


def gradients(model, x):
    x.requires_grad_(True)
    loss = nn.functional.cross_entropy(model(x), torch.arange(ROWS))
    loss.backward()
    norms = {name: float(f"{p.grad.norm().item():.7g}") for name, p in model.named_parameters()}
    norms["x"] = float(f"{x.grad.norm().item():.7g}")
    return loss.item(), norms


def masked_losses(model, x, masked, rate):
    weights = dict(model.named_parameters())
    masks = {}
    for name in masked:
        magnitudes = weights[name].detach().abs()
        masks[name] = magnitudes >= magnitudes.flatten().sort().values[(magnitudes.numel() + 1) // 2]
    losses = []
    for _ in range(5):
        with torch.no_grad():
            for name, mask in masks.items():
                weights[name].mul_(mask)
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(x), torch.arange(ROWS))
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad
    return losses


def reference(name, folder, programs):
    size = MODELS[name][0]
    model, x = made(name), images(size)
    row = {"name": name, "size": size, "outputs": {}, "pruned": {}}
    for exporter in ("torchscript", "dynamo"):
        path = str(folder / f"{name}-{exporter}.onnx")
        export(model, x, path, exporter)
        row["outputs"][exporter] = rounded(answer(path, x))
        with tempfile.TemporaryDirectory() as scratch:
            pruned = f"{scratch}/pruned.onnx"
            subprocess.run([programs / "sten-prune", path, "-o", pruned, "--sparsity", "0.5", "-q"], check=True)
            row["pruned"][exporter] = rounded(answer(pruned, x))
    model, x = model.double(), x.double()
    row["loss"], row["gradients"] = gradients(model, x)
    square = sum(v**2 for n, v in row["gradients"].items() if n != "x")
    row["rate"] = float(f"{min(0.05, 0.05 / square):.1g}")
    row["masked"] = [f"{name}.weight" for name, m in model.named_modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    row["losses"] = rounded(masked_losses(model, x.detach(), row["masked"], row["rate"]))
    return row


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    programs = pathlib.Path(os.environ.get("STEN_BIN", SOURCE / "build/bin"))
    rows = []
    for name in sys.argv[2:] or MODELS:
        rows.append(reference(name, folder, programs))
        sizes = [(folder / f"{name}-{e}.onnx").stat().st_size for e in ("torchscript", "dynamo")]
        print(name, *sizes, "outputs to", max(map(abs, rows[-1]["outputs"]["dynamo"])), "losses", rows[-1]["losses"], flush=True)
    text = ",\n".join(json.dumps(row) for row in rows)
    (folder / "reference.json").write_text(f'{{"rows": {ROWS}, "seed": {SEED}, "models": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
