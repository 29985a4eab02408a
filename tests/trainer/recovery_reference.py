#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pytorch_recovery.json beside this script: as pytorch_reference.py, for what brings the accuracy of
sparse models back. A run's teacher has the weights that its recipe begins with at the seed "teacher_seed".

    recovery_reference.py [FILE]
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from pytorch_reference import (
    BERT, CONSTANT, COSINE, HERE, IGNORED, SPARSE_MLP, Bert, Perceptron, Sparse, adamw, numbers_of,
    optimizer_and_rates, output_path, save_runs, select, sgd, sparse_weights,
)  # fmt: skip


def best_nm(w, n, m):
    """The n largest of each m in a row."""
    groups = np.abs(w).reshape(-1, m)
    keep = np.zeros(groups.shape, dtype=bool)
    np.put_along_axis(keep, np.argsort(-groups, axis=1, kind="stable")[:, :n], True, axis=1)
    return keep.reshape(w.shape)


def chosen(w, spec):
    name, numbers = numbers_of(spec)
    return best_nm(w, int(numbers["n"]), int(numbers["m"])) if name == "nm" else select(w, spec)


class Recovering(Sparse):
    """A weight whose mask changes as the entry's mask says."""

    def __init__(self, w, entry, steps):
        mask = entry.get("mask", {})
        super().__init__(w, entry | {"mask": {k: v for k, v in mask.items() if k in ("refresh", "end")}}, steps)
        self.how, self.decay = mask.get("kind", "refresh"), mask.get("decay", 2e-4)
        self.share = mask.get("share", 0.3)

    @torch.no_grad()
    def take(self, step):
        w = self.w.numpy()
        keep = torch.from_numpy(chosen(w, self.spec))
        self.back += bool((keep & (self.mask == 0)).any())
        self.mask = keep.double()
        if self.how == "straight-through":
            return
        self.w *= self.mask
        self.forget(step)

    def forget(self, step):
        for value in step.state[self.w].values():
            if torch.is_tensor(value) and value.shape == self.w.shape:
                value *= self.mask

    @torch.no_grad()
    def regrow(self, t, gradient, step):
        """RigL (Evci et al. 2020)."""
        done = (t - self.first) / (self.last - self.first)
        n = int(self.share * 0.5 * (1 + math.cos(math.pi * done)) * self.mask.sum().item())
        kept = self.mask.bool().flatten()
        size = torch.where(kept, self.w.abs().flatten(), torch.inf)
        kept[torch.argsort(size)[:n]] = False
        growth = torch.where(kept, -1.0, gradient.abs().flatten())
        kept[torch.argsort(growth, descending=True)[:n]] = True
        self.back += bool((kept & (self.mask.flatten() == 0)).any())
        self.mask = kept.reshape(self.mask.shape).double()
        self.w *= self.mask
        self.forget(step)


def divergence(logits, wanted, t):
    p, q = F.log_softmax(wanted / t, -1), F.log_softmax(logits / t, -1)
    return t * t * (p.exp() * (p - q)).sum(-1).mean()


class Mlp(Perceptron):
    def outputs(self, step):
        x, y = self.data.batch(step)
        states = []
        for layer in self.layers[:-1]:
            x = layer(x).relu()
            states.append(x)
        return self.layers[-1](x), y, states


class Words(Bert):
    def outputs(self, step):
        x, y = self.data.drawn(step * self.size, self.size)
        at = y != IGNORED
        out = self.bert(input_ids=x, output_hidden_states=True)
        return out.logits[at], y[at], out.hidden_states[1:]


MODELS = {"mlp": Mlp, "bert": Words}


def run_of(recipe, teacher_seed):
    make = MODELS[recipe["model"]["kind"]]
    model = make(recipe)
    teacher = make(recipe | {"seed": teacher_seed}) if "distillation" in recipe else None
    if teacher:
        teacher.data = model.data
    weights = list(model.parameters())
    step, rates = optimizer_and_rates(recipe, weights)
    sparse = sparse_weights(model, recipe, Recovering)
    losses = []
    for t in range(recipe["steps"]):
        dense = {}
        for s in sparse:
            s.begin(t, step)
            if s.how == "straight-through" and s.spec:
                s.take(step)
                dense[s] = s.w.detach().clone()
                with torch.no_grad():
                    s.w *= s.mask
        step.zero_grad()
        logits, y, states = model.outputs(t)
        loss = F.cross_entropy(logits, y, label_smoothing=recipe.get("label_smoothing", 0))
        if teacher:
            d = recipe["distillation"]
            with torch.no_grad():
                wanted, _, told = teacher.outputs(t)
            loss = (1 - d["logits"]) * loss + d["logits"] * divergence(logits, wanted, d["temperature"])
            if d.get("hidden"):
                loss = loss + d["hidden"] * sum(map(F.mse_loss, states, told)) / len(states)
        loss.backward()
        losses.append(loss.item())
        full = {}
        for s in sparse:
            if s in dense:
                with torch.no_grad():
                    s.w.copy_(dense[s])
                    s.w.grad += s.decay * (1 - s.mask) * s.w
                continue
            full[s] = s.w.grad.clone()
            if not (s.how == "refresh" and s.refreshes(t)):  # else the norm is that of the whole gradient
                s.w.grad *= s.mask
        if "clip" in recipe:
            norm = torch.nn.utils.clip_grad_norm_(weights, recipe["clip"])
        for s in full:
            if not s.refreshes(t):
                continue
            if s.how == "regrow":
                s.regrow(t, full[s], step)
                s.w.grad = None  # it is not updated in this step
            else:
                s.w.grad.copy_(full[s] * (min(1, recipe["clip"] / (norm + 1e-6)) if "clip" in recipe else 1))
        step.step()
        for s in full:
            if s.how == "refresh":
                s.end(t, step)
        rates.step()
    print(f"{recipe['name']:24} {losses[0]:.4f} to {losses[-1]:.4f}, "
          f"{sum(s.back for s in sparse)} masks with some that come back")  # fmt: skip
    return {"recipe": recipe, "losses": losses} | ({"teacher_seed": teacher_seed} if teacher else {})


LAYERS = "bert.encoder.layer.*.weight"
RUNS = [
    SPARSE_MLP | {"name": "mlp.smoothed", "optimizer": sgd(0.2), "rate": COSINE, "label_smoothing": 0.1},
    SPARSE_MLP | {
        "name": "mlp.distilled", "optimizer": sgd(0.2), "rate": CONSTANT,
        "distillation": {"logits": 0.7, "temperature": 3.0, "hidden": 0.5, "states": "layers.*.relu"},
        "sparsity": [{"target": "layers.*.weight", "sparsifier": "magnitude:sparsity=0.8"}]},
    BERT | {
        "name": "bert.distilled", "optimizer": adamw(0.002), "rate": CONSTANT, "clip": 1.0,
        "distillation": {"logits": 0.5, "temperature": 2.0, "hidden": 1.0},
        "sparsity": [{"target": LAYERS, "sparsifier": "nm:n=2,m=4"}]},
    SPARSE_MLP | {
        "name": "mlp.straight", "optimizer": sgd(0.2), "rate": CONSTANT,
        "sparsity": [{"target": "layers.0.weight", "sparsifier": "nm:n=2,m=4",
                      "mask": {"kind": "straight-through", "decay": 0.01}}]},
    SPARSE_MLP | {
        "name": "mlp.straight.nmg", "optimizer": adamw(0.005, eps=0.01), "rate": COSINE, "clip": 1.0,
        "sparsity": [{"target": "layers.0.weight", "sparsifier": "nmg:n=1,m=4,g=4",
                      "mask": {"kind": "straight-through", "decay": 0.001}}]},
    SPARSE_MLP | {
        "name": "mlp.regrow", "optimizer": sgd(0.2), "rate": CONSTANT,
        "sparsity": [{"target": "layers.*.weight", "sparsifier": "magnitude:sparsity=0.8",
                      "mask": {"kind": "regrow", "refresh": 7, "share": 0.4, "end": 40}}]},
    BERT | {
        "name": "bert.fixed", "optimizer": adamw(0.002), "rate": COSINE, "clip": 1.0,
        "sparsity": [{"target": LAYERS, "sparsifier": "magnitude:sparsity=0.75"}]},
    BERT | {
        "name": "bert.refresh", "optimizer": sgd(0.05), "rate": CONSTANT,
        "sparsity": [{"target": LAYERS, "sparsifier": "nm:n=1,m=4", "mask": {"refresh": 9}}]},
]  # fmt: skip


def main():
    path = output_path(HERE / "pytorch_recovery.json")
    save_runs(path, [run_of(recipe, 11) for recipe in RUNS])


if __name__ == "__main__":
    main()
