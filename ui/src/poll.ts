// Requests that a page repeats, so that it shows the present.
//
//	every few seconds ──▶ answer ──▶ data
//	        ▲               │ failed: the last data stays, with the time and the error
//	        └── longer and longer waits, or Retry-After ◀──┘
//
// A page that is hidden asks nothing.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, getJSON } from "./api";

export interface Polled<T> {
  data?: T;
  /** Why the last request failed. */
  error?: ApiError;
  /** When data arrived, in ms since 1970 by the browser's clock. */
  at?: number;
  /** Seconds until the next try, if the last request failed. */
  wait: number;
  retry: () => void;
}

const longestWait = 60;

/** usePoll repeats a request each few seconds. every 0 sends it once; a failed one is repeated. */
export function usePoll<T>(path: string, query: string, every: number): Polled<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError; at?: number; wait: number }>({ key: "", wait: 0 });
  const again = useRef(() => {});
  const key = `${path}?${query}`;
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let failures = 0;
    let busy = false;
    const plan = (seconds: number) => {
      clearTimeout(timer);
      if (seconds > 0 && !stop.signal.aborted) timer = window.setTimeout(ask, seconds * 1e3);
    };
    const ask = async () => {
      if (busy || stop.signal.aborted) return;
      if (document.hidden) return plan(every || 1);
      busy = true;
      try {
        const data = await getJSON<T>(path, new URLSearchParams(query), { signal: stop.signal });
        failures = 0;
        if (!stop.signal.aborted) setState({ key, data, at: Date.now(), wait: 0 });
        plan(every);
      } catch (err) {
        if (stop.signal.aborted) return;
        const error = err instanceof ApiError ? err : new ApiError(String(err), 0, 0);
        const passes = error.status === 0 || error.status === 429 || error.status >= 500;
        const wait = passes ? Math.max(error.retry, Math.min(longestWait, 2 * 2 ** failures++)) : 0;
        setState((old) => ({ ...(old.key === key ? old : { key }), error, wait }));
        plan(wait);
      } finally {
        busy = false;
      }
    };
    again.current = () => void ask();
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, query, every]);
  const now = state.key === key ? state : { wait: 0 };
  return { ...now, retry: () => again.current() };
}
