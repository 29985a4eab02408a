#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small MLP on handwritten digits, with numpy alone: a trainer for sten-prune --finetune.

    digits_numpy.py dense OUT           trains a model from scratch
    digits_numpy.py tune IN OUT         trains IN further; weights that are 0 stay 0
    digits_numpy.py test FILE...        prints accuracy on held-out rows and sparsity of the weights, in percent

The same input and --seed give the same bytes. The data are recipes/data/digits.csv.
"""
import argparse
import json
import os
import pathlib
import struct

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums in one order, and small products are faster so
import numpy as np

LAYERS = (64, 128, 64, 10)


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]], "<f4").reshape(t["shape"]).copy()
            for name, t in header.items()}


def write(path, model):
    header, end = {}, 0
    for name, x in model.items():
        header[name] = {"dtype": "F32", "shape": x.shape, "data_offsets": [end, end + x.nbytes]}
        end += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(x.astype("<f4").tobytes() for x in model.values())


def digits():
    """Rows to train on, to watch the loss on, and held out: 60, 20 and 20 of 100."""
    path = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    x, y = rows[:, :-1] / 8 - 1, rows[:, -1].astype(int)
    part = np.random.default_rng(0).permutation(len(x)) % 5
    return [(x[which], y[which]) for which in (part < 3, part == 3, part == 4)]


def forward(model, x):
    """The inputs of every layer, and the logits."""
    inputs = []
    for k in range(1, len(LAYERS)):
        inputs.append(x)
        x = x @ model[f"fc{k}.weight"].T + model[f"fc{k}.bias"]
        if k < len(LAYERS) - 1:
            x = np.maximum(x, 0)
    return inputs, x


def log_softmax(logits):
    logits = logits - logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def loss(model, rows):
    x, y = rows
    return float(-log_softmax(forward(model, x)[1])[np.arange(len(y)), y].mean(dtype=np.float64))


def gradients(model, x, y):
    inputs, logits = forward(model, x)
    d = np.exp(log_softmax(logits))
    d[np.arange(len(y)), y] -= 1
    d /= len(y)
    grads = {}
    for k in range(len(LAYERS) - 1, 0, -1):
        grads[f"fc{k}.weight"], grads[f"fc{k}.bias"] = d.T @ inputs[k - 1], d.sum(0)
        d = (d @ model[f"fc{k}.weight"]) * (inputs[k - 1] > 0)
    return grads


def train(model, rows, epochs, rate, seed, batch=32, decay=1e-2):
    """AdamW, its rate falling to 0 along a cosine."""
    x, y = rows
    rng = np.random.default_rng(seed)
    kept = {name: w != 0 if w.ndim == 2 else np.ones(w.shape, bool) for name, w in model.items()}
    first = {name: np.zeros_like(w) for name, w in model.items()}
    second = {name: np.zeros_like(w) for name, w in model.items()}
    steps = epochs * -(-len(x) // batch)
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch):
            chosen = order[start:start + batch]
            now = np.float32(rate * (1 + np.cos(np.pi * step / steps)) / 2)
            step += 1
            for name, g in gradients(model, x[chosen], y[chosen]).items():
                first[name] = 0.9 * first[name] + 0.1 * g
                second[name] = 0.99 * second[name] + 0.01 * g * g
                move = first[name] / (1 - 0.9**step) / (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
                model[name] -= now * (move + decay * model[name])
                model[name] *= kept[name]
    return model


def fresh(seed):
    rng = np.random.default_rng(seed)
    model = {}
    for k, (inputs, outputs) in enumerate(zip(LAYERS, LAYERS[1:]), 1):
        model[f"fc{k}.weight"] = rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs)).astype(np.float32)
        model[f"fc{k}.bias"] = np.zeros(outputs, np.float32)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("dense", "tune"):
        command = commands.add_parser(name)
        if name == "tune":
            command.add_argument("input")
        command.add_argument("output")
        command.add_argument("--epochs", type=int, default={"dense": 60, "tune": 20}[name])
        command.add_argument("--rate", type=float, default={"dense": 3e-3, "tune": 2e-3}[name])
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--metrics", help="where to write the losses before and after, as JSON")
    commands.add_parser("test").add_argument("files", nargs="+")
    o = parser.parse_args()

    trained_on, watched, held_out = digits()
    if o.command == "test":
        for path in o.files:
            x, y = held_out
            model = read(path)
            weights = np.concatenate([w.ravel() for w in model.values() if w.ndim == 2])
            print(f"{100 * (forward(model, x)[1].argmax(1) == y).mean():.2f} {100 * (weights == 0).mean():.2f}")
        return
    model = read(o.input) if o.command == "tune" else fresh(o.seed)
    before = loss(model, watched)
    train(model, trained_on, o.epochs, o.rate, o.seed)
    if o.metrics:
        pathlib.Path(o.metrics).write_text(json.dumps({"loss": loss(model, watched), "loss_before": before}))
    write(o.output, model)


if __name__ == "__main__":
    main()
