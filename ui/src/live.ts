// Follows PVs by Server-Sent Events. New samples continue where the samples that were read end.

import type { Series } from "./series";

export interface Update {
  pv: string;
  times: bigint[];
  values: (number | string)[];
  severity: number[];
}

export interface Handlers {
  samples: (u: Update) => void;
  now: (ns: bigint) => void;
  /** Too many samples arrived: read the PV again. */
  reset: (pv: string) => void;
  /** A text, or "" when all is well again. */
  trouble: (text: string) => void;
}

/** cursor says which samples of a PV the page has: all before a time, and how many at that time. */
export function cursor(s: Series): string {
  if (s.mode !== "samples" || s.rows === 0) return `${s.now}:0`;
  const last = s.offset![s.rows - 1];
  let n = 1;
  while (n < s.rows && s.offset![s.rows - 1 - n] === last) n++;
  return `${s.base + last}:${n}`;
}

/** follow follows PVs until the function that it returns is called. */
export function follow(list: { pv: string; series: Series }[], on: Handlers): () => void {
  const q = new URLSearchParams();
  for (const { pv } of list) q.append("pv", pv);
  q.set("cursor", list.map(({ series }) => cursor(series)).join(","));
  let source: EventSource;
  let last = q.get("cursor")!;
  let timer = 0;
  const open = () => {
    q.set("cursor", last);
    source = new EventSource(`api/v1/live?${q}`);
    const listen = (name: string, use: (data: any) => void) =>
      source.addEventListener(name, (e) => {
        last = e.lastEventId || last;
        use(JSON.parse(e.data));
      });
    listen("samples", (d) => {
      const base = BigInt(d.base);
      on.samples({ pv: d.pv, times: d.offset.map((o: number) => base + BigInt(o)), values: d.value, severity: d.severity });
    });
    listen("now", (d) => {
      on.now(BigInt(d.now));
      on.trouble("");
    });
    listen("reset", (d) => on.reset(d.pv));
    listen("trouble", (d) => on.trouble(d.error));
    source.onerror = () => {
      on.trouble("Live updates are interrupted; trying again.");
      if (source.readyState !== EventSource.CLOSED) return; // the browser connects again
      clearTimeout(timer);
      timer = window.setTimeout(open, 5000);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

/** extend returns a series with more samples. A late sample is put in its place. */
export function extend(s: Series, u: Update): Series {
  const rows: { t: bigint; v: number; text: string; severity: number }[] = [];
  for (let i = 0; i < s.rows; i++) rows.push({ t: s.base + s.offset![i], v: s.value![i], text: s.texts?.[i] ?? "", severity: s.severity[i] });
  const base = rows.length > 0 && rows[0].t < u.times[0] ? rows[0].t : u.times[0];
  u.times.forEach((t, i) => {
    const v = u.values[i];
    const text = s.kind === "text";
    rows.push({ t, v: text ? NaN : Number(v), text: text ? String(v) : "", severity: u.severity[i] });
  });
  rows.sort((a, b) => (a.t < b.t ? -1 : a.t > b.t ? 1 : 0)); // stable: samples of equal time keep their order
  const whole = base / 1_000_000n;
  const baseMs = Number(whole) + Number(base - whole * 1_000_000n) / 1e6;
  return {
    ...s, base, rows: rows.length,
    offset: BigUint64Array.from(rows, (r) => r.t - base),
    x: Float64Array.from(rows, (r) => baseMs + Number(r.t - base) / 1e6),
    value: Float64Array.from(rows, (r) => r.v),
    severity: Uint8Array.from(rows, (r) => r.severity),
    texts: s.texts && rows.map((r) => r.text),
  };
}
