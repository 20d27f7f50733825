// Follows PVs by Server-Sent Events. New samples continue where the samples that were read end.

import { request, url, type ApiError } from "./api";
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
  const stop = new AbortController();
  const q = new URLSearchParams();
  for (const { pv } of list) q.append("pv", pv);
  q.set("cursor", list.map(({ series }) => cursor(series)).join(","));
  void run(q, on, stop.signal);
  return () => stop.abort();
}

/** run reads one stream after another. The archive ends each after a minute. */
async function run(q: URLSearchParams, on: Handlers, signal: AbortSignal) {
  for (;;) {
    let wait = 1;
    try {
      const res = await request(url("live", q), { signal });
      for await (const e of events(res.body!)) {
        if (e.id) q.set("cursor", e.id); // the next stream continues here
        handle(e, on);
      }
    } catch (err) {
      if (signal.aborted) return;
      const { status = 0, retry = 0, message } = err as ApiError;
      if (status === 401 || status === 403) return on.trouble(`There are no live updates: ${message}`);
      on.trouble("Live updates are interrupted; trying again.");
      if (status > 0) wait = Math.max(5, retry);
    }
    await new Promise((done) => setTimeout(done, wait * 1e3));
    if (signal.aborted) return;
  }
}

interface Event {
  event: string;
  id: string;
  data: string;
}

/** events yields Server-Sent Events. An EventSource cannot send a token. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const complete = text.split("\n\n");
    text = complete.pop()!;
    for (const lines of complete) {
      const e: Event = { event: "", id: "", data: "" };
      for (const line of lines.split("\n")) {
        const [, name, of] = /^(event|id|data): ([^]*)$/.exec(line) ?? [];
        if (name) e[name as keyof Event] = of;
      }
      yield e;
    }
  }
}

function handle({ event, data }: Event, on: Handlers) {
  if (!data) return;
  const d = JSON.parse(data);
  if (event === "samples") {
    const base = BigInt(d.base);
    on.samples({ pv: d.pv, times: d.offset.map((o: number) => base + BigInt(o)), values: d.value, severity: d.severity });
  } else if (event === "now") {
    on.now(BigInt(d.now));
    on.trouble("");
  } else if (event === "reset") on.reset(d.pv);
  else if (event === "trouble") on.trouble(d.error);
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
