#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of cifar_wrn.sh as Markdown, and draws curves.svg: cifar_wrn.py DIR STEPS MORE"""
import json
import pathlib
import sys

from loss_chart import panel, write_chart

root, steps, more = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
runs = {}  # (method, format): summaries
for path in sorted(root.glob("*,*,*/summary.json")):
    method, form, _ = path.parent.name.split(",")
    runs.setdefault((method, form), []).append(json.loads(path.read_text()))
formats = [f for f in ["50", "75", "90", "2:4:4", "1:4:4"] if any(form == f for _, form in runs)]
METHODS = ["one-shot", "iterative", "layer-wise"]


def cell(method, form):
    if (method, form) not in runs:
        return "-"
    hits = [100 * s["test"]["accuracy"] for s in runs[method, form]]
    return f"{sum(hits) / len(hits):.2f} ± {(max(hits) - min(hits)) / 2:.2f} %"


print(f"Dense: {cell('dense', 'trained')} after {steps} steps, {cell('dense', 'more')} after {more} more.\n")
print("| convolutions | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))
for form in formats:
    name = form if ":" in form else form + " %"
    print("| " + " | ".join([name] + [cell(m, form) for m in METHODS]) + " |")


# The mean training loss of the seeds, smoothed over a twentieth of the steps.
def curve(method, form):
    all_runs = []
    for path in sorted(root.glob(f"{method},{form},*/metrics.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        all_runs.append([(r["step"], r["loss"]) for r in lines if "loss" in r and "step" in r])
    if not all_runs:
        return []
    length = min(len(r) for r in all_runs)
    points = [(all_runs[0][i][0], sum(r[i][1] for r in all_runs) / len(all_runs)) for i in range(length)]
    span = max(1, length // 20)
    return [(points[i][0], sum(y for _, y in points[max(0, i - span + 1) : i + 1]) / min(span, i + 1))
            for i in range(length)]


panels = []
for form in formats:
    curves = {m: c for m in ["dense", *METHODS] if (c := curve(m, "more" if m == "dense" else form))}
    if curves:
        panels.append(panel(f'training loss, {form if ":" in form else form + " %"}', curves, from_zero=True))
write_chart(root / "curves.svg", panels)
