#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of longer_bert.sh as Markdown, and draws curves.svg: longer_bert.py DIR"""
import json
import pathlib
import sys

from loss_chart import panel, validation_losses, write_chart

root = pathlib.Path(sys.argv[1])
runs = {}  # format: summaries
for path in sorted(root.glob("*,*/summary.json")):
    runs.setdefault(path.parent.name.split(",")[0], []).append(json.loads(path.read_text()))
FORMATS = ["75", "90", "2-4-2", "1-4-4", "1-10-4"]
# Whole tiles.
FORMATS += sorted((f for f in runs if f.count("-") == 3), key=lambda f: [int(n) for n in f.split("-")])
names = {f: f"{f} %" if f.isdigit() else f.replace("-", ":") for f in FORMATS}


def mean(form, key):
    values = [s["test"][key] for s in runs[form]]
    return sum(values) / len(values), (max(values) - min(values)) / 2, len(values)


def cell(form):
    loss, spread, count = mean(form, "loss")
    shown = f"{loss:.3f}" + (f" ± {spread:.3f}" if count > 1 else "")
    return f"{shown}, {100 * mean(form, 'accuracy')[0]:.1f} %"


dense = runs["dense"][0]["test"]
print(f"Dense, before: loss {dense['loss_before']:.3f}, {100 * dense['accuracy_before']:.1f} % right of "
      f"{dense['count']} predicted characters; after: {cell('dense')}.\n")  # fmt: skip
print("| encoder weights | loss, right | apart from the dense loss |\n|---|---|---|")
formats = [f for f in FORMATS if f in runs]
for form in formats:
    print(f"| {names[form]} | {cell(form)} | {mean(form, 'loss')[0] - dense['loss']:+.3f} |")


# The validation loss, a mean of seeds, by step.
def curve(form):
    found = [dict(validation_losses(path.parent)) for path in sorted(root.glob(f"{form},*/metrics.jsonl"))]
    steps = sorted(set.intersection(*(set(f) for f in found)))
    return [(s, sum(f[s] for f in found) / len(found)) for s in steps]


curves = {names.get(f, f): c for f in ["dense", "75", "90", "2-4-2", "1-4-4", "1-10-4"] if f in runs and (c := curve(f))}
if curves:
    write_chart(root / "curves.svg", [panel("validation loss by step", curves)])
