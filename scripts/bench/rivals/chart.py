"""The speed-up over the fastest dense product against sparsity, a panel for each form: SVG."""

import math
from html import escape

import results

# Of Okabe and Ito, which people with any kind of colour vision tell apart.
COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#000000"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 300, 62, 84, 56  # pixels of a panel, and around it


def mark(i, x, y):
    """A shape of its own for each line, for who cannot tell the colours apart."""
    shapes = [
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "M-4 -4h8v8h-8z",
        "M0 -5l5 9h-10z",
        "M0 -5l5 5l-5 5l-5 -5z",
        "M0 5l5 -9h-10z",
        "M-5 -2h10v4h-10z",
    ]
    at = f'transform="translate({x:.1f} {y:.1f})"'
    return f'<path {at} d="{shapes[i % len(shapes)]}" fill="{COLOURS[i % len(COLOURS)]}"/>'


def step_of(most):
    """A round distance of grid lines of which at most eight fit."""
    power = 10 ** math.floor(math.log10(most / 8))
    return next(power * f for f in (1, 2, 5, 10) if most / (power * f) <= 8)


def panel(left, group, rows, lines, sparsities, most):
    out, right, bottom = [], left + WIDTH, TOP + HEIGHT
    x = {s: left + (i + 0.5) * WIDTH / len(sparsities) for i, s in enumerate(sparsities)}

    def y(ratio):
        return bottom - HEIGHT * ratio / most

    def text(tx, ty, what, anchor="middle", style=""):
        out.append(
            f'<text x="{tx:.1f}" y="{ty:.1f}" text-anchor="{anchor}"{style}>{escape(what)}</text>'
        )

    middle, base = (left + right) / 2, results.fastest_dense(rows)
    text(middle, TOP - 28, results.describe(group), style=' font-weight="bold"')
    text(middle, TOP - 11, f"1: dense by {base['runtime']} {base['version']}")
    text(middle, bottom + 38, "weights that are zero")
    step = step_of(most)
    for i in range(math.floor(most / step) + 1):
        v = i * step
        out.append(f'<path d="M{left} {y(v):.1f}H{right}" stroke="#ddd"/>')
        text(left - 8, y(v) + 4, f"{v:g}", "end")
    out.append(f'<path d="M{left} {y(1):.1f}H{right}" stroke="#666" stroke-dasharray="5 4"/>')
    for s in sparsities:
        text(x[s], bottom + 20, f"{100 * s:g} %")
    out.append(f'<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#666"/>')
    for i, name in enumerate(lines):
        points = sorted((r for r in rows if r["line"] == name), key=lambda r: r["sparsity"])
        at = [(x[r["sparsity"]], y(r["ratio"]), r) for r in points]
        if not at:
            continue
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py, _ in at)
        out.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[i % 6]}" stroke-width="2"/>')
        for px, py, r in at:
            tip = (
                f"{r['runtime']} {r['version']} {r['layout']}: {r['ratio']:.2f} ({r['ms']:.3g} ms)"
            )
            out.append(f"<g><title>{escape(tip)}</title>{mark(i, px, py)}</g>")
    return out


def to_svg(document):
    rows = document["results"]
    lines = results.in_order(dict.fromkeys(r["line"] for r in rows if r["line"]))
    sparsities = sorted({r["sparsity"] for r in rows if r["line"]})
    panels = results.groups(rows)
    most = 1.08 * max([2, *(r["ratio"] for r in rows)])
    width = LEFT + len(panels) * (WIDTH + GAP)
    out = [f'<text x="{LEFT}" y="24" font-size="15">Speed-up over the fastest dense product</text>']
    for i, (group, of_group) in enumerate(panels.items()):
        out += panel(LEFT + i * (WIDTH + GAP), group, of_group, lines, sparsities, most)
    bottom = TOP + HEIGHT + 44
    for i, name in enumerate(lines):
        ty = bottom + 22 + 20 * i
        out.append(mark(i, LEFT + 6, ty - 4))
        out.append(f'<text x="{LEFT + 20}" y="{ty}">{escape(name)}</text>')
    ty = bottom + 22 + 20 * len(lines)
    machine = document["machine"]
    out.append(f'<text x="{LEFT}" y="{ty}" fill="#666">{escape(machine["cpu"])}</text>')
    size = f'width="{max(width, 560)}" height="{ty + 16}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    )
    return (
        "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *out, "</svg>"]) + "\n"
    )
