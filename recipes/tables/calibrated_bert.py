#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of calibrated_bert.sh as Markdown: calibrated_bert.py DIR"""
import json
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
found = {}  # (method, format): energy, error, loss, accuracy
for path in root.glob("*.run.json"):
    method, form = path.name.removesuffix(".run.json").split(",")
    run = json.loads(path.read_text())
    prune = json.loads((root / f"{method},{form}.prune.json").read_text())
    # Of the file: what of each pruned layer's outputs is lost, a mean.
    errors = [t["error"] for t in prune["tensors"] if t.get("error") is not None]
    error = sum(errors) / len(errors) if errors else None
    found[method, form] = (prune["total"]["energy"], error, run["loss"], run["accuracy"])
FORMATS = [f for f in ["50", "75", "90", "2:4:2", "1:4:4", "1:10:4"] if any(form == f for _, form in found)]
METHODS = [m for m in ["magnitude", "wanda", "ria", "reconstruct", "sparsegpt", "admm"] if any(m == n for n, _ in found)]
TITLES = {"reconstruct": "magnitude, `--reconstruct`", "magnitude": "magnitude"}


def shown(form):
    return f"`{form}`" if ":" in form else f"{form} %"


def table(title, text):
    print(f"| {title} | " + " | ".join(TITLES.get(m, f"`{m}`") for m in METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    for form in FORMATS:
        cells = [text(*found[m, form]) if (m, form) in found else "-" for m in METHODS]
        print("| " + " | ".join([shown(form)] + cells) + " |")
    print()


table("loss, right", lambda energy, error, loss, right: f"{loss:.3f}, {100 * right:.1f} %")
table("energy kept", lambda energy, error, loss, right: f"{100 * energy:.1f} %")
table("outputs lost", lambda energy, error, loss, right: "-" if error is None else f"{100 * error:.1f} %")


def ranks(values):
    """Of equal values, the mean of theirs."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) - 1) / 2 for x in values]


def spearman(pairs):
    """How well the order of the one tells that of the other: 1 as well as can be, 0 not at all."""
    a, b = (ranks(v) for v in zip(*pairs))
    mean = (len(a) - 1) / 2
    squares = [sum((x - mean) ** 2 for x in v) for v in (a, b)]
    if 0 in squares:
        return float("nan")
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / (squares[0] * squares[1]) ** 0.5


print("| rank correlation with the loss | of energy lost | of outputs lost |\n|---|---|---|")
groups = [(f"formats, by {TITLES.get(m, f'`{m}`')}", [(m, f) for f in FORMATS]) for m in METHODS]
groups += [(f"methods, at {shown(f)}", [(m, f) for m in METHODS]) for f in FORMATS]
for title, keys in groups:
    keys = [k for k in keys if k in found]
    if len(keys) < 3:
        continue
    known = [found[k] for k in keys if found[k][1] is not None]
    energy = spearman([(1 - e, loss) for e, _, loss, _ in (found[k] for k in keys)])
    error = f"{spearman([(e, loss) for _, e, loss, _ in known]):.2f}" if len(known) > 2 else "-"
    print(f"| {title} | {energy:.2f} | {error} |")
