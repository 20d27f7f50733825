// Reads what a plot shows: for each PV its series and its gaps. While new data is on its way, the
// earlier data stays.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, readGaps, readHeat, readSeries, type Gaps } from "./api";
import type { Heat } from "./heat";
import { extend, follow } from "./live";
import { ms, shift as shiftSeries, type Series } from "./series";
import type { Range } from "./state";
import { sourceOf } from "./traces";

export interface PVData {
  series?: Series;
  gaps?: Gaps;
  heat?: Heat;
  error?: string;
  /** The range that was read, in ms. */
  lo: number;
  hi: number;
  /** What was wanted when the data was read. */
  want: string;
  /** The stream whose samples continue the series. */
  stream?: number;
}

export interface Plot {
  data: Map<string, PVData>;
  loading: boolean;
  /** A text about live updates, or "". */
  trouble: string;
}

/** maxSamples is how many samples of a PV are plotted as they are. */
export const maxSamples = 2000;

const settle = 60; // ms without a change before a range is read

/** A heat map has columns of at least columnWidth pixels, and at most maxColumns. */
const columnWidth = 3;
const maxColumns = 600;

/** readOne reads what a plot of a trace shows from lo to hi. */
async function readOne(trace: string, lo: number, hi: number, points: number, signal: AbortSignal): Promise<Pick<PVData, "heat"> & { series: Series; gaps: Gaps }> {
  const { pv, shift } = sourceOf(trace);
  const [series, gaps] = await Promise.all([readSeries(pv, lo - shift, hi - shift, points, maxSamples, signal), readGaps(pv, lo - shift, hi - shift, signal)]);
  const cells = innerHeight < 1000 ? 128 : innerHeight < 1600 ? 256 : 512; // about the height of a plot
  const heat = series.kind === "other" ? await readHeat(pv, lo - shift, hi - shift, Math.min(maxColumns, Math.ceil(points / columnWidth)), cells, shift, signal) : undefined;
  return { heat, series: shift ? shiftSeries(series, shift, Math.min(hi, ms(series.now) + shift)) : series, gaps };
}

/** usePlot reads traces, and follows those without a shift while the plot is live. */
export function usePlot(pvs: string[], range: Range, points: number, live: boolean, onNow: (ms: number) => void): Plot {
  const data = useRef(new Map<string, PVData>());
  const [, redraw] = useState(0);
  const [trouble, setTrouble] = useState("");
  const [again, setAgain] = useState(0);
  const [following, setFollowing] = useState(0);
  const touch = () => redraw((n) => n + 1);
  const key = pvs.join("\n");
  for (const pv of data.current.keys()) if (!pvs.includes(pv)) data.current.delete(pv);

  // While the plot is live, the range moves with each second; the data follows by events.
  const fixed = live ? `live ${Math.round(range.hi - range.lo)}` : `${range.lo} ${range.hi}`;
  const want = `${fixed} ${points}`;
  const latest = useRef(range);
  latest.current = range;

  useEffect(() => {
    if (points === 0 || pvs.length === 0) return;
    const abort = new AbortController();
    let retry = 0;
    const wait = data.current.size === 0 ? 0 : settle;
    const { lo, hi } = latest.current;
    const one = async (pv: string) => {
      const old = data.current.get(pv);
      try {
        const { series, gaps, heat } = await readOne(pv, lo, hi, points, abort.signal);
        data.current.set(pv, { series, gaps, heat, lo, hi, want });
        if (live && !series.shifted) onNow(ms(series.now));
      } catch (err) {
        if (abort.signal.aborted) return;
        const e = err as ApiError;
        data.current.set(pv, { ...old, error: e.message, lo, hi, want });
        if (e.retry > 0) {
          clearTimeout(retry);
          retry = window.setTimeout(() => setAgain((n) => n + 1), e.retry * 1000);
        }
      }
      touch();
    };
    const timer = setTimeout(async () => {
      await Promise.all(pvs.map(one));
      if (abort.signal.aborted) return;
      setFollowing((n) => n + 1);
    }, wait);
    return () => {
      clearTimeout(timer);
      clearTimeout(retry);
      abort.abort();
    };
  }, [key, fixed, points, live, again]);

  useEffect(() => {
    setTrouble("");
    if (!live || following === 0) return;
    const list = pvs.flatMap((pv) => {
      const d = data.current.get(pv);
      if (d) d.stream = following;
      return d?.series && !d.series.shifted ? [{ pv, series: d.series }] : [];
    });
    if (list.length === 0) return;
    const every = Math.max(3000, (latest.current.hi - latest.current.lo) / 200);
    const bins = list.some(({ series }) => series.mode === "bins" || series.kind === "other"); // events have no bins and no arrays
    const read = Date.now();
    return follow(list, {
      samples: (u) => {
        const d = data.current.get(u.pv);
        if (!d?.series || d.series.mode !== "samples" || d.stream !== following) return; // a new read has these samples
        d.series = extend(d.series, u);
        if (d.series.rows > 2 * maxSamples) setAgain((n) => n + 1);
        touch();
      },
      now: (ns) => {
        onNow(ms(ns));
        for (const d of data.current.values()) if (d.series && !d.series.shifted) d.series.now = ns;
        if (Date.now() - read > (bins ? every : Math.max(10_000, every))) setAgain((n) => n + 1);
      },
      reset: () => setAgain((n) => n + 1),
      trouble: setTrouble,
    });
  }, [live, following, key]);

  return { data: data.current, loading: pvs.some((pv) => data.current.get(pv)?.want !== want), trouble };
}
