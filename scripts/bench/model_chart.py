# SPDX-License-Identifier: Apache-2.0
"""Prunes the shipped BERT with calibration, stores the results in sparse layouts, and draws size on disk
and speed of the encoder against accuracy: model_chart.py OUT.svg. The programs have to be on PATH."""

import json
import pathlib
import subprocess
import sys
import tempfile
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "recipes/models/shakespeare-bert"
RECIPE = ROOT / "recipes/shakespeare-bert-one-shot.json"
ENCODER = "bert.encoder.layer.*.weight"
# label, options of sten-prune, layout of the file, layout of sten-bench
SERIES = {
    "unstructured (file: bitmask, run: csr)": [
        (f"{s} %", ["--sparsity", f"{s}%"], "bitmask", f"csr:sparsity={s / 100}") for s in (50, 75, 90)
    ],
    "n:m:g (file and run: nmg)": [
        (f"{n}:{m}:{g}", ["--structure", f"{n}:{m}:{g}"], "nmg", f"nmg:n={n},m={m},g={g},sparsity={1 - n / m:g}")
        for n, m, g in ((2, 4, 2), (1, 4, 4), (1, 10, 4))
    ],
}
COLOURS = ["#0072b2", "#d55e00"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 240, 62, 62, 62  # pixels of a panel, and around the panels


def run(*command):
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)


def accuracy(weights):
    text = subprocess.run(
        ["sten-run", str(weights), "--data", str(RECIPE), "--split", "test", "--json", "-q"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return 100 * json.loads(text)["accuracy"]


def measure(folder):
    """{series: [(label, MB, speed, accuracy in %)]}, each with the dense model first; name of the CPU."""
    weights = MODEL / "model.safetensors"
    layouts = [layout for points in SERIES.values() for _, _, _, layout in points]
    run("sten-bench", "model", "--config", MODEL / "config.json", "--weights", weights, "--window", 128, "-q",
        "--report", folder / "speed.json", *[x for layout in layouts for x in ("--layouts", layout)])  # fmt: skip
    report = json.loads((folder / "speed.json").read_text())
    speed = {r["layout"]: r["ratio"] for r in report["results"] if r["form"] == "forward"}
    dense = ("dense", weights.stat().st_size / 1e6, 1.0, accuracy(weights))
    out = {}
    for name, points in SERIES.items():
        out[name] = [dense]
        for label, options, layout, measured in points:
            pruned = folder / "pruned.safetensors"
            run("sten-prune", weights, "-o", pruned, "-f", "-q", "--calibrate", RECIPE, "--method", "admm",
                "--include", ENCODER, "--to", layout, *options)  # fmt: skip
            out[name].append((label, pruned.stat().st_size / 1e6, speed[measured], accuracy(pruned)))
    return out, report["machine"]["cpu"]


def panel(left, title, column, ticks, unit, results):
    """One panel: accuracy over one column of the results."""
    right, bottom, out = left + WIDTH, TOP + HEIGHT, []

    def text(x, y, what, anchor="middle", style=""):
        out.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{style}>{escape(what)}</text>')

    def across(value):
        return left + WIDTH * (value - ticks[0]) / (ticks[-1] - ticks[0])

    def down(percent):
        return bottom - HEIGHT * (percent - 30) / 40

    text((left + right) / 2, TOP - 14, title, style=' font-weight="bold"')
    for percent in range(30, 71, 10):
        out.append(f'<path d="M{left} {down(percent):.1f}H{right}" stroke="#ddd"/>')
        text(left - 8, down(percent) + 4, f"{percent} %", "end")
    for tick in ticks:
        text(across(tick), bottom + 20, f"{tick:g}{unit}")
    for colour, points in zip(COLOURS, results.values()):
        path = "L".join(f"{across(p[column]):.1f} {down(p[3]):.1f}" for p in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in points:
            x, y = across(p[column]), down(p[3])
            tip = f"{p[0]}: {p[1]:.2f} MB, {p[2]:.2f} times the dense speed, {p[3]:.1f} % correct"
            out.append(f'<g><title>{escape(tip)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/></g>')
            if colour == COLOURS[0]:  # the first series above its line, the second below
                text(x, y - 9, p[0], style="" if p is points[0] else f' fill="{colour}"')
            elif p is not points[0]:
                text(x, y + 19, p[0], style=f' fill="{colour}"')
    out.append(f'<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#666"/>')
    return out


def draw(results, cpu):
    fastest = max(p[2] for points in results.values() for p in points)
    step = 0.2 if fastest < 2 else 0.5
    speeds = [1 - step + step * i for i in range(int((fastest - 1) / step) + 3)]
    body = [f'<text x="{LEFT}" y="22" font-size="15">Correct predictions of the shipped BERT, pruned without training'
            "</text>"]  # fmt: skip
    body += panel(LEFT, "size on disk", 1, range(7), " MB", results)
    body += panel(LEFT + WIDTH + GAP, "speed of the encoder, 1x: dense", 2, speeds, "x", results)
    y = TOP + HEIGHT + 48
    for colour, name in zip(COLOURS, results):
        body.append(f'<circle cx="{LEFT + 5}" cy="{y - 4}" r="4" fill="{colour}"/>')
        body.append(f'<text x="{LEFT + 16}" y="{y}">{escape(name)}</text>')
        y += 20
    body.append(f'<text x="{LEFT}" y="{y}" fill="#666">32 sequences of 128 characters, one thread, {escape(cpu)}</text>')
    size = f'width="{LEFT + 2 * (WIDTH + GAP)}" height="{y + 14}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit("model_chart.py: expected one argument, OUT.svg")
    with tempfile.TemporaryDirectory() as folder:
        results, cpu = measure(pathlib.Path(folder))
    for name, points in results.items():
        for p in points:
            print(f"{name:<40} {p[0]:>7} {p[1]:6.2f} MB {p[2]:5.2f}x {p[3]:5.1f} %")
    pathlib.Path(sys.argv[1]).write_text(draw(results, cpu))


main()
