// The data of a PV, as /api/v1/bins sends it. Times are ms since 1970 for drawing, and ns as BigInt
// where they are shown.

export interface Metadata {
  units?: string;
  precision: number;
  labels?: string[];
  limits?: Record<string, number>;
  description?: string;
}

interface Header {
  pv: string;
  mode: "samples" | "bins";
  kind: "number" | "enum" | "text" | "other";
  type?: string;
  metadata?: Metadata;
  completeUntil?: string;
  lost?: number;
  now: string;
  base: string;
  width: string;
  unit: number;
  rows: number;
  bytes: number;
  columns: { name: string; type: string; at: number }[];
  texts?: string[];
}

export interface Series extends Omit<Header, "base" | "now" | "width" | "columns"> {
  /** The server's time, in ns since 1970. */
  now: bigint;
  base: bigint;
  /** The samples are drawn later than they were. x, end and now are as drawn. */
  shifted?: boolean;
  /** Width of a bin, in ms. */
  width: number;
  /** Starts of the bins, or times of the samples. */
  x: Float64Array;
  /** Ends of the bins. */
  end?: Float64Array;
  /** Offsets of the samples from base, in ns. */
  offset?: BigUint64Array;
  value?: Float64Array;
  min?: Float64Array;
  max?: Float64Array;
  mean?: Float64Array;
  last?: Float64Array;
  count?: Float64Array;
  covered?: Float64Array;
  severity: Uint8Array;
}

/** frame returns the header of the first frame of an answer, and what returns where a column begins. */
export function frame<T>(buf: ArrayBuffer): { head: T; at: (name: string) => number | undefined } {
  const view = new DataView(buf);
  if (view.getUint32(0) !== 0x5642494e) throw new Error("the answer is not a frame");
  const size = view.getUint32(4, true);
  const { columns, ...head } = JSON.parse(new TextDecoder().decode(new Uint8Array(buf, 8, size))) as Pick<Header, "columns" | "bytes">;
  if (buf.byteLength < 8 + size + head.bytes) throw new Error("the answer is cut off");
  const at = (name: string) => {
    const c = columns.find((c) => c.name === name);
    return c ? 8 + size + c.at : undefined;
  };
  return { head: head as T, at };
}

/** decode decodes the first frame of an answer. */
export function decode(buf: ArrayBuffer): Series {
  const { head: h, at } = frame<Omit<Header, "columns">>(buf);
  const floats = (name: string) => {
    const i = at(name);
    return i === undefined ? undefined : new Float64Array(buf, i, h.rows);
  };
  const base = BigInt(h.base);
  const baseMs = ms(base);
  const s: Series = {
    ...h, base, now: BigInt(h.now), width: Number(h.width) / 1e6, x: new Float64Array(h.rows),
    value: floats("value"), min: floats("min"), max: floats("max"), mean: floats("mean"), last: floats("last"),
    count: floats("count"), covered: floats("covered"), severity: new Uint8Array(buf, at("severity"), h.rows),
  };
  if (h.mode === "samples") {
    s.offset = new BigUint64Array(buf, at("offset"), h.rows);
    s.offset.forEach((o, i) => (s.x[i] = baseMs + Number(o) / 1e6));
    return s;
  }
  const offset = new Uint32Array(buf, at("offset"), h.rows);
  const span = new Uint32Array(buf, at("span"), h.rows);
  s.end = new Float64Array(h.rows);
  for (let i = 0; i < h.rows; i++) {
    s.x[i] = baseMs + (offset[i] * h.unit) / 1e6;
    s.end[i] = s.x[i] + (span[i] * h.unit) / 1e6;
  }
  return s;
}

/** shift returns a series that is drawn later, by ms. Nothing is known after a time, in ms. */
export function shift(s: Series, by: number, until: number): Series {
  const later = (times: Float64Array) => times.map((t) => t + by);
  return { ...s, shifted: true, x: later(s.x), end: s.end && later(s.end), now: BigInt(Math.floor(until)) * 1_000_000n };
}

/** ms converts ns to ms, with fractions. */
export function ms(ns: bigint): number {
  const whole = ns / 1_000_000n;
  return Number(whole) + Number(ns - whole * 1_000_000n) / 1e6;
}

/** indexAt returns the index of the last time at or before x, or -1. */
export function indexAt(times: Float64Array, x: number): number {
  let lo = 0;
  let hi = times.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (times[mid] <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo - 1;
}

/** timeOf returns the time of a row in ns since 1970. */
export function timeOf(s: Series, i: number): bigint {
  return s.offset ? s.base + s.offset[i] : BigInt(Math.round(s.x[i])) * 1_000_000n;
}

/** Times at which a value is not known, in order. */
export interface Interval {
  lo: number;
  hi: number;
  gap?: unknown;
}

/** known returns how long a value is known in [lo, hi]. */
function known(gaps: Interval[], lo: number, hi: number): number {
  let length = Math.max(0, hi - lo);
  let done = lo;
  for (const g of gaps) {
    if (!g.gap || g.hi <= done || g.lo >= hi) continue;
    length -= Math.min(g.hi, hi) - Math.max(g.lo, done);
    done = Math.max(done, g.hi);
  }
  return Math.max(0, length);
}

export interface Statistics {
  rows: number;
  samples: number;
  min: number;
  max: number;
  mean: number;
  /** Fraction of the range in which a value is known: it was held, and there was no gap. Undefined for samples. */
  covered?: number;
  severity: number;
}

/** statistics summarizes what a plot of [lo, hi] shows. The mean is weighted by time. */
export function statistics(s: Series, gaps: Interval[], lo: number, hi: number): Statistics {
  const out: Statistics = { rows: 0, samples: 0, min: NaN, max: NaN, mean: NaN, severity: 0 };
  let sum = 0;
  let weight = 0;
  let covered = 0;
  const until = Math.min(hi, ms(s.now));
  for (let i = 0; i < s.rows; i++) {
    const start = s.x[i];
    const end = s.end ? s.end[i] : i + 1 < s.rows ? s.x[i + 1] : Math.max(start, until);
    if ((start < lo && end <= lo) || start > hi || (s.end && start >= hi)) continue; // it touches the range only
    const inside = start >= lo;
    if (inside || s.end) out.rows++;
    out.samples += s.count ? s.count[i] : inside ? 1 : 0;
    out.severity = Math.max(out.severity, s.severity[i]);
    const low = s.min ? s.min[i] : s.value![i];
    const high = s.max ? s.max[i] : s.value![i];
    if (Number.isFinite(low) && !(out.min <= low)) out.min = low;
    if (Number.isFinite(high) && !(out.max >= high)) out.max = high;
    // A bin that is held only in part counts by that part.
    const held = known(gaps, Math.max(start, lo), Math.min(end, until)) * (s.covered ? s.covered[i] : 1);
    const mean = s.mean ? s.mean[i] : s.value![i];
    if (Number.isFinite(mean)) {
      sum += mean * held;
      weight += held;
    }
    covered += held;
  }
  if (weight > 0) out.mean = sum / weight;
  else if (out.samples === 1) out.mean = out.min;
  if (s.covered) out.covered = Math.min(1, covered / Math.max(1, until - lo));
  return out;
}
