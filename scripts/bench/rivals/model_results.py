# SPDX-License-Identifier: Apache-2.0
"""From what was measured of models to tables and a chart."""

import csv
import io
import json

import chart
import model_plan
import results

KEYS = ["model", "batch", "tokens", "threads", "weights", "sparsity", "precision", "runtime"]
KEYS += ["version", "note", "ms", "to_dense", "to_dense_low", "to_dense_high", "dense"]
KEYS += ["best_rival", "best_rival_ms", "ratio", "ratio_low", "ratio_high"]
KEYS += ["difference", "largest", "rounds"]


def group_of(row):
    return row["model"], row["batch"], row["tokens"], row["threads"]


def groups(rows):
    """{(model, batch, tokens, threads): its rows}, in the order of the rows."""
    out = {}
    for row in rows:
        out.setdefault(group_of(row), []).append(row)
    return out


def describe(group):
    model, batch, tokens, threads = group
    return f"{model} {batch}x{tokens}, {threads} thread{'s' if threads > 1 else ''}"


def merge(model, documents):
    """One document of several runs of that model. ValueError where they do not fit."""
    merged = results.merge(documents, "models", groups, describe)
    for path, d in documents:
        for row in d["models"]:
            if row["model"] != model:
                raise ValueError(f"{path}: is of another model, {row['model']}")
    return merged


def text_of(value):
    return results.shown("ms", value)


def main_table(rows):
    """A row for each of sten's: beside the fastest rival with the same zeros, and the fastest dense
    model."""
    titles = ["model", "size", "threads", "weights", "zeros", "precision", "sten ms", "best rival"]
    titles += ["its ms"]
    titles += ["ratio", "low", "high", "to dense", "rivals, ms"]
    cells = []
    for group, of_group in groups(rows).items():
        for r in of_group:
            if r["runtime"] != "sten":
                continue
            others = [
                o
                for o in of_group
                if o["weights"] == r["weights"]
                and o["runtime"] != "sten"
                and o["precision"] == r["precision"]
            ]
            said = (
                f"{o['runtime']} {text_of(o['ms'])}" for o in sorted(others, key=lambda o: o["ms"])
            )
            model, batch, tokens, threads = group
            cells.append(
                [model, f"{batch}x{tokens}", str(threads), r["weights"]]
                + [f"{100 * r['sparsity']:g} %", r["precision"]]
                + [text_of(r["ms"]), r["best_rival"] or ""]
                + [text_of(r[k]) for k in ("best_rival_ms", "ratio", "ratio_low", "ratio_high")]
                + [text_of(r["to_dense"]), ", ".join(said)]
            )
    return titles, cells, [
        t not in ("model", "weights", "precision", "best rival", "rivals, ms") for t in titles
    ]


def dense_table(rows):
    """A row for each runtime: its fastest dense model, whatever it computes in."""
    titles = ["model", "size", "threads", "runtime", "version", "precision", "ms", "to dense"]
    titles += ["off by", "of up to"]
    cells = []
    for group, of_group in groups(rows).items():
        dense = [r for r in of_group if r["weights"] == "dense" and r["difference"] is not None]
        best = {}
        for r in sorted(dense, key=lambda r: r["ms"]):
            best.setdefault(r["runtime"], r)
        model, batch, tokens, threads = group
        for r in best.values():
            cells.append(
                [model, f"{batch}x{tokens}", str(threads)]
                + [r[k] for k in ("runtime", "version", "precision")]
                + [text_of(r["ms"]), text_of(r["to_dense"])]
                + [f"{r['difference']:.2g}", f"{r['largest']:.2g}"]
            )
    return titles, cells, [t not in ("model", "runtime", "version", "precision") for t in titles]


def notes(document):
    bases = {f"{describe(g)}: {rows[0]['dense']}" for g, rows in groups(document["models"]).items()}
    m = document["machine"]
    return [
        "size: sequences x tokens; ms: a forward pass, median of the rounds; float32 unless said",
        "ratio: the best rival's time with the same zeros over sten's, with its 95 % interval; in "
        "bfloat16 that of the fastest dense model of a rival in it",
        "to dense: times as fast as the fastest dense model in float32: " + "; ".join(sorted(bases)),
        "off by: the largest difference of an output from sten's of the dense model in float32, "
        "whose outputs are of up to that size",
        f"{m['cpu']}, {m['threads']} CPUs",
    ]


DENSE_TITLE = "Each runtime's fastest dense model in any precision:"


def to_text(document):
    out = results.aligned(*main_table(document["models"]))
    out += ["", DENSE_TITLE, "", *results.aligned(*dense_table(document["models"])), ""]
    return "\n".join(out + notes(document)) + "\n"


def to_markdown(document):
    out = results.markdown(*main_table(document["models"]))
    out += ["", DENSE_TITLE, "", *results.markdown(*dense_table(document["models"])), ""]
    return "\n".join(out + ["- " + note for note in notes(document)]) + "\n"


def to_csv(document):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(KEYS)
    for r in document["models"]:
        writer.writerow([r[k] for k in KEYS])
    return out.getvalue()


def to_json(document):
    return json.dumps(document, indent=1) + "\n"


def rows_of(row):
    """Where it is in the chart: a dense model begins every line of its runtime."""
    if row["runtime"] == "sten":
        if row["precision"] != "float32":
            return [f"{row['line'] or model_plan.TILES}, {row['precision']}"]
        if row["line"] == model_plan.TILES:
            return []
        return [row["line"]] if row["line"] else model_plan.LINES
    if row["precision"] != "float32":
        return [f"{row['runtime']}, {row['precision']}"]
    return [row["runtime"]]


def styles():
    names = [*model_plan.LINES, *model_plan.NAMES.values()]
    out = {name: i for i, name in enumerate(names)}
    # The last one's hollow mark is free: DeepSparse has no bfloat16.
    for name, i in (*zip(model_plan.LINES, range(2)), (model_plan.TILES, len(names) - 1)):
        out[f"{name}, bfloat16"] = i + len(chart.COLOURS)
    for rival, precisions in model_plan.RIVALS.items():
        name = model_plan.NAMES[rival]
        out |= {f"{name}, {p}": out[name] + len(chart.COLOURS) for p in precisions}
    return out


def to_svg(document):
    """Latency against sparsity, a panel for each size. Of a rival's models of equal sparsity the
    faster one counts."""
    panels, seen = [], set()
    sparsities = sorted({r["sparsity"] for r in document["models"]})
    for group, rows in groups(document["models"]).items():
        lines = {}
        for r in sorted(rows, key=lambda r: -r["ms"]):
            precise = "" if r["precision"] == "float32" else f" in {r['precision']}"
            tip = f"{r['runtime']} {r['version']}, {r['weights']}{precise}: {text_of(r['ms'])} ms"
            for line in rows_of(r):
                lines.setdefault(line, {})[r["sparsity"]] = (r["sparsity"], r["ms"], tip)
        dense = next(r for r in rows if r["weights"] == "dense" and r["runtime"] == r["dense"])
        seen |= set(lines)
        panels.append(
            {
                "title": describe(group),
                "subtitle": f"dashed: dense by {dense['runtime']} {dense['version']}, float32",
                "sparsities": sparsities,
                "most": 1.08 * max(r["ms"] for r in rows),
                "base": dense["ms"],
                "lines": {name: list(points.values()) for name, points in lines.items()},
            }
        )
    shown = {name: style for name, style in styles().items() if name in seen}
    return chart.draw("Milliseconds of a forward pass", panels, shown, document["machine"])
