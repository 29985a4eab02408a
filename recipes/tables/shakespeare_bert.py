#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of shakespeare_bert.sh as Markdown: shakespeare_bert.py DIR STEPS"""
import json
import pathlib
import sys

runs = {}  # (method, format): summaries
for path in sorted(pathlib.Path(sys.argv[1]).glob("*,*,*/summary.json")):
    method, form, _ = path.parent.name.split(",")
    runs.setdefault((method, form), []).append(json.loads(path.read_text()))


def cell(method, form):
    before = method == "none" or method.endswith("_before")
    found = runs.get((method.removesuffix("_before"), form))
    if not found:
        return "-"
    which = "_before" if before else ""
    losses = [s["test"]["loss" + which] for s in found]
    hits = [s["test"]["accuracy" + which] for s in found]
    spread = f" ± {(max(losses) - min(losses)) / 2:.3f}" if len(found) > 1 else ""
    return f"{sum(losses) / len(losses):.3f}{spread}, {100 * sum(hits) / len(hits):.1f} %"


dense = runs["dense", "trained"][0]["test"]
print(f"As shipped: loss {dense['loss_before']:.3f}, {100 * dense['accuracy_before']:.1f} % right of "
      f"{dense['count']} predicted characters; after {sys.argv[2]} more dense steps "
      f"{dense['loss']:.3f}, {100 * dense['accuracy']:.1f} %.\n")
columns = [("untrained", "none"), ("admm, untrained", "admm_before"), ("one-shot", "one-shot"),
           ("iterative", "iterative"), ("layer-wise", "layer-wise"), ("from admm", "admm")]  # fmt: skip
print("| encoder weights | " + " | ".join(title for title, _ in columns) + " |\n|" + "---|" * (len(columns) + 1))
forms = [form for form in ["50", "75", "90", "2:4:2", "1:4:4", "1:10:4"] if any(form == f for _, f in runs)]
for form in forms:
    name = form if ":" in form else form + " %"
    print("| " + " | ".join([name] + [cell(method, form) for _, method in columns]) + " |")
print("\n| plain n:m beside n:m:g, one-shot | plain | in groups |\n|---|---|---|")
for plain, grouped in [("2:4", "2:4:2"), ("1:4", "1:4:4")]:
    print(f"| {plain}, {grouped} | {cell('one-shot', plain)} | {cell('one-shot', grouped)} |")
