// Which traces share a lane, and which axes it has:
//
//   traces ──by unit, or by the number of a lane──▶ lanes ──by unit──▶ axes: the first left, the second right
//
// Numbers of one unit share a lane and an axis. A user moves a trace into another lane, which then has a
// number. States, texts and arrays have lanes of their own.

import type { Trace } from "./paint";
import { nextLane, type State } from "./state";

/** colorsKey is the key of the colours of a heat map among those of logarithmic axes. */
export const colorsKey = (pv: string) => `colours:${pv}`;

/** maxAxes is how many axes a lane has. */
export const maxAxes = 2;

export interface AxisOf {
  /** The key of the axis in the URL. */
  key: string;
  unit: string;
  log: boolean;
  fixed?: [number, number];
  traces: Trace[];
}

export interface LaneOf {
  id: string;
  /** The number of a lane that was made by moving traces, or 0. */
  number: number;
  axes: AxisOf[];
  traces: Trace[];
}

const others = { enum: "state", text: "text" } as Record<string, string>;

/** unitOf returns the unit of a trace, or what stands in its place. */
export function unitOf(t: Trace): string {
  const s = t.series;
  if (!s) return "…";
  if (t.heat) return "element";
  return s.kind === "number" ? (s.metadata?.units ?? "") : (others[s.kind] ?? s.type ?? "array");
}

const isNumber = (t: Trace) => t.series?.kind === "number";

/** group puts traces into lanes, and gives each its axis. */
export function group(traces: Trace[], state: Pick<State, "lanes" | "log" | "fixed">): LaneOf[] {
  const lanes = new Map<string, LaneOf>();
  for (const t of traces) {
    const unit = unitOf(t);
    let number = isNumber(t) ? (state.lanes[t.pv] ?? 0) : 0;
    const there = number ? lanes.get(`lane ${number}`) : undefined;
    if (there && there.axes.length === maxAxes && !there.axes.some((a) => a.unit === unit)) number = 0; // a link has too many units
    const id = number ? `lane ${number}` : isNumber(t) ? unit : t.series ? `${t.series.kind} ${t.pv}` : "?";
    const lane = lanes.get(id) ?? { id, number, axes: [], traces: [] };
    lanes.set(id, lane);
    lane.traces.push(t);
    const key = number ? `${number}:${unit}` : unit;
    let axis = lane.axes.find((a) => a.unit === unit);
    if (!axis) lane.axes.push((axis = { key, unit, log: isNumber(t) && state.log.includes(key), fixed: isNumber(t) ? state.fixed[key] : undefined, traces: [] }));
    axis.traces.push(t);
    t.axis = lane.axes.indexOf(axis);
  }
  return [...lanes.values()];
}

/** nameOf describes a lane by its first PVs. */
export const nameOf = (l: LaneOf) => l.traces.slice(0, 2).map((t) => t.pv).join(", ") + (l.traces.length > 2 ? ", …" : "");

export type Move = { refused: string } | Pick<State, "lanes" | "log" | "fixed">;

/** move moves a trace to another lane, or to one of its own. It says why that cannot be. */
export function move(state: State, lanes: LaneOf[], t: Trace, to: LaneOf | undefined): Move {
  if (!isNumber(t)) return { refused: `${t.pv} needs a plot of its own, because its values are not numbers.` };
  const out = { lanes: { ...state.lanes }, log: [...state.log], fixed: { ...state.fixed } };
  const unit = unitOf(t);
  if (!to) out.lanes[t.pv] = nextLane(out.lanes);
  else if (to.traces.includes(t)) return out;
  else if (!to.traces.every(isNumber)) return { refused: `${nameOf(to)} needs a plot of its own, because its values are not numbers.` };
  else if (!to.number && to.id === unit) delete out.lanes[t.pv];
  else if (to.axes.length === maxAxes && !to.axes.some((a) => a.unit === unit)) {
    return { refused: `A plot has at most two axes. The plot of ${nameOf(to)} has both already: ${to.axes.map((a) => a.unit || "no unit").join(" and ")}. The unit of ${t.pv} is another one: ${unit || "no unit"}.` };
  } else out.lanes[t.pv] = to.number || renumber(out, to);
  const from = lanes.find((l) => l.traces.includes(t));
  if (from?.axes[t.axis ?? 0]?.traces.length === 1) forget(out, from.axes[t.axis ?? 0].key);
  return out;
}

/** renumber gives the lane of a unit a number. Its axis keeps its settings. */
function renumber(out: Pick<State, "lanes" | "log" | "fixed">, lane: LaneOf): number {
  const n = nextLane(out.lanes);
  for (const t of lane.traces) out.lanes[t.pv] = n;
  for (const { key, unit } of lane.axes) {
    const renamed = `${n}:${unit}`;
    out.log = out.log.map((k) => (k === key ? renamed : k));
    if (out.fixed[key]) out.fixed[renamed] = out.fixed[key];
    delete out.fixed[key];
  }
  return n;
}

/** forget removes the settings of an axis without traces. */
function forget(out: Pick<State, "log" | "fixed">, key: string) {
  out.log = out.log.filter((k) => k !== key);
  delete out.fixed[key];
}

/** without removes a trace and its settings. */
export function without(state: State, pv: string): Partial<State> {
  const lanes = { ...state.lanes };
  delete lanes[pv];
  return {
    pvs: state.pvs.filter((p) => p !== pv), lanes, limits: state.limits.filter((p) => p !== pv), log: state.log.filter((k) => k !== colorsKey(pv)),
  };
}
