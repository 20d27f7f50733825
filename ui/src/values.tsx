// The values of the PVs of a lane: at the cursor, or the last ones.

import type { ComponentChildren } from "preact";
import { AxisHeader } from "./axis";
import { Colors, describe, describeCell, shownArrays } from "./arrays";
import type { PVData } from "./data";
import { dragTrace } from "./dragtrace";
import type { Break } from "./gaps";
import { title } from "./gaps";
import { arrayAt } from "./heat";
import type { Trace } from "./paint";
import { extent } from "./lane";
import { nameOf, type AxisOf, type LaneOf } from "./lanes";
import { limitsText } from "./limits";
import type { Range } from "./state";
import { indexAt, ms, statistics, timeOf, type Series, type Statistics } from "./series";
import { clock, duration, exact } from "./time";

interface Props {
  lane: LaneOf;
  data: Map<string, PVData>;
  range: Range;
  cursor: number | undefined;
  pointer: number | undefined;
  utc: boolean;
  height: number;
  onLog: (axis: AxisOf) => void;
  onFixed: (axis: AxisOf, range: [number, number] | undefined) => void;
  onRemove: (pv: string) => void;
  /** The place where a trace is dropped. */
  onDrop: (t: Trace, place: string) => void;
  menu: (t: Trace) => ComponentChildren;
}

const severities = ["", "MINOR", "MAJOR", "INVALID"];

export function number(v: number, s: Series): string {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "–" : String(v);
  if (s.kind === "enum") return s.metadata?.labels?.[v] ?? String(v);
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e9 || a < 1e-4)) return v.toExponential(4);
  return String(Number(v.toPrecision(9)));
}

const brief = (v: number, s: Series) => number(Number.isFinite(v) ? Number(v.toPrecision(5)) : v, s);

/** valueAt describes the value of a PV at a time. */
export function valueAt(s: Series, breaks: Break[], t: number): { text: string; detail: string; severity: number } {
  const gap = breaks.find((b) => b.gap && b.lo <= t && t < b.hi);
  const i = indexAt(s.x, t);
  if (gap && (i < 0 || s.x[i] < gap.lo || s.mode === "bins")) return { text: "no data", detail: title(gap), severity: 0 };
  if (i < 0 || t > ms(s.now) || (s.end && t >= s.end[i])) return { text: "–", detail: "", severity: 0 };
  const severity = s.severity[i];
  if (s.mode === "samples") {
    const text = s.kind === "text" ? (s.texts?.[i] ?? "") : s.kind === "other" ? "(array)" : number(s.value![i], s);
    return { text, detail: "", severity };
  }
  if (s.kind === "text") return { text: s.texts?.[i] ?? "", detail: `${s.count![i]} samples`, severity };
  const [lo, hi] = [brief(s.min![i], s), brief(s.max![i], s)];
  const text = s.kind === "number" ? number(s.mean![i], s) : s.kind === "enum" ? number(s.last![i], s) : "(array)";
  return { text, detail: s.count![i] === 0 ? "no new sample" : `${lo} … ${hi}, ${s.count![i]} samples`, severity };
}

export function shown(s: Series, st: Statistics): string {
  if (s.mode === "samples") return st.samples === 1 ? "raw: 1 sample" : `raw: ${st.samples} samples`;
  return `envelope: ${duration(s.width)} bins of ${st.samples.toLocaleString("en")} samples, ${Math.floor((st.covered ?? 0) * 1000) / 10} % covered`;
}

/** missing says which samples may be missing. The server writes "unknown" if it does not know up to when there are all. */
const missing = (until: string, utc: boolean) =>
  `${until === "unknown" ? "The newest samples" : `Samples after ${clock(Date.parse(until), utc)}`} may be missing: an engine does not answer.`;

export function Values(p: Props) {
  const { axes } = p.lane;
  return (
    <section class="values" style={{ height: `${p.height}px` }} aria-label={`Values of ${nameOf(p.lane)}`}>
      {axes.map((axis, i) => (
        <div key={axis.key}>
          <AxisHeader
            axis={axis} side={axes.length > 1 ? (i === 0 ? "left" : "right") : undefined} shown={extent(axis, p.range)}
            onLog={() => p.onLog(axis)} onFixed={(r) => p.onFixed(axis, r)}
          />
          {axis.traces.map((t) => <Row key={t.pv} trace={t} d={p.data.get(t.pv)} p={p} />)}
        </div>
      ))}
    </section>
  );
}

function Row({ trace, d, p }: { trace: Trace; d: PVData | undefined; p: Props }) {
  const s = d?.series;
  const at = p.cursor ?? (s ? Math.min(p.range.hi - 1e-3, ms(s.now)) : 0);
  const h = trace.heat;
  const v = s && valueAt(s, trace.breaks, at);
  const array = h && v?.text === "(array)" ? arrayAt(h, at) : -1;
  if (v && array >= 0) Object.assign(v, { text: describe(h!, array), detail: "" });
  const st = s && statistics(s, trace.breaks, p.range.lo, p.range.hi);
  const i = s ? indexAt(s.x, at) : -1;
  const when = array >= 0 ? exact(h!.base + h!.offset[array], p.utc) : s && i >= 0 && s.mode === "samples" ? exact(timeOf(s, i), p.utc) : "";
  return (
    <div class="value" data-pv={trace.pv} data-mode={s?.mode} data-rows={s?.rows} data-error={d?.error}>
      <span class="handle" title={s?.metadata?.description || trace.pv} onPointerDown={(e) => dragTrace(e, trace.pv, (place) => p.onDrop(trace, place))}>
        <i class="swatch" style={{ background: trace.color }} />
        <span class="name">{trace.pv}</span>
      </span>
      {p.menu(trace)}
      <button type="button" class="remove" aria-label={`Remove ${trace.pv}`} title="Remove" onClick={() => p.onRemove(trace.pv)}>×</button>
      {d?.error && <em role="alert">{d.error}</em>}
      {v && (
        <>
          <strong class={v.text === "no data" ? "none" : ""}>{v.text}</strong>
          {v.severity > 0 && <small class={`alarm severity-${v.severity}`}>{severities[v.severity]}</small>}
          {(v.detail || when) && <small class="detail" title={when && `Sample of ${when}`}>{v.detail || when}</small>}
        </>
      )}
      {h && h.rows > 0 && <small class="element">{array >= 0 && p.pointer !== undefined ? describeCell(h, array, p.pointer) : "Point at an element to see its value."}</small>}
      {s && st && (
        <small class="stats">
          {s.kind === "number" && Number.isFinite(st.min) && <>min {brief(st.min, s)} · mean {brief(st.mean, s)} · max {brief(st.max, s)}<br /></>}
          <span class="shown">{st.rows === 0 && s.rows === 0 ? "no data in this range" : shown(s, st)}</span>
          {trace.limits && <><br /><span class="limits">{limitsText(trace.limits, at)}</span></>}
          {h && <><br /><Colors heat={h} log={trace.logColors} /><br /><span class="arrays">{shownArrays(h, duration(h.width * 1e3))}</span></>}
          {h?.leftOutFrom && <><br /><em>Arrays from {clock(Date.parse(h.leftOutFrom), p.utc)} on are not shown: reading them takes too long. Zoom in.</em></>}
          {s.kind === "other" && !h && <><br />Values of this type are not drawn, only their times.</>}
          {s.completeUntil && <><br /><em>{missing(s.completeUntil, p.utc)}</em></>}
          {!!s.lost && <><br /><em>{s.lost} samples are left out, because their blocks are damaged.</em></>}
        </small>
      )}
    </div>
  );
}
