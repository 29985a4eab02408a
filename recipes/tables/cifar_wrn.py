#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of cifar_wrn.sh as Markdown, and draws curves.svg: cifar_wrn.py DIR STEPS MORE"""
import json
import pathlib
import sys

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
COLOURS = {"dense": "#555555", "one-shot": "#c0392b", "iterative": "#2471a3", "layer-wise": "#1e8449"}
WIDTH, HEIGHT, EDGE = 480, 300, 40


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
for number, form in enumerate(formats):
    curves = {m: curve(m, "more" if m == "dense" else form) for m in COLOURS}
    curves = {m: c for m, c in curves.items() if c}
    if not curves:
        continue
    top = max(y for c in curves.values() for _, y in c[len(c) // 20 :])
    last = max(c[-1][0] for c in curves.values())
    body = [f'<text x="{EDGE}" y="20">training loss, {form if ":" in form else form + " %"}</text>']
    for i, (method, points) in enumerate(curves.items()):
        line = " ".join(f"{EDGE + x / last * (WIDTH - 2 * EDGE):.1f},"
                        f"{HEIGHT - EDGE - min(y, top) / top * (HEIGHT - 2 * EDGE):.1f}" for x, y in points)
        body.append(f'<polyline fill="none" stroke="{COLOURS[method]}" points="{line}"/>')
        body.append(f'<text x="{EDGE + 8}" y="{HEIGHT - EDGE - 60 + 16 * i}" fill="{COLOURS[method]}">{method}</text>')
    body.append(f'<path fill="none" stroke="black" d="M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}"/>')
    body.append(f'<text x="{EDGE - 36}" y="{EDGE}">{top:.2f}</text><text x="{EDGE - 14}" y="{HEIGHT - EDGE}">0</text>')
    body.append(f'<text x="{WIDTH - EDGE - 40}" y="{HEIGHT - EDGE + 18}">{last} steps</text>')
    panels.append(f'<g transform="translate(0 {HEIGHT * number})">{"".join(body)}</g>')
(root / "curves.svg").write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT * len(formats)}" font-family="sans-serif" '
    f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(panels)}</svg>\n')
