#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs, trains and prunes every classification model of torchvision, with random weights, and writes the results into
the table of docs/models.md.

  all_models.py [--size 64] [--exporter torchscript|dynamo] [--results FILE] [MODEL...]

It needs torch, torchvision, onnx, onnxruntime and numpy, and the programs in STEN_BIN (default: build/bin). A model is
exported with running statistics of a few batches, and
  runs    if sten-run's outputs equal those of ONNX Runtime to 1e-4 of the largest
  trains  if sten-train takes two steps in which half of the elements of convolutions are 0, and the loss is finite
  pruned  if ONNX Runtime's outputs of the file that `sten-prune --sparsity 0.5` writes equal sten-run's

Results are appended to FILE, a line of JSON for each model; those in it are not computed again. The table is written
when FILE has all models."""

import argparse
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnxruntime
import torch
import torchvision
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from make_models import export, with_statistics  # noqa: E402
from pytorch import SOURCE  # noqa: E402

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
PROGRAMS = pathlib.Path(os.environ.get("STEN_BIN", SOURCE / "build/bin"))
# The earlier exporter refuses adaptive pools whose outputs do not divide their inputs.
SIZES = {"alexnet": 224, "vgg": 224, "inception": 96, "maxvit": 224}
TOO_LARGE = {"regnet_y_128gf", "vit_h_14"}  # for one ONNX file, which holds 2 GB
FAMILY = "efficientnet_v2|mobilenet_v[23]|regnet_[xy]|shufflenet_v2|swin_v2|wide_resnet|inception_v3|[a-z]+"
PAGE = SOURCE / "docs/models.md"
BEGIN, END = "<!-- torchvision -->\n", "<!-- /torchvision -->\n"


def made(name, size):
    torch.manual_seed(0)
    others = {}
    if name in ("googlenet", "inception_v3"):
        others = {"aux_logits": False, "init_weights": False}
    if name.startswith("vit"):
        others = {"image_size": size - size % int(name.split("_")[-1])}
    model = getattr(torchvision.models, name)(weights=None, **others)
    for module in model.modules():
        if isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight, std=0.02)  # the head of a vision transformer
    return with_statistics(model, torch.randn(2, 2, 3, size, size))


def size_of(name, size):
    for start, least in SIZES.items():
        if name.startswith(start):
            size = max(size, least)
    return size - size % int(name.split("_")[-1]) if name.startswith("vit") else size


def sten(program, *arguments):
    done = subprocess.run([PROGRAMS / f"sten-{program}", *map(str, arguments), "-q"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")


def difference(folder, file):
    """Between sten-run and ONNX Runtime, relative to the largest output."""
    x = np.load(folder / "x.npy")
    wanted = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(["y"], {"x": x})[0]
    sten("run", file, "--input", folder / "x.npy", "-o", f"y={folder}/y.npy", "-f")
    return float(abs(np.load(folder / "y.npy") - wanted).max() / abs(wanted).max())


def train(folder, file, targets):
    recipe = {
        "schema": 1, "model": {"kind": "onnx", "file": str(file)}, "steps": 2, "batch": 2,
        "data": {"kind": "arrays", "inputs": {"x": "x.npy"}, "labels": "labels.npy", "train": 1, "validation": 0},
        "optimizer": {"kind": "sgd", "rate": 1e-6}, "logging": {"every": 1},
        "sparsity": [{"target": name, "sparsifier": "magnitude:sparsity=0.5"} for name in targets],
    }  # fmt: skip
    (folder / "recipe.json").write_text(json.dumps(recipe))
    sten("train", folder / "recipe.json", "--out", folder / "run")
    losses = re.findall(r'"loss": *([^,}]+)', (folder / "run/metrics.jsonl").read_text())
    if len(losses) < 2 or not all(np.isfinite(float(v)) for v in losses):
        raise RuntimeError(f"losses {losses}")


def attempt(result, key, action):
    try:
        value = action()
        result[key] = True if value is None else value
    except Exception as e:  # noqa: BLE001
        result[key] = str(e).splitlines()[0][:200] if str(e) else type(e).__name__


def measure(name, given):
    size, start = size_of(name, given.size), time.time()
    result = {"model": name, "exporter": given.exporter, "size": size}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        file, pruned = folder / "model.onnx", folder / "pruned.onnx"
        model, x = made(name, size), torch.randn(2, 3, size, size)
        export(model, x, str(file), given.exporter)
        result["family"] = type(model).__name__
        targets = [f"{n}.weight" for n, m in model.named_modules() if isinstance(m, nn.Conv2d)][1:]
        np.save(folder / "x.npy", x.numpy())
        np.save(folder / "labels.npy", np.arange(2))
        del model
        attempt(result, "runs", lambda: difference(folder, file))
        if given.exporter == "torchscript":  # the other one folds batch norms, and so renames
            attempt(result, "trains", lambda: train(folder, file, targets or ["*weight"]))
        sten("prune", file, "-o", pruned, "--sparsity", "0.5")
        attempt(result, "pruned", lambda: difference(folder, pruned))
    result["seconds"] = round(time.time() - start)
    return result


def table(results):
    families = {}
    for r in results:
        families.setdefault(re.match(FAMILY, r["model"])[0], []).append(r)
    lines = ["| models | run | trained | pruned | largest difference |", "|---|---|---|---|---|"]
    for rows in families.values():
        counts = []
        for key in ("runs", "trains", "pruned"):
            good = sum(r[key] is True or (isinstance(r[key], float) and r[key] < 1e-4) for r in rows)
            counts.append(f"{good} of {len(rows)}")
        most = max(r[key] for r in rows for key in ("runs", "pruned") if isinstance(r[key], float))
        names = ", ".join(r["model"] for r in rows)
        lines.append(f"| {names} | {' | '.join(counts)} | {most:.1e} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--exporter", choices=["torchscript", "dynamo"], default="torchscript")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("torchvision.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    known = [json.loads(line) for line in given.results.open()] if given.results.exists() else []
    names = [n for n in torchvision.models.list_models(module=torchvision.models) if n not in TOO_LARGE]
    for name in given.models or names:
        if any(r["model"] == name and r["exporter"] == given.exporter for r in known):
            continue
        try:
            result = measure(name, given)
        except Exception as e:  # noqa: BLE001
            result = {"model": name, "exporter": given.exporter, "failed": str(e)[:300]}
        known.append(result)
        print(json.dumps(result), flush=True)
        with given.results.open("a") as out:
            print(json.dumps(result), file=out)
    done = [r for r in known if r["exporter"] == "torchscript" and "failed" not in r]
    if {r["model"] for r in done} == set(names):
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + table(done) + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
