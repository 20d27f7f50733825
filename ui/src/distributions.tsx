// Histogram and x–y plot of the selected window.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { readGaps, readSeries } from "./api";
import { histogram, pairs, type Histogram, type Pairs } from "./distribution";
import { breaks } from "./gaps";
import type { Theme, Trace } from "./paint";
import { ms, shift as shiftSeries } from "./series";
import type { Distribution, Range } from "./state";
import { sourceOf } from "./traces";
import { number } from "./values";

/** most is how many samples of a PV are read. More are refused, because bins have no single values. */
const most = 10_000;

interface Props {
  pvs: string[];
  window: Range;
  show: Distribution;
  theme: Theme;
  width: number;
  onShow: (d: Distribution) => void;
}

/** read reads the samples and gaps of a trace in a window, or throws why they cannot be shown. */
async function read(pv: string, w: Range, theme: Theme, signal: AbortSignal): Promise<Trace> {
  const { pv: name, shift } = sourceOf(pv);
  const [s, gaps] = await Promise.all([
    readSeries(name, w.lo - shift, w.hi + 1 - shift, 1, most, signal), readGaps(name, w.lo - shift, w.hi - shift, signal),
  ]);
  if (s.kind !== "number" && s.kind !== "enum") throw new Error(`The values of ${pv} are no numbers.`);
  if (s.mode !== "samples") throw new Error(`${pv} has more than ${most.toLocaleString("en")} samples in the selection. Select a shorter one.`);
  if (gaps.leftOutFrom) throw new Error(`${pv} has too many gaps in the selection. Select a shorter one.`);
  const until = ms(s.now) + shift;
  return { pv, color: theme.traces[0], series: shift ? shiftSeries(s, shift, until) : s, breaks: breaks(gaps, ms(s.now), shift) };
}

/** useTraces reads traces, or says why they cannot be shown. */
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

/** lacking says which samples the archive could not read. */
const lacking = ({ pv, series: s }: Trace) =>
  (s!.lost ? ` ${pv} lacks ${plural(s!.lost, "sample")} in damaged blocks.` : "") +
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
  const text = `${plural(total, "sample")}, each counted once. Times in gaps have no samples.` + (h.left ? ` ${plural(h.left, "sample")} with NaN or ±Inf left out.` : "") + lacking(trace);
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
  const text = `${plural(p.t.length, "point")}: the values of both PVs at the start of the selection and at each sample of either; a value holds until the next sample or gap.` +
    (p.alone ? ` At ${plural(p.alone, "time")} only one value was known.` : "") + (p.left ? ` ${plural(p.left, "point")} with NaN or ±Inf left out.` : "") + lacking(a) + lacking(b);
  const format = (t: Trace) => (v: number) => number(t.series!.kind === "enum" ? v : Number(v.toPrecision(6)), t.series!);
  return (
    <>
      <p>{text}</p>
      {p.t.length > 0 && (
        <Canvas
          data={p} theme={theme} width={width} label={`${b.pv} over ${a.pv}: ${text}`} x={around(p.x)} y={around(p.y)} names={[format(a), format(b)]}
          whole={a.series!.kind === "enum"}
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

interface CanvasProps {
  data: Histogram | Pairs;
  theme: Theme;
  width: number;
  label: string;
  x: [number, number];
  y: [number, number];
  /** The texts at the axes. */
  names: [(v: number) => string, (v: number) => string];
  /** The x axis has marks at whole numbers only. */
  whole: boolean;
  draw: (u: uPlot) => void;
}

/** Canvas is a plot with linear axes that draws by a function. */
function Canvas(p: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const axis = (i: number): uPlot.Axis => ({
      stroke: p.theme.axis, font: `${p.theme.font}px system-ui, sans-serif`, grid: { stroke: p.theme.grid, width: 1 }, ticks: { stroke: p.theme.grid, width: 1, size: 5 },
      space: (i ? 3 : 8) * p.theme.font, size: i ? 7 * p.theme.font : 3 * p.theme.font, values: (_, splits) => splits.map((v) => p.names[i](v)),
      ...(i === 0 && p.whole && { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }),
    });
    const u = new uPlot({
      width: p.width, height: 20 * p.theme.font, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => p.x }, y: { range: () => p.y } }, axes: [axis(0), axis(1)], series: [{}, {}], hooks: { draw: [p.draw] },
    }, [p.x, [null, null]] as uPlot.AlignedData, host.current!);
    (host.current as unknown as { plot: unknown }).plot = { u, data: p.data };
    return () => u.destroy();
  }, [p.data, p.theme, p.width]);
  return <div class="distribution-plot" ref={host} role="img" aria-label={p.label} />;
}
