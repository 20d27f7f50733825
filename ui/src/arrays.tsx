// One array of a heat map, which a slider chooses: its values over the numbers of the elements.

import { useLayoutEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { Canvas } from "./canvas";
import { arrayAt, cellAt, colorOf, column, isLog, type Heat } from "./heat";
import type { Theme, Trace } from "./paint";
import { exact } from "./time";

interface Props {
  trace: Trace;
  utc: boolean;
  theme: Theme;
  width: number;
  /** onAt is called with the time of the array that the user chose, in ms. */
  onAt: (t: number) => void;
}

const brief = (v: number) => (Number.isNaN(v) ? "–" : String(Number(v.toPrecision(5))));

/** extremes returns the smallest and the largest number of an array. */
function extremes(h: Heat, i: number): [number, number] {
  let [lo, hi] = [NaN, NaN];
  for (const v of column(h.min, h, i)) if (!(lo <= v) && !Number.isNaN(v)) lo = v;
  for (const v of column(h.max, h, i)) if (!(hi >= v) && !Number.isNaN(v)) hi = v;
  return [lo, hi];
}

/** describe describes an array in a line. */
export function describe(h: Heat, i: number): string {
  const [lo, hi] = extremes(h, i);
  return `${h.length[i].toLocaleString("en")} elements` + (h.length[i] > 0 ? `, ${brief(lo)} … ${brief(hi)}` : "");
}

/** describeCell describes what a heat map has at a place on its axis of elements. */
export function describeCell(h: Heat, i: number, y: number): string {
  const at = Math.min(Math.max(0, y), h.elements - 0.5); // the highest pixel is at the end of the last element
  const c = cellAt(h, i, at);
  const units = h.metadata?.units ? ` ${h.metadata.units}` : "";
  if (!c) return `element ${Math.floor(at)}: this array has only ${h.length[i].toLocaleString("en")} elements`;
  if (c.first === c.last) return `element ${c.first}: ${brief(c.max)}${units}`;
  return `elements ${c.first} to ${c.last}: ${brief(c.min)} … ${brief(c.max)}${units}`;
}

export function ArrayView({ trace, utc, theme, width, onAt }: Props) {
  const h = trace.heat!;
  const chosen = trace.at === undefined ? h.rows - 1 : arrayAt(h, trace.at);
  const i = Math.max(0, chosen);
  const when = exact(h.base + h.offset[i], utc);
  const [lo, hi] = extremes(h, i);
  const margin = (hi - lo) * 0.05 || Math.abs(hi) * 0.1 || 1;
  const finite = Number.isFinite(lo) && Number.isFinite(hi);
  return (
    <section class="array" aria-label={`Array of ${trace.pv}`} data-pv={trace.pv} data-at={h.x[i]} data-index={i}>
      <label>
        <b><i class="swatch" style={{ background: trace.color }} />{trace.pv}</b>
        <input
          type="range" min={0} max={h.rows - 1} step={1} value={i} disabled={h.rows < 2} aria-valuetext={`${when}: ${describe(h, i)}`}
          onInput={(e) => onAt(Math.ceil(h.x[Number(e.currentTarget.value)]))}
        />
        <span>{when}, {describe(h, i)}{h.metadata?.units && ` ${h.metadata.units}`}</span>
      </label>
      {h.length[i] > 0 && (
        <Canvas
          key={finite ? "finite" : "infinite"} data={h} theme={theme} width={width} height={11} label={`${trace.pv} of ${when}: ${describe(h, i)}`}
          x={[0, h.elements]} y={finite ? [lo - margin, hi + margin] : [h.low - 1, h.high + 1]} names={[String, brief]} whole turn={i}
          draw={(u) => profile(u, h, i, trace.color)}
        />
      )}
    </section>
  );
}

/** profile draws an array: a bar from the minimum to the maximum of each cell. */
function profile(u: uPlot, h: Heat, i: number, color: string) {
  const [low, high] = [column(h.min, h, i), column(h.max, h, i)];
  const px = devicePixelRatio;
  u.ctx.fillStyle = color;
  let before = NaN;
  for (let k = 0; k < high.length; k++) {
    if (!Number.isFinite(low[k]) || !Number.isFinite(high[k])) {
      before = NaN;
      continue;
    }
    const left = u.valToPos(k * h.group, "x", true);
    const right = u.valToPos((k + 1) * h.group, "x", true);
    const [bottom, top] = [u.valToPos(low[k], "y", true), u.valToPos(high[k], "y", true)];
    u.ctx.fillRect(left, top - px / 2, right - left, Math.max(px, bottom - top));
    const middle = (bottom + top) / 2;
    if (!Number.isNaN(before)) u.ctx.fillRect(left - px / 2, Math.min(before, middle), px, Math.abs(before - middle));
    before = middle;
  }
}

/** Colors says which colours stand for which values. */
export function Colors({ heat: h, log: wanted }: { heat: Heat; log: boolean | undefined }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const ctx = canvas.current!.getContext("2d")!;
    for (let i = 0; i < 64; i++) {
      ctx.fillStyle = `rgb(${colorOf(i / 63).join()})`;
      ctx.fillRect(i, 0, 1, 1);
    }
  }, []);
  const text = colorsText(h, wanted);
  return <span class="colors"><canvas ref={canvas} width={64} height={1} role="img" aria-label={`Colours ${text}`} /> {text}</span>;
}

function colorsText(h: Heat, wanted: boolean | undefined): string {
  if (Number.isNaN(h.low)) return "no finite numbers";
  const log = isLog(h, wanted);
  const range = `from ${brief(log ? h.lowest : h.low)} to ${brief(h.high)} ${h.metadata?.units ?? ""}`.trimEnd();
  if (log) return `logarithmic ${range}` + (h.low <= 0 ? "; 0 and less are darkest" : "");
  return range + (wanted ? "; not logarithmic, because no number is above 0" : "");
}

/** shownArrays says which arrays a heat map has. */
export function shownArrays(h: Heat, width: string): string {
  const group = h.group > 1 ? `; a cell shows the largest of ${h.group} elements` : "";
  const few = h.thinned ? "; some are skipped, because the arrays are large: zoom in" : "";
  return `heat map: ${h.rows.toLocaleString("en")} arrays, at most one per ${width}${few}${group}`;
}
