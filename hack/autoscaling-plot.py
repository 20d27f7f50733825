#!/usr/bin/env python3
"""Plots the measurements of the spec `autoscaling` of make e2e-elasticity.

    REPORT=/tmp/rows.md make e2e-elasticity FAULT=autoscaling RATE=60000
    hack/autoscaling-plot.py /tmp/rows.md.autoscaling.csv >docs/elasticity-autoscaling.svg

The file has a line for every two seconds: seconds since the load rose, samples/s of all engines,
number of engines, and samples/s of each engine.
"""

import csv
import statistics
import sys

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 900, 150, 70, 24, 40
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]


def smooth(values, n=5):
    """Return the median of n neighbours, because counters are not read at exact intervals."""
    return [
        None if v is None else statistics.median([w for w in values[max(0, i - n // 2): i + n // 2 + 1] if w is not None])
        for i, v in enumerate(values)
    ]


def panel(at, title, seconds, lines):
    """Return the SVG elements of a panel. Each line is (colour, values, stepped)."""
    most = max(v for _, values, _ in lines for v in values if v is not None) * 1.1
    top = TOP + at * (HEIGHT + BOTTOM)
    def x(s): return LEFT + (s - seconds[0]) / (seconds[-1] - seconds[0]) * (WIDTH - LEFT - 10)
    def y(v): return top + HEIGHT - v / most * HEIGHT
    out = [f'<text x="{LEFT}" y="{top - 6}" font-weight="bold">{title}</text>',
           f'<path d="M{LEFT} {top}V{top + HEIGHT}H{WIDTH - 10}" fill="none" stroke="#888"/>']
    for part in (0, 0.5, 1):
        v = most / 1.1 * part
        label = f"{v:,.0f}" if most > 20 else f"{v:.1f}".rstrip("0").rstrip(".")
        out.append(f'<text x="{LEFT - 6}" y="{y(v) + 4:.0f}" text-anchor="end">{label}</text>'
                   f'<path d="M{LEFT} {y(v):.1f}H{WIDTH - 10}" stroke="#ddd"/>')
    for minute in range(int(seconds[0] // 60) + 1, int(seconds[-1] // 60) + 1, 2):
        out.append(f'<text x="{x(minute * 60):.0f}" y="{top + HEIGHT + 16}" text-anchor="middle">{minute}</text>')
    for colour, values, stepped in lines:
        path, drawn, last = [], False, None
        for s, v in zip(seconds, values):
            if v is None:
                drawn = False
                continue
            if drawn and stepped and v != last:
                path.append(f"H{x(s):.1f}")
            path.append(f"{'L' if drawn else 'M'}{x(s):.1f} {y(v):.1f}")
            drawn, last = True, v
        out.append(f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as f:
        rows = list(csv.reader(f))
    names, rows = rows[0][3:], rows[1:]
    def column(i): return [float(r[i]) if r[i] else None for r in rows]
    seconds = column(0)
    height = TOP + 3 * (HEIGHT + BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    out += panel(0, "samples/s that all engines receive", seconds, [(COLOURS[0], smooth(column(1)), False)])
    out += panel(1, "engines", seconds, [(COLOURS[0], column(2), True)])
    out += panel(2, "samples/s of each engine", seconds,
                 [(COLOURS[i % len(COLOURS)], smooth(column(3 + i)), False) for i in range(len(names))])
    out.append(f'<text x="{WIDTH - 10}" y="{height - 8}" text-anchor="end">minutes since the load rose</text></svg>')
    print("\n".join(out))


if __name__ == "__main__":
    main()
