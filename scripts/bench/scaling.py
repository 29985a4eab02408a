# SPDX-License-Identifier: Apache-2.0
"""Tables of what scaling.sh measured, and what they make of larger clusters: scaling.py DIR."""

import json
import math
import pathlib
import sys

PIECE = 1 << 20  # bytes of a sum that travel at once, of few ranks (libsten/training/comm/mpi/sums.cpp)
PART = 1 << 16  # bytes that a rank sends to another one, at least, of many
LINKS = {"shared": None, "10gbit": 10e9 / 8, "1gbit": 1e9 / 8}


def rows_of(folder, kind):
    """[(link, row)] of all results."""
    found = []
    for link in LINKS:
        for path in sorted(folder.glob(f"{link}.*.{kind}.json")):
            ranks = int(path.name.split(".")[1])
            found += [(link, {**row, "ranks": ranks}) for row in json.loads(path.read_text())["results"]]
    return found


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def number(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def model_of(row):
    return "x".join(str(n) for n in row["shape"][:2])


def steps(rows):
    """One line for each link, number of ranks, model and kind of weights."""
    ms = {(link, r["ranks"], model_of(r), r["form"]): r["ms"] for link, r in rows}
    out = []
    for link, r in rows:
        form, model, n = r["form"], model_of(r), r["ranks"]
        if form not in ("dense", "masked", "sparse"):
            continue
        at = (link, n, model)
        line = [model, form, link if n > 1 else "", n, number(r["ms"]), number(ms[*at, "dense"] / r["ms"])]
        if n > 1:
            apart, alone = ms[*at, form + " apart"], ms[*at, form + " alone"]
            share = (apart - r["ms"]) / (apart - alone) if apart > 1.02 * alone else None
            one = ms.get(("shared", 1, model, form))
            line += [f"{r['bytes'] / 1e6:.3g}", number(apart), number(alone), f"{100 * share:.0f} %" if share else "",
                     f"{100 * one / r['ms']:.0f} %" if one else ""]  # fmt: skip
        else:
            line += [""] * 5
        out.append(line)
    order = {"dense": 0, "masked": 1, "sparse": 2}
    out.sort(key=lambda line: (line[0], list(LINKS).index(line[2] or "shared"), line[3], order[line[1]]))
    table(["model", "weights", "link", "ranks", "step, ms", "to dense", "MB", "sums after it, ms", "no sums, ms",
           "hidden", "of one rank's speed"], out)  # fmt: skip


def travels(ranks, size):
    """Messages that a rank sends one after the other, and bytes that leave it."""
    piece = max(PIECE, PART * ranks)
    return 2 * (ranks - 1) * math.ceil(size / piece), 2 * (ranks - 1) / ranks * size


def fitted(rows, rate):
    """Seconds of a message and of a byte, least squares of relative errors, and these errors."""
    a = b = c = d = e = 0.0
    points = [(*travels(r["ranks"], r["bytes"]), r["ms"] / 1e3) for r in rows]
    for messages, size, t in points:
        x, y = messages / t, size / t
        a, b, c, d, e = a + x * x, b + x * y, c + y * y, d + x, e + y
    det = a * c - b * b
    message, byte = (d * c - e * b) / det, (a * e - b * d) / det
    least = 1 / rate if rate else 0.0  # no link is faster than it is
    if byte < least:
        message, byte = max(0.0, (d - b * least) / a), least
    elif message < 0:
        message, byte = 0.0, max(least, e / c)
    errors = [abs(message * m + byte * s - t) / t for m, s, t in points]
    return message, byte, errors


def main():
    folder = pathlib.Path(sys.argv[1])
    steps(rows_of(folder, "step"))
    sums = [(link, r) for link, r in rows_of(folder, "sums") if r["ranks"] > 1]
    dense = {(link, r["ranks"], model_of(r)): r for link, r in sums if r["layout"] == "dense"}
    lines = []
    for link, r in sums:
        d = dense[link, r["ranks"], model_of(r)]
        share = r["bytes"] / d["bytes"]
        lines.append([model_of(r), r["layout"], link, r["ranks"], f"{r['bytes'] / 1e6:.3g}", number(r["ms"]),
                      f"{share:.4g}", f"{r['ms'] / d['ms']:.3g}", f"{100 * r['pack_ms'] / r['ms']:.2g} %"])  # fmt: skip
    table(["gradients", "layout", "link", "ranks", "MB", "ms", "bytes to dense", "time to dense", "packing"], lines)
    fits = {}
    lines = []
    for link, nominal in LINKS.items():
        own = [r for at, r in sums if at == link]
        if len({r["ranks"] for r in own}) < 2:
            continue
        message, byte, errors = fits[link] = fitted(own, nominal)
        rate = f"{1 / byte / 1e9:.3g}" if byte else ""
        lines.append([link, f"{1e6 * message:.3g}", rate, f"{100 / byte / nominal:.0f} %" if byte and nominal else "",
                      f"{100 * sum(errors) / len(errors):.2g} %", f"{100 * max(errors):.2g} %"])  # fmt: skip
    if not lines:
        return
    print("A sum takes: messages x us + bytes that leave a rank / GB/s.\n")
    table(["link", "us a message", "GB/s", "of the link", "error, mean", "largest"], lines)
    # What is added up on processors that ranks share, and not in a link, says nothing of other links.
    errors = [(sum(e) / len(e), link) for link, (_, _, e) in fits.items() if LINKS[link]]
    best = min(errors, default=None)
    if not best or best[0] > 0.1:
        print("No link was fitted to 10 %: nothing is said of larger clusters.")
        return
    message, byte, _ = fits[best[1]]
    used = 1 / byte / LINKS[best[1]]
    print(f"At 100 Gbit/s of which {100 * used:.0f} % are used, as of {best[1]}, with as long a message:\n")
    if message == 0:
        print("What a message takes beside its bytes was too little to be seen, and is left out.\n")
    lines = []
    for name, parameters in (("BERT-base's encoder", 85e6), ("7 B parameters", 7e9)):
        for ranks in (16, 128, 1000):
            line = [name, ranks]
            for share in (1, 1 / 4, 1 / 10):
                m, size = travels(ranks, 4 * parameters * share)
                line.append(f"{m * message + size / (used * 100e9 / 8):.3g}")
            lines.append(line)
    table(["gradients", "ranks", "dense, s", "1:4, s", "1:10, s"], lines)


if __name__ == "__main__":
    main()
