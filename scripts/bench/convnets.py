#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures convolutional models in sten and in other runtimes, in turns on the same processors.

  convnets.py step [--model wrn-10-1] [--model resnet-18] [--threads N] [--rounds 3]
      a training step, float32, images of 32 x 32, SGD with Nesterov's momentum: sten-bench step beside PyTorch, in the
      better of its two orders of axes
  convnets.py infer MODEL.onnx [--batch N] [--layout nmg:n=1,m=8,g=4,sparsity=0.875] [--threads N] [--rounds 3]
      a forward pass on images of 224 x 224: sten-bench model, dense and with that layout for 1x1 convolutions, beside
      ONNX Runtime, OpenVINO and DeepSparse on the same file, as far as they can be imported

It takes torch (step), numpy, and the runtimes. sten-bench is found in build/bin or PATH. Each figure is the median of the
turns of a process; a line is a round, in which each runtime has a process of its own."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = {"wrn-10-1": 128}


def sten(threads, arguments):
    """Rows of sten-bench."""
    beside = ROOT / "build/bin/sten-bench"
    program = str(beside) if beside.exists() else shutil.which("sten-bench")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([program, *arguments, "--threads", str(threads), "--report", str(path)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(path.read_text())["results"]


def ours(threads, arguments, layout):
    return next(r["ms"] for r in sten(threads, arguments) if r["form"] in ("dense", "forward") and r["layout"] == layout)


def median_ms(run, turns):
    seconds = []
    for _ in range(turns + 2):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds[2:])


def wide_resnet(depth, width):
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.bn1, self.bn2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.shortcut = None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

        def forward(self, x):
            y = functional.relu(self.bn1(x), inplace=True)
            z = self.conv2(functional.relu(self.bn2(self.conv1(y)), inplace=True))
            return z + (x if self.shortcut is None else self.shortcut(y))

    layers, inputs = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
    for stage, outputs in enumerate([16 * width, 32 * width, 64 * width]):
        for block in range((depth - 4) // 6):
            layers.append(Block(inputs, outputs, 2 if stage and not block else 1))
            inputs = outputs
    tail = [nn.BatchNorm2d(inputs), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10)]
    return nn.Sequential(*layers, *tail)


def torch_step(model, threads, turns):
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    kind, *numbers = model.split("-")
    batch, best = BATCH.get(model, 32), None
    for order in (torch.contiguous_format, torch.channels_last):
        torch.manual_seed(0)
        if kind == "wrn":
            net = wide_resnet(*map(int, numbers))
        else:
            import torchvision

            net = getattr(torchvision.models, "resnet" + numbers[0])(num_classes=10)
            net.conv1, net.maxpool = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False), torch.nn.Identity()
        net = net.to(memory_format=order)
        x = torch.randn(batch, 3, 32, 32).to(memory_format=order)
        y = torch.randint(0, 10, (batch,))
        optimizer = torch.optim.SGD(net.parameters(), 1e-3, 0.9, nesterov=True, weight_decay=5e-4)

        def step():
            optimizer.zero_grad()
            functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        took = median_ms(step, turns)
        best = took if best is None else min(best, took)
    return best


def forward(runtime, path, batch, threads, turns):
    import numpy

    x = numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), dtype=numpy.float32)
    if runtime == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, options)
        return median_ms(lambda: session.run(None, {session.get_inputs()[0].name: x}), turns)
    if runtime == "openvino":
        import openvino

        model = openvino.Core().read_model(path)
        model.reshape(list(x.shape))
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
        return median_ms(lambda: request.infer({0: x}), turns)
    import deepsparse

    engine = deepsparse.Engine(path, batch_size=batch, num_cores=threads)
    return median_ms(lambda: engine.run([x]), turns)


def apart(*arguments):
    """The figure of a runtime in a process of its own; None where it cannot be imported."""
    done = subprocess.run([sys.executable, __file__, "--worker", *map(str, arguments)], capture_output=True, text=True)
    return float(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.split() else None


def show(name, figures):
    known = {k: v for k, v in figures.items() if v is not None}
    print(f"{name}: " + ", ".join(f"{k} {v:.1f} ms" for k, v in known.items()), flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        what, model, *numbers = sys.argv[2:]
        run = torch_step if what == "step" else lambda *a: forward(what, *a)
        return print(run(model, *map(int, numbers)))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["step", "infer"])
    p.add_argument("file", nargs="?")
    p.add_argument("--model", action="append")
    p.add_argument("--layout")
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--turns", type=int, default=7)
    o = p.parse_args()
    turns = ["--repeats", str(o.turns)]
    for _ in range(o.rounds):
        if o.what == "step":
            for model in o.model or ["wrn-10-1", "resnet-18", "wrn-16-8"]:
                mine = ours(o.threads, ["step", "--shape", model, "--layouts", "dense", *turns], "dense")
                show(model, {"sten": mine, "PyTorch": apart("step", model, o.threads, o.turns)})
            continue
        arguments = ["model", "--model", o.file, "--batch", str(o.batch), "--window", "224", *turns]
        figures = {"sten": ours(o.threads, [*arguments, "--layouts", "dense"], "dense")}
        if o.layout:
            figures["sten " + o.layout] = ours(o.threads, [*arguments, "--layouts", o.layout], o.layout)
        for runtime in ("onnxruntime", "openvino", "deepsparse"):
            figures[runtime] = apart(runtime, o.file, o.batch, o.threads, o.turns)
        show(os.path.basename(o.file), figures)


main()
