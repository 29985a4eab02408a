# SPDX-License-Identifier: Apache-2.0
"""Lines of a measure against sparsity, in panels side by side: SVG. Of products the speed-up over the
fastest dense one, a panel for each form."""

import math
from html import escape

import results

# Of Okabe and Ito, which people with any kind of colour vision tell apart.
COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#000000"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 300, 62, 84, 56  # pixels of a panel, and around it


def mark(style, x, y):
    """A shape of its own for each line, for who cannot tell the colours apart. From the number of
    the colours on, styles are hollow forms of the first ones."""
    shapes = [
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "M-4 -4h8v8h-8z",
        "M0 -5l5 9h-10z",
        "M0 -5l5 5l-5 5l-5 -5z",
        "M0 5l5 -9h-10z",
        "M-5 -2h10v4h-10z",
    ]
    i = style % len(COLOURS)
    fill = f'fill="{COLOURS[i]}"'
    if style >= len(COLOURS):
        fill = f'fill="#fff" stroke="{COLOURS[i]}" stroke-width="2"'
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{shapes[i]}" {fill}/>'


def step_of(most):
    """A round distance of grid lines of which at most eight fit."""
    power = 10 ** math.floor(math.log10(most / 8))
    return next(power * f for f in (1, 2, 5, 10) if most / (power * f) <= 8)


def panel(left, p, styles):
    out, right, bottom = [], left + WIDTH, TOP + HEIGHT
    ticks, most = p["sparsities"], p["most"]
    x = {s: left + (i + 0.5) * WIDTH / len(ticks) for i, s in enumerate(ticks)}

    def y(value):
        return bottom - HEIGHT * value / most

    def text(tx, ty, what, anchor="middle", style=""):
        out.append(
            f'<text x="{tx:.1f}" y="{ty:.1f}" text-anchor="{anchor}"{style}>{escape(what)}</text>'
        )

    middle = (left + right) / 2
    text(middle, TOP - 28, p["title"], style=' font-weight="bold"')
    text(middle, TOP - 11, p["subtitle"])
    text(middle, bottom + 38, "weights that are zero")
    step = step_of(most)
    for i in range(math.floor(most / step) + 1):
        v = i * step
        out.append(f'<path d="M{left} {y(v):.1f}H{right}" stroke="#ddd"/>')
        text(left - 8, y(v) + 4, f"{v:g}", "end")
    out.append(
        f'<path d="M{left} {y(p["base"]):.1f}H{right}" stroke="#666" stroke-dasharray="5 4"/>'
    )
    for s in ticks:
        text(x[s], bottom + 20, f"{100 * s:g} %")
    out.append(f'<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#666"/>')
    for name, style in styles.items():
        at = [(x[s], y(value), tip) for s, value, tip in sorted(p["lines"].get(name, []))]
        if not at:
            continue
        path, colour = "L".join(f"{px:.1f} {py:.1f}" for px, py, _ in at), COLOURS[style % 6]
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for px, py, tip in at:
            out.append(f"<g><title>{escape(tip)}</title>{mark(style, px, py)}</g>")
    return out


def draw(title, panels, styles, machine):
    """Each panel has title, subtitle, sparsities on its axis, most on the other, base, where a dashed
    line goes, and lines: [(sparsity, value, what a pointer shows)] by name. styles: those of all
    names, in the order of the legend."""
    width = LEFT + len(panels) * (WIDTH + GAP)
    out = [f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>']
    for i, p in enumerate(panels):
        out += panel(LEFT + i * (WIDTH + GAP), p, styles)
    bottom = TOP + HEIGHT + 44
    for i, (name, style) in enumerate(styles.items()):
        ty = bottom + 22 + 20 * i
        out.append(mark(style, LEFT + 6, ty - 4))
        out.append(f'<text x="{LEFT + 20}" y="{ty}">{escape(name)}</text>')
    ty = bottom + 22 + 20 * len(styles)
    out.append(f'<text x="{LEFT}" y="{ty}" fill="#666">{escape(machine["cpu"])}</text>')
    size = f'width="{max(width, 560)}" height="{ty + 16}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    )
    return (
        "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *out, "</svg>"]) + "\n"
    )


def to_svg(document):
    rows = document["results"]
    names = results.in_order(dict.fromkeys(r["line"] for r in rows if r["line"]))
    sparsities = sorted({r["sparsity"] for r in rows if r["line"]})
    most = 1.08 * max([2, *(r["ratio"] for r in rows)])
    panels = []
    for group, of_group in results.groups(rows).items():
        base, lines = results.fastest_dense(of_group), {}
        subtitle = f"1: dense by {base['runtime']} {base['version']}"
        low = results.fastest_in(of_group, "bfloat16")
        if low:
            subtitle += f"; in bfloat16 {low['ratio']:.2f}"
        for r in of_group:
            tip = (
                f"{r['runtime']} {r['version']} {r['layout']}: {r['ratio']:.2f} ({r['ms']:.3g} ms)"
            )
            lines.setdefault(r["line"], []).append((r["sparsity"], r["ratio"], tip))
        panels.append(
            {
                "title": results.describe(group),
                "subtitle": subtitle,
                "sparsities": sparsities,
                "most": most,
                "base": 1,
                "lines": lines,
            }
        )
    styles = {name: i % len(COLOURS) for i, name in enumerate(names)}
    return draw("Speed-up over the fastest dense product", panels, styles, document["machine"])
