#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pytorch.json beside this script: recipes, and what becomes of them in PyTorch, for the tests to
compare with.

    runs       the loss of each of 50 steps; and of runs that make weights sparse, what they keep at the end
    measured   the shipped BERT's loss and accuracy on the part of its text that it was not trained on

    pytorch_reference.py [FILE]

It needs numpy, scipy, torch and transformers (the file is that of torch 2.5.1 and transformers 4.57). Which weights training begins
with, which rows or characters are in which batch, and which of them are to be predicted follows from the
recipe's seed by rules that libsten/model/graph/initial.cpp and libsten/data have, and this script has again.
Computed in float64, from weights that float32 has.
"""

import csv
import fnmatch
import itertools
import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from pytorch import (  # noqa: E402
    index_below, initial, output_path, random_bits, random_uniform, save_runs, seed_for, shuffled,
)  # fmt: skip

IGNORED = -100
MEASURED_SEED = 1  # of masks that are measured on, whatever the recipe's seed

# ------------------------------------------------------------------------------------------ data


def ends_of(n, data):
    """Where the train, validation and test splits of n rows or characters end."""
    first = math.floor(data["train"] * n + 1e-9)
    return first, math.floor((data["train"] + data["validation"]) * n + 1e-9), n


def batch_of(n, recipe, step):
    """The rows, of n, of a step's batch."""
    size = recipe["batch"]
    epoch, i = divmod(step, -(-n // size))
    order = shuffled(n, int(random_bits(seed_for(recipe["seed"], "epoch"), epoch)[0]))
    return order[i * size : (i + 1) * size]


class Examples:
    """x and y by rows."""

    def __init__(self, x, y, recipe):
        self.x, self.y, self.recipe = x, y, recipe

    def batch(self, step):
        rows = torch.from_numpy(batch_of(len(self.x), self.recipe, step))
        return self.x[rows], self.y[rows]


class Digits(Examples):
    def __init__(self, recipe):
        data = recipe["data"]
        with open(HERE / data["file"], newline="") as file:
            rows = np.array([[int(v) for v in row] for row in list(csv.reader(file))[1:]])
        chosen = shuffled(len(rows), data["split_seed"])[: ends_of(len(rows), data)[0]]
        x = torch.tensor(rows[chosen, :-1] * data["scale"] + data["shift"], dtype=torch.float64)
        super().__init__(x, torch.tensor(rows[chosen, -1]), recipe)


class MaskedText:
    def __init__(self, recipe, seed, split):
        data = recipe["data"]
        self.ids = json.loads((HERE / data["vocabulary"]).read_text())
        text = (HERE / data["text"]).read_text()
        text = np.array([self.ids.get(c, self.ids["[UNK]"]) for c in text])
        ends = (0, *ends_of(len(text), data))
        self.text = text[ends[split] : ends[split + 1]]
        self.characters = np.array(sorted(i for c, i in self.ids.items() if len(c) == 1))
        self.data, self.seed = data, seed

    def sequence(self, q, start):
        """What is seen of a window, and what is to be predicted there."""
        data, window = self.data, self.data["window"]
        y = self.text[start : start + window]
        seed = int(random_bits(seed_for(self.seed, "masks"), q)[0])
        t = 3 * np.arange(window)
        chosen = random_uniform(seed, t) < data["predicted"]
        how = random_uniform(seed, t + 1)
        other = self.characters[index_below(seed, t + 2, len(self.characters))]
        shown = np.where(how < data["masked"] + data["random"], other, y)
        shown = np.where(how < data["masked"], self.ids["[MASK]"], shown)
        return np.where(chosen, shown, y), np.where(chosen, y, IGNORED)

    def stack(self, sequences):
        x, y = zip(*sequences)
        return torch.from_numpy(np.stack(x)), torch.from_numpy(np.stack(y))

    def drawn(self, first, count):
        def start(q):
            last = len(self.text) - self.data["window"]
            return int(index_below(seed_for(self.seed, "starts"), q, last + 1)[0])

        return self.stack(self.sequence(q, start(q)) for q in range(first, first + count))

    def all(self, size):
        window = self.data["window"]
        n = len(self.text) // window
        for k in range(0, n, size):
            yield self.stack(self.sequence(q, q * window) for q in range(k, min(n, k + size)))


# ---------------------------------------------------------------------------------------- models


class Perceptron(torch.nn.Module):
    def __init__(self, recipe):
        super().__init__()
        sizes = recipe["model"]["sizes"]
        pairs = list(zip(sizes, sizes[1:]))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(i, o) for i, o in pairs)
        self.double()
        with torch.no_grad():
            for name, w in self.named_parameters():
                inputs = sizes[int(name.split(".")[1])]
                w.copy_(initial(name, w.shape, recipe["seed"], bound=1 / math.sqrt(inputs)))
        self.data = Digits(recipe)

    def loss(self, step):
        x, y = self.data.batch(step)
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return F.cross_entropy(self.layers[-1](x), y)


def shipped_bert(recipe):
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig.from_json_file(HERE / recipe["model"]["config"])
    config._attn_implementation = "eager"
    return BertForMaskedLM(config).double().eval()


@torch.no_grad()
def initialize_bert(bert, seed):
    for name, w in bert.named_parameters():
        if name.endswith("bias"):
            w.zero_()
        elif "LayerNorm" in name:
            w.fill_(1)
        else:
            w.copy_(initial(name, w.shape, seed, std=bert.config.initializer_range))


class Bert(torch.nn.Module):
    def __init__(self, recipe):
        super().__init__()
        self.bert, self.size = shipped_bert(recipe), recipe["batch"]
        initialize_bert(self.bert, recipe["seed"])
        self.data = MaskedText(recipe, recipe["seed"], 0)

    def loss(self, step):
        x, y = self.data.drawn(step * self.size, self.size)
        return F.cross_entropy(self.bert(input_ids=x).logits.flatten(0, 1), y.flatten())


# -------------------------------------------------------------------------------------- sparsity


def numbers_of(spec):
    name, _, rest = spec.partition(":")
    return name, {k: float(v) for k, v in (item.split("=") for item in rest.split(","))}


def largest(w, sparsity):
    """All but the smallest; among equals the later goes first."""
    drop = math.floor(sparsity * w.size + 0.5)
    order = np.lexsort((-np.arange(w.size), np.abs(w).ravel()))
    mask = np.ones(w.size, dtype=bool)
    mask[order[:drop]] = False
    return mask.reshape(w.shape)


def best_nmg(w, n, m, g):
    """One pattern of n of m rows for each column of a chunk, each pattern g times, so that most stays."""
    from scipy.optimize import linear_sum_assignment

    patterns = list(itertools.combinations(range(m), n))
    strips = len(patterns) * g
    mask = np.zeros(w.shape, dtype=bool)
    for r, c in itertools.product(range(0, w.shape[0], m), range(0, w.shape[1], strips)):
        chunk = np.zeros((m, strips))
        part = np.abs(w[r : r + m, c : c + strips])
        chunk[: part.shape[0], : part.shape[1]] = part
        scores = np.stack([chunk[list(p)].sum(0) for p in patterns])
        strip, slot = linear_sum_assignment(np.repeat(scores, g, axis=0).T, maximize=True)
        keep = np.zeros(chunk.shape, dtype=bool)
        for s, p in zip(strip, slot // g):
            keep[list(patterns[p]), s] = True
        mask[r : r + m, c : c + strips] = keep[: part.shape[0], : part.shape[1]]
    return mask


def select(w, spec):
    name, numbers = numbers_of(spec)
    if name == "magnitude":
        return largest(w, numbers["sparsity"])
    return best_nmg(w, *(int(numbers[k]) for k in "nmg"))


class Sparse:
    """A weight that becomes sparse as an entry of the recipe says."""

    def __init__(self, w, entry, steps):
        self.w, self.mask, self.spec = w, torch.ones_like(w), None
        self.back = 0  # masks with weights that were pruned before
        schedule = entry.get("schedule", {"kind": "one-shot"})
        self.first, self.every = schedule.get("begin", 0), entry.get("mask", {}).get("refresh", 0)
        self.last = entry.get("mask", {}).get("end", steps) if self.every else 0
        spec, stages = entry["sparsifier"], schedule.get("stages", 1)
        length = schedule.get("end", steps) - self.first
        self.stages = {}  # by step
        for i in range(stages):
            if schedule["kind"] == "cubic" and i < stages - 1:
                a, b = schedule.get("from", 0), numbers_of(spec)[1]["sparsity"]
                sparsity = b + (a - b) * (1 - (i + 1) / stages) ** 3
                self.stages[self.first + i * length // stages] = f"magnitude:sparsity={sparsity:.12f}"
            else:
                self.stages[self.first + i * length // stages] = spec

    @torch.no_grad()
    def take(self, step):
        """A new mask by the weight's values. Float32 has to find the same one."""
        w = self.w.numpy()
        keep = select(w, self.spec)
        for seed in range(4):
            noise = 1 + 2e-6 * (2 * random_uniform(seed, np.arange(w.size)) - 1)
            assert (select(w * noise.reshape(w.shape), self.spec) == keep).all(), "rounding may decide"
        keep = torch.from_numpy(keep)
        self.back += bool((keep & (self.mask == 0)).any())
        self.mask = keep.double()
        self.w *= self.mask
        for name, value in step.state[self.w].items():
            if torch.is_tensor(value) and value.shape == self.w.shape:
                value *= self.mask

    def begin(self, t, step):
        if t in self.stages:
            self.spec = self.stages[t]
            self.take(step)

    def refreshes(self, t):
        return self.every > 0 and self.first < t < self.last and (t - self.first) % self.every == 0

    def end(self, t, step):
        if self.refreshes(t):
            self.take(step)


# -------------------------------------------------------------------------------------- training


def optimizer_and_rates(recipe, weights):
    o = recipe["optimizer"]
    if o["kind"] == "sgd":
        step = torch.optim.SGD(weights, lr=o["rate"], momentum=o["momentum"], nesterov=o["nesterov"],
                               weight_decay=o["weight_decay"])  # fmt: skip
    else:
        step = torch.optim.AdamW(weights, lr=o["rate"], betas=(o["beta1"], o["beta2"]), eps=o["eps"],
                                 weight_decay=o["weight_decay"])  # fmt: skip
    return step, torch.optim.lr_scheduler.LambdaLR(step, factor_of(recipe["rate"], recipe["steps"]))


def factor_of(rate, steps):
    """Of the learning rate, by step."""

    def factor(t):
        if t < rate["warmup"]:
            return (t + 1) / rate["warmup"]
        if rate["kind"] == "constant":
            return 1
        done = (t - rate["warmup"]) / (steps - rate["warmup"])
        return rate["end"] + (1 - rate["end"]) * (1 + math.cos(math.pi * done)) / 2

    return factor


def sparse_weights(model, recipe, kind=Sparse):
    """Matrices of the model that an entry of the recipe's sparsity selects."""
    names = dict(model.bert.named_parameters() if hasattr(model, "bert") else model.named_parameters())
    return [kind(w, entry, recipe["steps"]) for entry in recipe.get("sparsity", [])
            for name, w in names.items() if fnmatch.fnmatchcase(name, entry["target"]) and w.dim() > 1]  # fmt: skip


MODELS = {"mlp": Perceptron, "bert": Bert}


def run_of(recipe):
    model = MODELS[recipe["model"]["kind"]](recipe)
    weights = list(model.parameters())
    step, rates = optimizer_and_rates(recipe, weights)
    sparse = sparse_weights(model, recipe)
    losses, clipped = [], 0
    for t in range(recipe["steps"]):
        for s in sparse:
            s.begin(t, step)
        step.zero_grad()
        loss = model.loss(t)
        loss.backward()
        # Pruned weights have a gradient, which counts in the norm, only in the steps before a new mask.
        for s in sparse:
            if not s.refreshes(t):
                s.w.grad *= s.mask
        if "clip" in recipe:
            norm = torch.nn.utils.clip_grad_norm_(weights, recipe["clip"])
            clipped += bool(norm > recipe["clip"])
        step.step()
        for s in sparse:
            s.end(t, step)
        rates.step()
        losses.append(loss.item())
    print(f"{recipe['name']:24} {losses[0]:.4f} to {losses[-1]:.4f}, {clipped} steps clipped, "
          f"{len(sparse)} sparse weights, {sum(s.back for s in sparse)} masks with some that come back")  # fmt: skip
    run = {"recipe": recipe, "losses": losses}
    if sparse:
        run["kept"] = sum(int(s.mask.sum()) for s in sparse)
    if hasattr(model, "evaluated"):
        run["evaluated"] = model.evaluated()
    return run


@torch.no_grad()
def measure(recipe):
    from safetensors.torch import load_file

    model = shipped_bert(recipe)
    missing, unexpected = model.load_state_dict(load_file(HERE / recipe["model"]["weights"]), strict=False)
    assert not unexpected and all("decoder" in name for name in missing), (missing, unexpected)
    model.tie_weights()
    loss = hits = count = 0
    for x, y in MaskedText(recipe, MEASURED_SEED, 2).all(32):
        logits, wanted = model(input_ids=x).logits[y != IGNORED], y[y != IGNORED]
        loss += F.cross_entropy(logits, wanted, reduction="sum").item()
        hits += (logits.argmax(-1) == wanted).sum().item()
        count += len(wanted)
    print(f"{recipe['name']:24} {loss / count:.4f}, {100 * hits / count:.2f} % of {count}")
    return {"loss": loss / count, "accuracy": hits / count, "count": count}


# --------------------------------------------------------------------------------------- recipes

CONSTANT = {"kind": "constant", "warmup": 0}
COSINE = {"kind": "cosine", "warmup": 10, "end": 0.1}
MLP = {
    "schema": 1,
    "model": {"kind": "mlp", "sizes": [64, 32, 10]},
    "data": {"kind": "csv", "file": "../../recipes/data/digits.csv", "train": 0.8, "validation": 0.1,
             "split_seed": 3, "scale": 0.125, "shift": -1.0},
    "steps": 50,
    "batch": 32,
    "seed": 5,
}  # fmt: skip
TEXT = {
    "kind": "masked-text",
    "text": "../../recipes/data/tinyshakespeare.txt",
    "vocabulary": "../../recipes/models/shakespeare-bert/vocab.json",
    "train": 0.9,
    "validation": 0.05,
    "window": 32,
    "predicted": 0.15,
    "masked": 0.8,
    "random": 0.1,
}
BERT = {
    "schema": 1,
    "model": {"kind": "bert", "config": "small-bert.json"},
    "data": TEXT,
    "steps": 50,
    "batch": 8,
    "seed": 7,
}


def sgd(rate, momentum=0.9, nesterov=False, weight_decay=0.0):
    return {"kind": "sgd", "rate": rate, "momentum": momentum, "nesterov": nesterov,
            "weight_decay": weight_decay}  # fmt: skip


def adamw(rate, beta2=0.999, weight_decay=0.01, eps=1e-8):
    return {"kind": "adamw", "rate": rate, "beta1": 0.9, "beta2": beta2, "eps": eps,
            "weight_decay": weight_decay}  # fmt: skip


# Rows whose constant columns are 0: the weights of others would be equal, and rounding decide.
SPARSE_MLP = MLP | {"data": MLP["data"] | {"scale": 0.0625, "shift": 0.0}}
# Weights come back.
RISING = {"target": "layers.*.weight", "sparsifier": "magnitude:sparsity=0.5",
          "schedule": {"kind": "cubic", "stages": 6, "begin": 4, "end": 34},
          "mask": {"refresh": 5, "end": 45}}  # fmt: skip
RUNS = [
    MLP | {"name": "mlp.sgd", "optimizer": sgd(0.05), "rate": CONSTANT},
    MLP | {"name": "mlp.nesterov", "optimizer": sgd(0.05, nesterov=True), "rate": CONSTANT},
    MLP | {"name": "mlp.adamw", "optimizer": adamw(0.005), "rate": CONSTANT},
    MLP | {"name": "mlp.sgd.all", "optimizer": sgd(0.2, nesterov=True, weight_decay=0.01), "rate": COSINE,
           "clip": 0.5},
    BERT | {"name": "bert.sgd", "optimizer": sgd(0.05), "rate": CONSTANT},
    BERT | {"name": "bert.nesterov", "optimizer": sgd(0.05, nesterov=True), "rate": CONSTANT},
    BERT | {"name": "bert.adamw", "optimizer": adamw(0.002), "rate": CONSTANT},
    BERT | {"name": "bert.adamw.all", "optimizer": adamw(0.01, 0.98, 0.1), "rate": COSINE, "clip": 1.0},
    SPARSE_MLP | {
        "name": "mlp.fixed.sgd", "optimizer": sgd(0.2, nesterov=True, weight_decay=0.01), "rate": COSINE, "clip": 0.5,
        "sparsity": [{"target": "layers.*.weight", "sparsifier": "magnitude:sparsity=0.8",
                      "schedule": {"kind": "one-shot", "begin": 10}}]},
    SPARSE_MLP | {
        "name": "mlp.fixed.adamw", "optimizer": adamw(0.005), "rate": CONSTANT,
        "sparsity": [{"target": "layers.*.weight", "sparsifier": "magnitude:sparsity=0.9"}]},
    SPARSE_MLP | {
        "name": "mlp.refresh.sgd", "optimizer": sgd(0.5, weight_decay=0.01), "rate": COSINE, "clip": 0.5,
        "sparsity": [RISING]},
    SPARSE_MLP | {
        "name": "mlp.refresh.adamw", "optimizer": adamw(0.1, eps=0.01), "rate": CONSTANT, "sparsity": [RISING]},
    SPARSE_MLP | {
        "name": "mlp.nmg.adamw", "optimizer": adamw(0.005), "rate": CONSTANT,
        "sparsity": [{"target": "layers.*.weight", "sparsifier": "nmg:n=1,m=4,g=4",
                      "schedule": {"kind": "one-shot", "begin": 5}}]},
    SPARSE_MLP | {
        "name": "mlp.nmg.refresh", "optimizer": sgd(0.2, weight_decay=0.01), "rate": CONSTANT, "clip": 0.5,
        "sparsity": [{"target": "layers.0.weight", "sparsifier": "nmg:n=2,m=4,g=2",
                      "mask": {"refresh": 6, "end": 40}}]},
    BERT | {
        "name": "bert.nmg.adamw", "optimizer": adamw(0.002), "rate": CONSTANT, "clip": 1.0,
        "sparsity": [{"target": "bert.encoder.layer.*.weight", "sparsifier": "nmg:n=1,m=4,g=4",
                      "schedule": {"kind": "one-shot", "begin": 5}}]},
]  # fmt: skip
SHIPPED = "../../recipes/models/shakespeare-bert/"
MEASURED = BERT | {
    "name": "shakespeare-bert",
    "model": {"kind": "bert", "config": SHIPPED + "config.json", "weights": SHIPPED + "model.safetensors"},
    "data": TEXT | {"window": 128},
}


def main():
    path = output_path(HERE / "pytorch.json")
    runs = [run_of(recipe) for recipe in RUNS]
    save_runs(path, runs, measured={"recipe": MEASURED} | measure(MEASURED))


if __name__ == "__main__":
    main()
