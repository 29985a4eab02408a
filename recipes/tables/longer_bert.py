#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of longer_bert.sh as Markdown, and draws curves.svg: longer_bert.py DIR"""
import json
import pathlib
import sys

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
    found = []
    for path in sorted(root.glob(f"{form},*/metrics.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found.append({r["step"]: r["loss"] for r in lines if r.get("split") == "validation"})
    steps = sorted(set.intersection(*(set(f) for f in found)))
    return [(s, sum(f[s] for f in found) / len(found)) for s in steps]


COLOURS = {"dense": "#555555", "75": "#2471a3", "90": "#c0392b", "2-4-2": "#1e8449", "1-4-4": "#8e44ad",
           "1-10-4": "#d68910"}  # fmt: skip
WIDTH, HEIGHT, EDGE = 560, 340, 48
curves = {f: c for f in ["dense", *formats] if f in COLOURS and (c := curve(f))}
if curves:
    last = max(c[-1][0] for c in curves.values())
    low = min(y for c in curves.values() for _, y in c)
    top = max(y for c in curves.values() for _, y in c[len(c) // 20 :])
    low, top = 0.05 * int(low / 0.05), 0.05 * (int(top / 0.05) + 1)

    def place(x, y):
        height = (min(y, top) - low) / (top - low) * (HEIGHT - 2 * EDGE)
        return f"{EDGE + x / last * (WIDTH - 2 * EDGE):.1f},{HEIGHT - EDGE - height:.1f}"

    body = [f'<text x="{EDGE}" y="24">validation loss by step</text>']
    for i, (form, points) in enumerate(curves.items()):
        line = " ".join(place(x, y) for x, y in points)
        body.append(f'<polyline fill="none" stroke="{COLOURS[form]}" stroke-width="1.5" points="{line}"/>')
        body.append(f'<text x="{WIDTH - EDGE - 60}" y="{EDGE + 16 * i}" fill="{COLOURS[form]}">{names.get(form, form)}</text>')
    body.append(f'<path fill="none" stroke="black" d="M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}"/>')
    body.append(f'<text x="{EDGE - 36}" y="{EDGE + 4}">{top:.2f}</text>')
    body.append(f'<text x="{EDGE - 36}" y="{HEIGHT - EDGE + 4}">{low:.2f}</text>')
    body.append(f'<text x="{WIDTH - EDGE - 30}" y="{HEIGHT - EDGE + 18}">{last}</text>')
    (root / "curves.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n')
