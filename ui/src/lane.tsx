// The plot of a lane: one time axis, and one or two axes of values.

import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { draw, scaleOf } from "./draw";
import type { Theme } from "./paint";
import type { AxisOf, LaneOf } from "./lanes";
import { limitNames } from "./limits";
import type { Range } from "./state";
import { statistics } from "./series";

export interface LaneProps {
  lane: LaneOf;
  range: Range;
  now: number;
  utc: boolean;
  theme: Theme;
  width: number;
  height: number;
  last: boolean;
  /** Another lane has a second axis, so this one leaves room at its right. */
  room: boolean;
  /** The selected window. */
  window?: Range;
  onZoom: (r: Range) => void;
  onSelect: (r: Range) => void;
  onPan: (r: Range, done: boolean) => void;
  /** onCursor is called with the time at the pointer and with the place of the pointer in the window. pv is the trace below
   * the pointer, and value is where the pointer is on the first axis. Both are undefined while the pointer is over another
   * lane. */
  onCursor: (t: number | undefined, x: number, y: number, pv: string | undefined, value: number | undefined) => void;
}

// Times on the axis have 24 hours, and dates are as in ISO 8601. A row says from which step on it
// applies, the format, and what precedes it where a year, a month, a day or a minute begins.
const day = 86400e3;
const date = "\n{YYYY}-{MM}-{DD}";
const times: uPlot.Axis.Values = [
  [365 * day, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * day, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [day, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60e3, "{HH}:{mm}", date, null, date, null, null, null, 1],
  [1e3, "{HH}:{mm}:{ss}", date, null, date, null, null, null, 1],
  [1, "{ss}.{fff}", date + " {HH}:{mm}", null, date + " {HH}:{mm}", null, "\n{HH}:{mm}", null, 1],
];

/** extent returns the range of an axis. */
export function extent(a: AxisOf | undefined, range: Range): [number, number] {
  if (a?.fixed) return a.fixed;
  const heat = a?.traces.find((t) => t.heat)?.heat;
  if (heat) return [0, heat.elements];
  let lo = Infinity;
  let hi = -Infinity;
  for (const t of a?.traces ?? []) {
    if (!t.series) continue;
    const s = statistics(t.series, t.breaks, range.lo, range.hi);
    if (s.min < lo) lo = s.min;
    if (s.max > hi) hi = s.max;
    for (const l of t.limits ?? []) {
      if (l.hi < range.lo || l.lo > range.hi) continue;
      for (const name of limitNames) {
        const v = l[name];
        if (v === undefined || (a!.log && v <= 0)) continue;
        lo = Math.min(lo, v);
        hi = Math.max(hi, v);
      }
    }
    if (t.series.kind === "enum") {
      lo = Math.min(lo, 0);
      hi = Math.max(hi, (t.series.metadata?.labels?.length ?? 2) - 1);
    }
  }
  if (a?.log) return lo > hi ? [1, 10] : [lo > 0 ? lo / 1.2 : 1e-3, hi > 0 ? Math.max(hi, 1e-3) * 1.2 : 1];
  if (lo > hi) return [0, 1];
  const margin = hi > lo ? (hi - lo) * 0.08 : Math.abs(hi) * 0.1 || 1;
  const states = a?.traces.some((t) => t.series?.kind === "enum"); // their labels are above the line of the highest one
  return [lo - margin, hi + (states ? 0.35 * (hi - lo) : margin)];
}

const labelsOf = (p: LaneProps) => p.lane.traces.find((t) => t.series?.kind === "enum")?.series?.metadata?.labels;
const noAxis = (p: LaneProps) => p.lane.traces.length > 0 && p.lane.traces.every((t) => t.series?.kind === "text" || (t.series?.kind === "other" && !t.heat));
const axisSize = (p: LaneProps) => 7 * p.theme.font;

function axes(get: () => LaneProps): uPlot.Axis[] {
  const p = get();
  const common: uPlot.Axis = {
    stroke: p.theme.axis, font: `${p.theme.font}px system-ui, sans-serif`,
    grid: { stroke: p.theme.grid, width: 1 }, ticks: { stroke: p.theme.grid, width: 1, size: 5 },
  };
  const list: uPlot.Axis[] = [
    { ...common, size: p.last ? 18 + 2 * p.theme.font : 8, space: 7 * p.theme.font, values: p.last ? times : (_, splits) => splits.map(() => "") },
    {
      ...common, scale: "y", size: axisSize(p), space: 3 * p.theme.font,
      ...(p.lane.traces.some((t) => t.heat) && { incrs: wholeNumbers }),
      splits: labelsOf(p) && ((_u, _i, lo, hi) => labelsOf(get())!.map((_, i) => i).filter((i) => i >= lo && i <= hi)),
      values: (_, splits) => {
        const labels = labelsOf(get());
        if (noAxis(get())) return splits.map(() => "");
        return splits.map((v) => (v === null ? "" : labels ? short(labels[v] ?? String(v)) : format(v)));
      },
    },
  ];
  if (p.lane.axes.length > 1) {
    list.push({
      ...common, scale: "y2", side: 1, size: axisSize(p), space: 3 * p.theme.font, grid: { show: false },
      values: (_, splits) => splits.map((v) => (v === null ? "" : format(v))),
    });
  }
  return list;
}

/** wholeNumbers are steps between the marks of an axis of elements. */
const wholeNumbers = Array.from({ length: 7 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

const short = (text: string) => (text.length > 11 ? text.slice(0, 10) + "…" : text);
const format = (v: number) => {
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e6 || a < 1e-4)) return v.toExponential(2).replace("e+", "e");
  return String(Number(v.toPrecision(7)));
};

function options(get: () => LaneProps): uPlot.Options {
  const p = get();
  return {
    width: p.width, height: p.height, ms: 1, legend: { show: false }, padding: [8, p.lane.axes.length > 1 ? 0 : p.room ? axisSize(p) : 26, 0, 0],
    tzDate: (t) => (get().utc ? uPlot.tzDate(new Date(t), "Etc/UTC") : new Date(t)),
    cursor: {
      sync: { key: "varve", setSeries: false, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false,
    },
    scales: {
      x: { time: true, auto: false, range: () => [get().range.lo, get().range.hi] },
      ...Object.fromEntries(p.lane.axes.map((a, i) => [scaleOf(i), { auto: false, distr: a.log ? 3 : 1, range: () => extent(get().lane.axes[i], get().range) } as uPlot.Scale])),
    },
    axes: axes(get),
    series: [{}, ...p.lane.axes.map((_, i) => ({ scale: scaleOf(i) }))],
    hooks: {
      draw: [(u) => draw(u, get().lane.traces, get().theme, get().now, get().window)],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const lo = u.posToVal(u.select.left, "x");
          const hi = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (selects.has(u)) get().onSelect({ lo, hi });
          else get().onZoom({ lo, hi });
        },
      ],
      setCursor: [
        (u) => {
          const { left, top } = u.cursor;
          if (left === undefined || left < 0) return get().onCursor(undefined, 0, 0, undefined, undefined);
          const box = u.over.getBoundingClientRect();
          const inside = u.cursor.event !== null && u.cursor.event !== undefined && u.over.matches(":hover");
          const at = Math.floor(((top ?? 0) / box.height) * get().lane.traces.length);
          get().onCursor(u.posToVal(left, "x"), box.left + left, box.top + (top ?? 0), inside ? get().lane.traces[at]?.pv : undefined, inside ? u.posToVal(top ?? 0, "y") : undefined);
        },
      ],
    },
  };
}

/** selects has the plots over which the pointer is dragged with Ctrl: that selects a window. */
const selects = new WeakSet<uPlot>();

/** movement adds wheel, double click and panning (Shift, or the middle button) to a plot. */
function movement(u: uPlot, get: () => LaneProps) {
  const over = u.over;
  const at = (e: MouseEvent) => (e.clientX - over.getBoundingClientRect().left) / over.clientWidth;
  over.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      const { lo, hi } = get().range;
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const by = ((hi - lo) * (e.deltaX || e.deltaY)) / 1000;
        return get().onPan({ lo: lo + by, hi: hi + by }, false);
      }
      const factor = Math.pow(1.0015, Math.max(-400, Math.min(400, e.deltaY)));
      const t = lo + at(e) * (hi - lo);
      get().onPan({ lo: t - (t - lo) * factor, hi: t + (hi - t) * factor }, false);
    },
    { passive: false },
  );
  over.addEventListener("dblclick", () => {
    const { lo, hi } = get().range;
    get().onZoom({ lo: lo - (hi - lo) / 2, hi: hi + (hi - lo) / 2 });
  });
  over.addEventListener(
    "mousedown",
    (e) => {
      if (e.ctrlKey || e.metaKey) selects.add(u);
      else selects.delete(u);
      if (!e.shiftKey && e.button !== 1) return;
      e.preventDefault();
      e.stopImmediatePropagation();
      const from = at(e);
      const { lo, hi } = get().range;
      const move = (e: MouseEvent) => {
        const by = (from - at(e)) * (hi - lo);
        get().onPan({ lo: lo + by, hi: hi + by }, false);
      };
      const up = (e: MouseEvent) => {
        removeEventListener("mousemove", move);
        removeEventListener("mouseup", up);
        const by = (from - at(e)) * (hi - lo);
        get().onPan({ lo: lo + by, hi: hi + by }, true);
      };
      addEventListener("mousemove", move);
      addEventListener("mouseup", up);
    },
    { capture: true },
  );
}

/** rows returns what uPlot needs besides its hooks: the ends of the range. */
const rows = (p: LaneProps): uPlot.AlignedData => [[p.range.lo, p.range.hi], ...p.lane.axes.map(() => [null, null])] as uPlot.AlignedData;

export function Lane(props: LaneProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const current = useRef(props);
  current.current = props;
  const labels = labelsOf(props)?.join("\n");
  const scales = props.lane.axes.map((a) => `${a.key} ${a.log}`).join("\n");
  useLayoutEffect(() => {
    const get = () => current.current;
    const u = new uPlot(options(get), rows(props), host.current!);
    movement(u, get);
    plot.current = u;
    (host.current as unknown as { plot: unknown }).plot = { u, traces: () => get().lane.traces };
    return () => u.destroy();
  }, [props.theme, props.utc, scales, props.last, props.room, labels]);
  useLayoutEffect(() => {
    const u = plot.current!;
    if (u.width !== props.width || u.height !== props.height) u.setSize({ width: props.width, height: props.height });
    u.batch(() => {
      u.setData(rows(props), false);
      u.setScale("x", { min: props.range.lo, max: props.range.hi });
      props.lane.axes.forEach((a, i) => {
        const [min, max] = extent(a, props.range);
        u.setScale(scaleOf(i), { min, max });
      });
    });
    u.redraw(false, true);
  });
  return <div class="lane-plot" ref={host} data-lane={props.lane.id} data-unit={props.lane.axes.map((a) => a.unit).join()} />;
}
