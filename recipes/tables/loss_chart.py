#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws losses by step as SVG. As a program, the validation losses of output directories of sten-train:

    recipes/tables/loss_chart.py OUT.svg LABEL=DIR...
"""
import json
import pathlib
import sys

COLOURS = ["#555555", "#2471a3", "#c0392b", "#1e8449", "#8e44ad", "#d68910"]
WIDTH, HEIGHT, EDGE = 560, 340, 48


def panel(title, curves, from_zero=False):
    """The body of a chart. curves: label -> [(step, loss), ...]. The top leaves the first twentieth of each out."""
    last = max(c[-1][0] for c in curves.values())
    top = max(y for c in curves.values() for _, y in c[len(c) // 20 :])
    low = 0 if from_zero else min(y for c in curves.values() for _, y in c)
    low, top = 0.05 * int(low / 0.05), 0.05 * (int(top / 0.05) + 1)

    def place(x, y):
        height = (min(y, top) - low) / (top - low) * (HEIGHT - 2 * EDGE)
        return f"{EDGE + x / last * (WIDTH - 2 * EDGE):.1f},{HEIGHT - EDGE - height:.1f}"

    body = [f'<text x="{EDGE}" y="24">{title}</text>']
    for i, (label, points) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = " ".join(place(x, y) for x, y in points)
        body.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{line}"/>')
        body.append(f'<text x="{WIDTH - EDGE - 60}" y="{EDGE + 16 * i}" fill="{colour}">{label}</text>')
    body.append(f'<path fill="none" stroke="black" d="M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}"/>')
    body.append(f'<text x="{EDGE - 36}" y="{EDGE + 4}">{top:.2f}</text>')
    body.append(f'<text x="{EDGE - 36}" y="{HEIGHT - EDGE + 4}">{low:.2f}</text>')
    body.append(f'<text x="{WIDTH - EDGE - 30}" y="{HEIGHT - EDGE + 18}">{last}</text>')
    return "".join(body)


def write_chart(path, panels):
    """Writes panels, one below the other."""
    groups = "".join(f'<g transform="translate(0 {HEIGHT * i})">{p}</g>' for i, p in enumerate(panels))
    pathlib.Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT * len(panels)}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>{groups}</svg>\n'
    )


def validation_losses(directory):
    lines = [json.loads(line) for line in (pathlib.Path(directory) / "metrics.jsonl").read_text().splitlines()]
    return [(r["step"], r["loss"]) for r in lines if r.get("split") == "validation"]


if __name__ == "__main__":
    runs = dict(arg.split("=", 1) for arg in sys.argv[2:])
    write_chart(sys.argv[1], [panel("validation loss by step", {k: validation_losses(v) for k, v in runs.items()})])
