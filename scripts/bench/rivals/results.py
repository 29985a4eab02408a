# SPDX-License-Identifier: Apache-2.0
"""From what was measured to one table: text, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import statistics

import plan

SCHEMA = 1
KEYS = ["form", "shape", "threads", "sparsity", "runtime", "version", "layout", "precision", "isa"]
KEYS += ["note", "ms", "error", "ratio", "ratio_low", "ratio_high", "to_bfloat16", "rounds"]
NUMBERS = {"threads", "sparsity", *KEYS[KEYS.index("ms") :]}
TITLES = {"ratio_low": "low", "ratio_high": "high", "to_bfloat16": "to bfloat16"}


def spread(values):
    """Median, and where the true one lies with a probability of 95 %: order statistics."""
    values, n = sorted(values), len(values)
    rank, below = 0, 0.5**n  # P(Binomial(n, 1/2) <= rank) is at most 2.5 %
    while below <= 0.025 and rank < n // 2:
        rank += 1
        below += math.comb(n, rank) * 0.5**n
    low = max(0, rank - 1)
    return statistics.median(values), values[low], values[n - 1 - low]


def summarize(setup, records):
    """Rows of one form: ratios within each round to the dense product of the least median in float32,
    and in bfloat16 where there is one."""

    def fastest(precision):
        dense = [r for r in records if r["layout"] == "dense" and r["precision"] == precision]
        return min(dense, key=lambda r: statistics.median(r["ms"]), default=None)

    def times(base, r):
        return spread([b / t for b, t in zip(base["ms"], r["ms"])])

    base, low_base = fastest("float32"), fastest("bfloat16")
    rows = []
    for r in records:
        ratio, low, high = times(base, r)
        rows.append(
            {
                **{key: setup[key] for key in ("form", "shape", "threads")},
                **{k: v for k, v in r.items() if k != "ms"},
                "ms": statistics.median(r["ms"]),
                "ratio": ratio,
                "ratio_low": low,
                "ratio_high": high,
                "to_bfloat16": times(low_base, r)[0] if low_base else None,
                "rounds": len(r["ms"]),
                "ms_of_rounds": r["ms"],
            }
        )
    return sorted(rows, key=lambda r: (r["sparsity"], -r["ratio"]))


def group_of(row):
    return row["form"], tuple(row["shape"]), row["threads"]


def groups(rows):
    """{(form, shape, threads): its rows}, in the order of the rows."""
    out = {}
    for row in rows:
        out.setdefault(group_of(row), []).append(row)
    return out


def describe(group):
    form, shape, threads = group
    return f"{form} {'x'.join(map(str, shape))}, {threads} thread{'s' if threads > 1 else ''}"


def merge(documents, rows="results", groups=groups, describe=describe):
    """One document of several runs on one machine, whose rows are under that key. ValueError where
    they do not fit."""
    merged = None
    for path, d in documents:
        if not isinstance(d, dict) or d.get("schema") != SCHEMA or rows not in d:
            raise ValueError(f"{path}: not results of scripts/rivals.sh")
        if merged is None:
            merged = {**d, rows: list(d[rows])}
            continue
        if d["machine"] != merged["machine"]:
            raise ValueError(f"{path}: was measured on another machine")
        both = groups(merged[rows]).keys() & groups(d[rows]).keys()
        if both:
            raise ValueError(f"{path}: {describe(sorted(both)[0])} is in another file too")
        merged[rows] += d[rows]
    return merged


def in_order(lines):
    """Names of lines as the plan has them."""
    return [n for n in plan.ORDER if n in lines] + [n for n in lines if n not in plan.ORDER]


def value_of(row, key):
    """None where results are from before the key was there; all was float32 then."""
    return row.get(key, "float32" if key == "precision" else None)


def shown(key, value):
    if value is None:
        return ""
    if key == "shape":
        return "x".join(map(str, value))
    if key == "sparsity":
        return f"{100 * value:g} %"
    if key == "error":
        return f"{value:.1e}"
    if isinstance(value, float):
        return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"
    return str(value)


def table(rows):
    """Titles and cells for people; columns that say nothing are left out."""
    keys = [k for k in KEYS if any(shown(k, value_of(r, k)) for r in rows)]
    titles = [TITLES.get(k, k) for k in keys]
    return keys, titles, [[shown(k, value_of(r, k)) for k in keys] for r in rows]


def is_number(key):
    return key in NUMBERS


def aligned(titles, cells, numbers):
    """Lines of a table; columns of numbers end in line."""
    widths = [max(map(len, column)) for column in zip(titles, *cells)]

    def line(row):
        padded = (c.rjust(w) if n else c.ljust(w) for n, c, w in zip(numbers, row, widths))
        return "  ".join(padded).rstrip()

    return [line(titles), "  ".join("-" * w for w in widths), *map(line, cells)]


def to_text(document):
    keys, titles, cells = table(document["results"])
    lines = aligned(titles, cells, [is_number(k) for k in keys])
    return "\n".join(lines + notes(document)) + "\n"


def overview(rows):
    """Titles and cells: a row for each line of the chart, with its ratio and ms by sparsity."""
    sparsities = sorted({r["sparsity"] for r in rows if r["line"]})
    cells = []
    for group, of_group in groups(rows).items():
        base = fastest_dense(of_group)
        dense = f"dense ({base['runtime']} {base['version']}): {shown('ms', base['ms'])} ms"
        low = fastest_in(of_group, "bfloat16")
        if low:
            dense += f"; in bfloat16 ({low['runtime']} {low['version']}): "
            dense += f"{shown('ms', low['ms'])} ms"
        cells.append([describe(group), dense] + [""] * len(sparsities))
        lines = {}
        for r in of_group:
            if r["line"]:
                text = f"{r['ratio']:.2f} ({shown('ms', r['ms'])} ms)"
                lines.setdefault(r["line"], {})[r["sparsity"]] = text
        for name in in_order(lines):
            cells.append(["", name] + [lines[name].get(s, "") for s in sparsities])
    return ["", "weights that are zero", *(shown("sparsity", s) for s in sparsities)], cells


def markdown(titles, cells, numbers):
    rule = ["---:" if n else "---" for n in numbers]
    return ["| " + " | ".join(row) + " |" for row in [titles, rule, *cells]]


def to_markdown(document):
    keys, titles, cells = table(document["results"])
    columns, by_line = overview(document["results"])
    out = markdown(columns, by_line, [False] * 2 + [True] * (len(columns) - 2))
    out += ["", *markdown(titles, cells, [is_number(k) for k in keys])]
    return "\n".join(out + [""] + ["- " + note for note in notes(document)]) + "\n"


def to_csv(document):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(KEYS)
    for r in document["results"]:
        row = {**r, "shape": "x".join(map(str, r["shape"]))}
        writer.writerow([value_of(row, k) for k in KEYS])
    return out.getvalue()


def to_json(document):
    return json.dumps(document, indent=1) + "\n"


def fastest_dense(rows):
    """The row that the ratios of a group are to."""
    return fastest_in(rows, "float32")


def fastest_in(rows, precision):
    """The fastest dense row of a precision, or None."""
    dense = [r for r in rows if r["layout"] == "dense" and value_of(r, "precision") == precision]
    return min(dense, key=lambda r: r["ms"], default=None)


def named(row):
    """"nmg:n=1,m=4,g=4 in float32 by sten 1.0"."""
    kind = f"{row['layout']} in {value_of(row, 'precision')}"
    return f"{kind} by {row['runtime']} {row['version']}, {shown('ms', row['ms'])} ms"


def notes(document):
    m = document["machine"]
    out = [
        "ratio: to the fastest dense product in float32 of the same form, shape and threads, above 1 "
        "is faster"
    ]
    if any(value_of(r, "to_bfloat16") for r in document["results"]):
        out.append("to bfloat16: to the fastest dense product in bfloat16")
    for group, rows in groups(document["results"]).items():
        fastest = min(rows, key=lambda r: r["ms"])
        text = f"fastest of {describe(group)}: {named(fastest)}"
        if fastest["layout"] != "dense":
            dense = [r for r in rows if r["layout"] == "dense"]
            text += f"; of dense ones {named(min(dense, key=lambda r: r['ms']))}"
        out.append(text)
    if any(r["note"] == "transposed" for r in document["results"]):
        out.append("transposed: Y = X W^T was asked, the form that the runtime is made for")
    out.append(f"{m['cpu']}, {m['threads']} CPUs")
    return out
