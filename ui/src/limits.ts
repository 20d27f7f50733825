// Alarm limits of PVs with their history, as lines and bands behind the values.

import { useEffect, useState } from "preact/hooks";
import { getJSON } from "./api";
import type { Context, Limit, Theme } from "./paint";
import type { Range } from "./state";
import { sourceOf } from "./traces";

export const limitNames = ["LOLO", "LOW", "HIGH", "HIHI"] as const;

interface History {
  history: { since: string; limits?: Record<string, number> }[];
}

/** steps returns the limits in a range from an answer of /api/v1/metadata. by shifts them, in ms. */
export function steps(h: History, hi: number, by: number): Limit[] {
  return h.history.map(({ since, limits }, i) => ({
    lo: Date.parse(since) + by, hi: i + 1 < h.history.length ? Date.parse(h.history[i + 1].since) + by : hi,
    LOLO: limits?.alarmLow, LOW: limits?.warnLow, HIGH: limits?.warnHigh, HIHI: limits?.alarmHigh,
  }));
}

/** Limits are the limits of traces, or why they cannot be read. */
export type Limits = Map<string, Limit[] | string>;

/** useLimits reads the limits of traces. They are read again when the range ends later than what was read. */
export function useLimits(traces: string[], range: Range, live: boolean): Limits {
  const [found, setFound] = useState<Limits>(new Map());
  const span = range.hi - range.lo;
  const grain = live ? Math.max(60e3, span / 10) : 1; // a live range is read again now and then
  const lo = Math.floor(range.lo / grain) * grain;
  const hi = Math.ceil(range.hi / grain) * grain;
  const key = traces.join("\n");
  useEffect(() => {
    if (traces.length === 0) return;
    const abort = new AbortController();
    const one = async (trace: string): Promise<[string, Limit[] | string]> => {
      const { pv, shift } = sourceOf(trace);
      const iso = (t: number) => new Date(Math.round(t - shift)).toISOString();
      try {
        return [trace, steps(await getJSON<History>("metadata", new URLSearchParams({ pv, from: iso(lo), to: iso(hi) }), { signal: abort.signal }), hi, shift)];
      } catch (err) {
        return [trace, (err as Error).message];
      }
    };
    const timer = setTimeout(() => void Promise.all(traces.map(one)).then((all) => abort.signal.aborted || setFound(new Map(all))), 60);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, lo, hi]);
  return found;
}

const major = new Set(["LOLO", "HIHI"]);

/** drawLimits draws each limit as a dashed line, and shades what is beyond it. */
export function drawLimits(c: Context, limits: Limit[], theme: Theme) {
  const { ctx, box } = c;
  const bottom = box.top + box.height;
  for (const l of limits) {
    const left = Math.max(box.left, c.x(l.lo));
    const width = Math.min(box.left + box.width, c.x(l.hi)) - left;
    if (width <= 0) continue;
    for (const name of limitNames) {
      const at = l[name];
      const y = at === undefined ? NaN : c.y(at); // NaN too for 0 on a logarithmic axis
      if (!Number.isFinite(y)) continue;
      ctx.fillStyle = ctx.strokeStyle = theme.severity[major.has(name) ? 2 : 1];
      ctx.globalAlpha = 0.09;
      if (name.startsWith("H")) ctx.fillRect(left, box.top, width, y - box.top);
      else ctx.fillRect(left, y, width, bottom - y);
      ctx.globalAlpha = 0.9;
      ctx.lineWidth = c.px;
      ctx.setLineDash([6 * c.px, 4 * c.px]);
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
    }
  }
}

/** limitsText describes the limits at a time. */
export function limitsText(limits: Limit[], t: number): string {
  const l = limits.find((l) => l.lo <= t && t < l.hi) ?? limits.at(-1);
  const list = limitNames.flatMap((name) => (l?.[name] === undefined ? [] : [`${name} ${l[name]}`]));
  return list.length > 0 ? list.join(" · ") : "no alarm limits";
}
