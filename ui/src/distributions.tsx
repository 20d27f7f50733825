// Histogram and x–y plot of the selected window.

import { useEffect, useMemo, useState } from "preact/hooks";
import { readGaps, readSeries } from "./api";
import { Canvas } from "./canvas";
import { histogram, pairs } from "./distribution";
import { breaks } from "./gaps";
import type { Theme, Trace } from "./paint";
import { ms, shift as shiftSeries } from "./series";
import type { Distribution, Range } from "./state";
import { sourceOf } from "./traces";
import { number } from "./values";

/** most is how many samples of a PV the page reads. It refuses a longer selection, because bins do not contain individual values. */
const most = 10_000;

interface Props {
  pvs: string[];
  window: Range;
  show: Distribution;
  theme: Theme;
  width: number;
  onShow: (d: Distribution) => void;
}

/** read reads the samples and gaps of a trace in a window. It throws an error that says why the page cannot show them. */
async function read(pv: string, w: Range, theme: Theme, signal: AbortSignal): Promise<Trace> {
  const { pv: name, shift } = sourceOf(pv);
  const [s, gaps] = await Promise.all([
    readSeries(name, w.lo - shift, w.hi + 1 - shift, 1, most, signal), readGaps(name, w.lo - shift, w.hi - shift, signal),
  ]);
  if (s.kind !== "number" && s.kind !== "enum") throw new Error(`${pv} cannot be shown: its values are not numbers.`);
  if (s.mode !== "samples") throw new Error(`${pv} has more than ${most.toLocaleString("en")} samples in the selection. Select a shorter time.`);
  if (gaps.leftOutFrom) throw new Error(`${pv} has too many gaps in the selection. Select a shorter time.`);
  const until = ms(s.now) + shift;
  return { pv, color: theme.traces[0], series: shift ? shiftSeries(s, shift, until) : s, breaks: breaks(gaps, ms(s.now), shift) };
}

/** useTraces returns the traces with their samples, or a text that says why the page cannot show them. */
function useTraces(pvs: string[], w: Range, theme: Theme): Trace[] | string | undefined {
  const [got, setGot] = useState<Trace[] | string>();
  useEffect(() => {
    const abort = new AbortController();
    setGot(undefined);
    Promise.all(pvs.map((pv) => read(pv, w, theme, abort.signal)))
      .then(setGot, (e: Error) => abort.signal.aborted || setGot(e.message));
    return () => abort.abort();
  }, [pvs.join("\n"), w.lo, w.hi, theme]);
  return got;
}

/** lacking says which samples are missing. */
const lacking = ({ pv, series: s }: Trace) =>
  (s!.lost ? ` ${plural(s!.lost, "sample")} of ${pv} ${s!.lost === 1 ? "is" : "are"} missing: stored blocks are damaged.` : "") +
  (s!.completeUntil ? ` Later samples of ${pv} may be missing: an engine does not answer.` : "");

const plural = (n: number, what: string) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

export function Distributions({ pvs, window: w, show, theme, width, onShow }: Props) {
  const xy = show.kind === "xy";
  const of = [show.of[0] ?? pvs[0], ...(xy ? [show.of[1] ?? pvs.find((pv) => pv !== (show.of[0] ?? pvs[0])) ?? pvs[0]] : [])];
  const got = useTraces(of, w, theme);
  const pick = (i: number, label: string) => (
    <label>{label} <select value={of[i]} onChange={(e) => onShow({ ...show, of: of.map((pv, k) => (k === i ? e.currentTarget.value : pv)) })}>
      {pvs.map((pv) => <option key={pv} value={pv}>{pv}</option>)}
    </select></label>
  );
  const ready = Array.isArray(got) && got.length === of.length && got.every((t, i) => t.pv === of[i]) ? got : undefined;
  return (
    <div class="distribution" data-state={typeof got === "string" ? "failed" : ready ? "ready" : "loading"} data-kind={show.kind}>
      <p>{xy ? [pick(0, "x"), " ", pick(1, "y")] : pick(0, "Histogram of")}</p>
      {typeof got === "string" && <p role="alert">{got}</p>}
      {ready && (xy ? <XY traces={ready} window={w} theme={theme} width={width} /> : <Bars trace={ready[0]} window={w} theme={theme} width={width} />)}
    </div>
  );
}

interface PlotProps {
  window: Range;
  theme: Theme;
  width: number;
}

function Bars({ trace, window: w, theme, width }: PlotProps & { trace: Trace }) {
  const s = trace.series!;
  const h = useMemo(() => histogram(s, w), [trace, w.lo, w.hi]);
  const total = h.counts.reduce((a, b) => a + b, 0);
  const text = `${plural(total, "sample")}. Each sample counts once, however long its value lasted. Gaps contain no samples.` + (h.left ? ` ${plural(h.left, "sample")} with NaN or ±Inf ${h.left === 1 ? "does" : "do"} not count.` : "") + lacking(trace);
  return (
    <>
      <p>{text}</p>
      {total > 0 && (
        <Canvas
          data={h} theme={theme} width={width} label={`Histogram of ${trace.pv}: ${text}`} x={[h.edges[0], h.edges.at(-1)! + h.width]} y={[0, Math.max(...h.counts) * 1.08]}
          names={[(v) => number(s.kind === "enum" ? v : Number(v.toPrecision(6)), s), String]} whole={s.kind === "enum"}
          draw={(u) => h.counts.forEach((n, i) => {
            const [left, right] = [u.valToPos(h.edges[i], "x", true), u.valToPos(h.edges[i] + h.width, "x", true)];
            const top = u.valToPos(n, "y", true);
            u.ctx.fillStyle = theme.traces[0];
            u.ctx.fillRect(left, top, Math.max(1, right - left - devicePixelRatio), u.bbox.top + u.bbox.height - top);
          })}
        />
      )}
    </>
  );
}

/** around returns the range of an axis for values. */
function around(list: number[]): [number, number] {
  const lo = list.reduce((a, b) => Math.min(a, b));
  const hi = list.reduce((a, b) => Math.max(a, b));
  const margin = (hi - lo) * 0.05 || Math.abs(hi) * 0.1 || 1;
  return [lo - margin, hi + margin];
}

function XY({ traces: [a, b], window: w, theme, width }: PlotProps & { traces: Trace[] }) {
  const p = useMemo(() => pairs(a, b, w), [a, b, w.lo, w.hi]);
  const text = `${plural(p.t.length, "point")}. There is a point at the start of the selection, and at each time with a sample of either PV. A value lasts until the next sample or gap.` +
    (p.alone ? ` ${plural(p.alone, "time")} ${p.alone === 1 ? "has" : "have"} no point, because the value of only one PV was known.` : "") + (p.left ? ` ${plural(p.left, "time")} ${p.left === 1 ? "has" : "have"} no point, because a value was NaN or ±Inf.` : "") + lacking(a) + lacking(b);
  const format = (t: Trace) => (v: number) => number(t.series!.kind === "enum" ? v : Number(v.toPrecision(6)), t.series!);
  return (
    <>
      <p>{text}</p>
      {p.t.length > 0 && (
        <Canvas
          data={p} theme={theme} width={width} label={`${b.pv} over ${a.pv}: ${text}`} x={around(p.x)} y={around(p.y)} names={[format(a), format(b)]}
          whole={a.series!.kind === "enum"} wholeY={b.series!.kind === "enum"}
          draw={(u) => {
            u.ctx.fillStyle = theme.traces[0];
            u.ctx.globalAlpha = 0.6;
            const r = 2 * devicePixelRatio;
            p.t.forEach((_, i) => u.ctx.fillRect(u.valToPos(p.x[i], "x", true) - r, u.valToPos(p.y[i], "y", true) - r, 2 * r, 2 * r));
            u.ctx.globalAlpha = 1;
          }}
        />
      )}
    </>
  );
}
