// The pages of the table of PVs that were read, for one filter and order.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, getJSON } from "../api";

export interface Row {
  pv: string;
  group: string;
  state: string;
  silent?: boolean;
  since?: string;
  cause?: string;
  host?: string;
  engine?: string;
  units?: string;
  rate: number;
  storage: number;
  dropped: number;
  lostConnections: number;
  label?: string;
  last?: { time: string; value?: unknown; severity: string; status: string };
}

export interface Counts {
  total: number;
  matched: number;
  reachable: number;
  incomplete?: string;
}

/** chunk is how many rows a request reads, and maxChunks how many requests' rows the page keeps. */
export const chunk = 100;
const maxChunks = 50;
const keys = ["pv", "state", "group", "engine", "cause", "only", "sort", "order"];

// Whether the archive says which engine captures a PV. One without a cluster does not.
let namesEngines = false;

/** filterOf returns the parameters of a request for the state of the page. */
export function filterOf(q: URLSearchParams): string {
  const out = new URLSearchParams();
  for (const key of keys) {
    const v = q.get(key)?.trim();
    if (v) out.set(key, key === "pv" && !/[*?]/.test(v) ? `*${v}*` : v);
  }
  if (out.has("pv")) out.set("ignoreCase", "true");
  return out.toString();
}

export function useRows(filter: string) {
  const [state, setState] = useState<{ filter: string; counts?: Counts; error?: string }>({ filter });
  const store = useMemo(() => ({ chunks: new Map<number, Row[]>(), busy: new Set<number>(), abort: new AbortController(), timer: 0 }), [filter]);
  const read = (i: number) => {
    if (store.busy.has(i) || store.abort.signal.aborted) return;
    store.busy.add(i);
    const q = new URLSearchParams(filter);
    q.set("offset", String(i * chunk));
    q.set("limit", String(chunk));
    getJSON<Counts & { pvs: Row[] }>("pvs", q, { signal: store.abort.signal })
      .then(({ pvs, ...counts }) => {
        store.chunks.set(i, pvs);
        namesEngines ||= pvs.some((row) => row.engine);
        if (store.chunks.size > maxChunks) store.chunks.delete(store.chunks.keys().next().value!);
        setState({ filter, counts });
      })
      .catch((err: Error) => {
        if (store.abort.signal.aborted) return;
        setState((s) => ({ ...s, filter, error: err.message }));
        const wait = err instanceof ApiError ? err.retry : 0;
        if (wait) store.timer = window.setTimeout(() => read(i), wait * 1e3);
      })
      .finally(() => store.busy.delete(i));
  };
  useEffect(() => {
    read(0);
    return () => {
      store.abort.abort();
      clearTimeout(store.timer);
    };
  }, [store]);
  const current = state.filter === filter ? state : { filter };
  return useMemo(() => ({
    counts: current.counts,
    error: current.error,
    engines: namesEngines,
    row: (i: number) => store.chunks.get(Math.floor(i / chunk))?.[i % chunk],
    /** want reads the rows in [from, to) that the page does not have. */
    want: (from: number, to: number) => {
      const end = Math.min(to, current.counts?.reachable ?? 0);
      for (let i = Math.floor(from / chunk); i * chunk < end; i++) if (!store.chunks.has(i)) read(i);
    },
  }), [state, store]);
}
