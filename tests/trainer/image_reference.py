#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pytorch_images.json beside this script, as pytorch_reference.py writes pytorch.json: recipes of
convolutional models, and the loss of each of 50 steps in PyTorch. After them the model is evaluated, with its
running statistics, on the rows that it was not trained on. Also written are images.npy and labels.npy, which are
drawn here and are what the recipes learn from, and resnet.onnx, the ResNet exported in training mode.

    image_reference.py [FILE]

It needs numpy, torch and torchvision (the file is that of torch 2.5.1 and torchvision 0.20.1).
"""

import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.models.resnet import ResNet as TorchvisionResNet

from pytorch_reference import (
    CONSTANT, HERE, MODELS, Examples, adamw, ends_of, initial, output_path, random_uniform, run_of, save_runs, sgd,
    shuffled,
)  # fmt: skip

# -------------------------------------------------------------------------------------- images


def draw(count=96, size=12, classes=4):
    """Bars that lie, bars that stand, chequers and discs, of any colour, with noise: [count, size, size, 3]."""
    x = np.zeros((count, size, size, 3), dtype=np.uint8)
    y = (np.arange(count) % classes).astype(np.uint8)
    rows, cols = np.mgrid[:size, :size]
    for i in range(count):
        u = random_uniform(1000 + i, np.arange(8))
        a, b = (2 + 8 * u[0:2]).astype(int)
        shape = [rows // 2 % 2 == 0, cols // 2 % 2 == 0, (rows // 3 + cols // 3) % 2 == 0,
                 (rows - a) ** 2 + (cols - b) ** 2 < 12][y[i]]  # fmt: skip
        noise = random_uniform(5000 + i, np.arange(size * size * 3)).reshape(size, size, 3)
        colours = np.where(shape[..., None], 90 + 100 * u[2:5], 40 + 60 * u[5:8])
        x[i] = (colours + 60 * noise).astype(np.uint8)
    return x, y


class Images(Examples):
    def __init__(self, recipe):
        data = recipe["data"]
        x, y = np.load(HERE / data["features"]), np.load(HERE / data["labels"])
        rows, ends = shuffled(len(x), data["split_seed"]), ends_of(len(x), data)
        x = torch.tensor(x * data["scale"] + data["shift"], dtype=torch.float64).movedim(-1, 1)
        y = torch.tensor(y, dtype=torch.long)
        super().__init__(x[rows[: ends[0]]], y[rows[: ends[0]]], recipe)
        self.validation = x[rows[ends[0] : ends[1]]], y[rows[ends[0] : ends[1]]]


# --------------------------------------------------------------------------------------- models


class ImageModel(nn.Module):
    """Weights as sten begins with them, and a batch's loss."""

    def prepare(self, recipe):
        self.double()
        seed = recipe["seed"]
        with torch.no_grad():
            for name, w in self.named_parameters():
                if w.dim() == 4:
                    fan = w.shape[0] * w.shape[2] * w.shape[3]
                    w.copy_(initial(name, w.shape, seed, std=math.sqrt(2 / fan)))
                elif name.startswith("fc.") and not (name == "fc.bias" and self.has_zero_bias):
                    w.copy_(initial(name, w.shape, seed, bound=1 / math.sqrt(self.fc.in_features)))
                else:
                    w.fill_(0 if name.endswith("bias") else 1)
        self.data = Images(recipe)
        self.to(memory_format=torch.channels_last)

    def loss(self, step):
        x, y = self.data.batch(step)
        return F.cross_entropy(self(x), y)

    @torch.no_grad()
    def evaluated(self):
        self.eval()
        x, y = self.data.validation
        return F.cross_entropy(self(x), y).item()


class ResNet(ImageModel, TorchvisionResNet):
    """Torchvision's, of another width and with a stem for small images."""

    has_zero_bias = False

    def __init__(self, recipe):
        m = recipe["model"]
        blocks = {18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3]}[m["depth"]]
        block, width, small = BasicBlock if m["depth"] < 50 else Bottleneck, m["width"], m["stem"] == "cifar"
        nn.Module.__init__(self)
        self._norm_layer, self.inplanes, self.dilation, self.groups, self.base_width = nn.BatchNorm2d, width, 1, 1, 64
        kernel, stride = (3, 1) if small else (7, 2)
        self.conv1 = nn.Conv2d(m["channels"], width, kernel, stride, kernel // 2, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU()
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        for i, count in enumerate(blocks):
            self.add_module(f"layer{i + 1}", self._make_layer(block, width << i, count, 1 if i == 0 else 2))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear((width << 3) * block.expansion, m["classes"])
        self.prepare(recipe)


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        if inputs != outputs:
            self.convShortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        normed = self.bn1(x).relu()
        shortcut = self.convShortcut(normed) if hasattr(self, "convShortcut") else x
        return shortcut + self.conv2(self.bn2(self.conv1(normed)).relu())


class WideResNet(ImageModel):
    """Zagoruyko and Komodakis 2016, with the names of https://github.com/xternalz/WideResNet-pytorch."""

    has_zero_bias = True

    def __init__(self, recipe):
        super().__init__()
        m = recipe["model"]
        self.conv1 = nn.Conv2d(m["channels"], 16, 3, 1, 1, bias=False)
        inputs = 16
        for i in range(3):
            outputs, stage = (16 << i) * m["width"], nn.Module()
            blocks = [WideBlock(inputs if b == 0 else outputs, outputs, 2 if i > 0 and b == 0 else 1)
                      for b in range((m["depth"] - 4) // 6)]  # fmt: skip
            stage.layer, inputs = nn.Sequential(*blocks), outputs
            self.add_module(f"block{i + 1}", stage)
        self.bn1, self.fc = nn.BatchNorm2d(inputs), nn.Linear(inputs, m["classes"])
        self.prepare(recipe)

    def forward(self, x):
        x = self.conv1(x)
        for stage in (self.block1, self.block2, self.block3):
            x = stage.layer(x)
        return self.fc(self.bn1(x).relu().mean((2, 3)))


MODELS |= {"resnet": ResNet, "wide-resnet": WideResNet}

# -------------------------------------------------------------------------------------- recipes

BASE = {
    "schema": 1,
    "data": {"kind": "arrays", "features": "images.npy", "labels": "labels.npy", "train": 0.75, "validation": 0.25,
             "split_seed": 3, "scale": 1 / 64, "shift": -2.0},
    "steps": 50,
    "batch": 8,
    "seed": 5,
    "rate": CONSTANT,
}  # fmt: skip
# A value beside 0, which a ReLU takes to either side as float32 rounds it, is seen in the losses of the
# steps that follow, and soon in all digits. It is rare at low rates, and in none of these runs.
WIDE = {"model": {"kind": "wide-resnet", "depth": 10, "width": 1, "classes": 4, "channels": 3},
        "optimizer": sgd(0.005, nesterov=True, weight_decay=5e-4)}  # fmt: skip
RESNET = {"model": {"kind": "resnet", "depth": 18, "width": 8, "classes": 4, "channels": 3, "stem": "cifar"},
          "optimizer": adamw(3e-4, eps=1e-3), "seed": 6}  # fmt: skip
# Its last stages see one pixel of an image, and their norms 8 values, so that its gradients are large.
DEEP = {"model": {"kind": "resnet", "depth": 50, "width": 4, "classes": 4, "channels": 3, "stem": "imagenet"},
        "optimizer": sgd(1e-10), "batch": 24}  # fmt: skip


def magnitude(target, **more):
    return {"sparsity": [{"target": target, "sparsifier": "magnitude:sparsity=0.5"} | more]}


NEW = {"schedule": {"kind": "cubic", "stages": 3, "begin": 4, "end": 34}, "mask": {"refresh": 10, "end": 45}}
RUNS = [
    BASE | WIDE | {"name": "wrn.dense"},
    BASE | WIDE | magnitude("block*.weight") | {"name": "wrn.fixed"},
    BASE | WIDE | magnitude("block[12]*.weight", **NEW) | {"name": "wrn.refresh"},
    BASE | RESNET | {"name": "resnet.dense"},
    BASE | RESNET | magnitude("layer*.weight") | {"name": "resnet.fixed", "optimizer": adamw(1e-4, eps=1e-3)},
    BASE | RESNET | magnitude("layer[12]*.weight", **NEW) | {"name": "resnet.refresh"},
    BASE | DEEP | {"name": "resnet50.dense"},
]  # fmt: skip


def export(recipe, path):
    """The model before the first step, in training mode: otherwise the exporter merges equal tensors."""
    import onnx

    model = MODELS[recipe["model"]["kind"]](recipe).float().train()
    before = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    x = torch.zeros(2, recipe["model"]["channels"], 12, 12)
    torch.onnx.export(model, (x,), str(path), input_names=["x"], output_names=["y"], opset_version=17, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})  # fmt: skip
    file = onnx.load(path)
    for tensor in file.graph.initializer:  # without the update of the traced step
        if ".running_" in tensor.name:
            tensor.CopyFrom(onnx.numpy_helper.from_array(before[tensor.name], tensor.name))
    onnx.save(file, path)


def main():
    path = output_path(HERE / "pytorch_images.json", threads=2)
    x, y = draw()
    np.save(HERE / "images.npy", x)
    np.save(HERE / "labels.npy", y)
    widths = [int(w) for w in sys.argv[2:]]  # of ResNet-18, in place of 8
    runs = RUNS
    if widths:
        runs = [r | {"model": r["model"] | {"width": w}} for w in widths for r in RUNS
                if r["model"].get("depth") == 18]  # fmt: skip
    save_runs(path, [run_of(r) for r in runs])
    if not sys.argv[1:]:
        export(next(r for r in RUNS if r["name"] == "resnet.dense"), HERE / "resnet.onnx")


if __name__ == "__main__":
    main()
