// Statistics of traces in a window, as the archive computes them.

import { useEffect, useState } from "preact/hooks";
import { getJSON } from "./api";
import type { Range } from "./state";
import { sourceOf } from "./traces";

export interface PVStatistics {
  source: "samples" | "bins";
  count: number;
  min?: number;
  max?: number;
  mean?: number;
  std?: number;
  /** The share of the window in which a value is known. */
  covered: number;
  /** Seconds by severity. */
  alarm: Record<string, number>;
  completeUntil?: string;
  lost?: number;
  gapsLeftOutFrom?: string;
}

/** useStatistics reads the statistics of each trace, or why they cannot be read. */
export function useStatistics(traces: string[], { lo, hi }: Range): Map<string, PVStatistics | string> {
  const [found, setFound] = useState(new Map<string, PVStatistics | string>());
  useEffect(() => {
    const abort = new AbortController();
    setFound(new Map());
    for (const trace of traces) {
      const { pv, shift } = sourceOf(trace);
      const iso = (t: number) => new Date(Math.round(t - shift)).toISOString();
      const put = (s: PVStatistics | string) => abort.signal.aborted || setFound((old) => new Map(old).set(trace, s));
      getJSON<{ pvs: PVStatistics[] }>("statistics", new URLSearchParams({ pv, from: iso(lo), to: iso(hi) }), { signal: abort.signal })
        .then((a) => put(a.pvs[0]), (err: Error) => put(err.message));
    }
    return () => abort.abort();
  }, [traces.join("\n"), lo, hi]);
  return found;
}
