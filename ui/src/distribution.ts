// What a selected window says about values: how often each occurs, and which values two PVs have together.
//
//   samples of a PV in the window ────────────────────────▶ histogram
//   samples of two PVs, the latest before it, and gaps ──▶ pairs: at each sample of either PV, the values of both
//
// Values are held until the next sample or gap. NaN and ±Inf are counted, and drawn nowhere.

import { brokenAt, type Trace } from "./paint";
import { ms, type Series } from "./series";
import type { Range } from "./state";

export interface Histogram {
  /** Lower edges of the bars, which are equally wide. */
  edges: number[];
  width: number;
  counts: number[];
  /** Samples that are NaN or ±Inf. */
  left: number;
}

const maxBars = 60;

/** histogram counts the samples of a series in a window. Each state of an enumeration has a bar of its own. */
export function histogram(s: Series, w: Range): Histogram {
  const values: number[] = [];
  let left = 0;
  for (let i = 0; i < s.rows; i++) {
    if (s.x[i] < w.lo || s.x[i] > w.hi) continue;
    if (Number.isFinite(s.value![i])) values.push(s.value![i]);
    else left++;
  }
  if (values.length === 0) return { edges: [], width: 1, counts: [], left };
  const lo = values.reduce((a, b) => Math.min(a, b));
  const hi = values.reduce((a, b) => Math.max(a, b));
  const states = s.kind === "enum" && hi - lo < 1000;
  let n = states ? hi - lo + 1 : lo === hi ? 1 : Math.min(maxBars, Math.max(5, Math.ceil(Math.sqrt(values.length))));
  let width = states || lo === hi ? 1 : hi / n - lo / n; // no overflow
  if (!(width > 0) || lo + width === lo) [n, width] = [1, hi - lo || 1]; // the values differ in the last bits only
  const start = states ? lo - 0.5 : lo === hi ? lo - 0.5 : lo;
  const counts = new Array<number>(n).fill(0);
  for (const v of values) counts[Math.min(n - 1, Math.max(0, Math.floor(v / width - start / width)))]++;
  return { edges: counts.map((_, i) => start + i * width), width, counts, left };
}

export interface Pairs {
  /** The times in ms, and the values of both PVs at them. */
  t: number[];
  x: number[];
  y: number[];
  /** Times at which only one of the two values was known. */
  alone: number;
  /** Times at which one of the two values was NaN or ±Inf. */
  left: number;
}

/** pairs joins two PVs: at the start of the window and at each time with a sample of either, it pairs the values
 * that both hold. */
export function pairs(a: Trace, b: Trace, w: Range): Pairs {
  const out: Pairs = { t: [], x: [], y: [], alone: 0, left: 0 };
  const [p, q] = [a.series!, b.series!];
  const until = Math.min(w.hi, ms(p.now), ms(q.now));
  const times = [...new Set([w.lo, ...p.x, ...q.x])].filter((t) => w.lo <= t && t <= until).sort((m, n) => m - n);
  let i = -1;
  let j = -1;
  for (const t of times) {
    while (i + 1 < p.rows && p.x[i + 1] <= t) i++;
    while (j + 1 < q.rows && q.x[j + 1] <= t) j++;
    const [hasX, hasY] = [holds(a, i, t), holds(b, j, t)];
    if (!hasX || !hasY) {
      if (hasX || hasY) out.alone++;
      continue;
    }
    const [x, y] = [p.value![i], q.value![j]];
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      out.left++;
      continue;
    }
    out.t.push(t);
    out.x.push(x);
    out.y.push(y);
  }
  return out;
}

/** holds reports whether the sample in a row still holds at a time: there was no gap since. */
const holds = (t: Trace, row: number, at: number) =>
  row >= 0 && (t.series!.x[row] === at || (brokenAt(t.breaks, t.series!.x[row], at) === at && !t.breaks.some((b) => b.gap && b.lo <= at && at < b.hi)));
