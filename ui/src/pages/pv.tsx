// PV: what the archive knows about one PV besides its samples: state, settings, gaps and losses on a
// time line, metadata over time.
//
//	URL ─▶ PV, range ─▶ api/v1/channels/PV, gaps, metadata ─▶ sections

import { useEffect, useState } from "preact/hooks";
import { ApiError, getJSON, readGaps, type Gaps } from "../api";
import { breaks, title, type Break } from "../gaps";
import { GapList, inView } from "../gaplist";
import { follow, go, href, usePlace } from "../router";
import { Page } from "../page";
import { absolute, resolve, type Range } from "../state";
import type { Look } from "../theme";
import { clock } from "../time";
import { Losses, Settings, StateOf, type Channel } from "./pvstate";
import { HistoryTable, type History } from "./pvhistory";
import { StorageOf, type Storage } from "./pvstorage";

interface Answers {
  key: string;
  channel?: Channel;
  notCaptured?: string;
  gaps?: Gaps;
  history?: History;
  storage?: Storage;
  error?: string;
}

const ranges: [string, string][] = [["Day", "-1d"], ["Week", "-7d"], ["Month", "-30d"], ["Year", "-365d"]];

const message = (err: unknown) => (err as Error).message;

/** readAll reads all about a PV. A PV that is not captured any more has no channel. */
async function readAll(pv: string, r: Range, signal: AbortSignal): Promise<Omit<Answers, "key">> {
  const path = "channels/" + pv.split("/").map(encodeURIComponent).join("/");
  const span = new URLSearchParams({ pv, ...absolute(r) });
  const channel = getJSON<Channel>(path, new URLSearchParams(), { signal }).then(
    (c) => ({ channel: c }),
    (err: unknown) => {
      if (err instanceof ApiError && err.status === 404) return { notCaptured: err.message };
      throw err;
    });
  const [c, gaps, history, storage] = await Promise.all([
    channel, known(readGaps(pv, r.lo, r.hi, signal)), known(getJSON<History>("metadata", span, { signal })),
    getJSON<Storage>("storage", new URLSearchParams({ pv }), { signal }).catch((err: unknown): Storage => ({ parts: [], missing: err instanceof ApiError && err.status === 404 ? undefined : message(err) })),
  ]);
  if ("notCaptured" in c && "unknown" in gaps) return { error: gaps.unknown };
  return { ...c, gaps: "unknown" in gaps ? { gaps: [], losses: [] } : gaps, history: "unknown" in history ? { history: [] } : history, storage };
}

/** known returns why the archive knows nothing of a PV. A PV may be captured but never have connected. */
function known<T extends object>(of: Promise<T>): Promise<T | { unknown: string }> {
  return of.catch((err: unknown) => {
    if (err instanceof ApiError && err.status === 404) return { unknown: err.message };
    throw err;
  });
}

export default function PV({ look }: { look: Look }) {
  const q = new URLSearchParams(usePlace().search);
  const pv = q.get("pv")?.trim() ?? "";
  const from = q.get("from") ?? "-7d";
  const to = q.get("to") ?? "now";
  const key = [pv, from, to].join(" ");
  const [got, setGot] = useState<Answers>({ key });
  const [range, setRange] = useState<Range>({ lo: 0, hi: 1 });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!pv) return;
    const abort = new AbortController();
    let timer = 0;
    const r = resolve({ from, to }, Date.now()) ?? resolve({ from: "-7d", to: "now" }, Date.now())!;
    setRange(r);
    readAll(pv, r, abort.signal).then(
      (a) => setGot({ key, ...a }),
      (err: unknown) => {
        if (abort.signal.aborted) return;
        setGot({ key, error: message(err) });
        if (err instanceof ApiError && err.retry) timer = window.setTimeout(() => setTries((n) => n + 1), err.retry * 1e3);
      });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, tries]);
  const a: Answers = got.key === key ? got : { key };
  const state = !pv ? "empty" : a.error ? "failed" : a.gaps ? "ready" : "loading";
  const list = breaks(a.gaps, Date.now()).filter((b) => inView(b, range));
  const traces = [{ pv, color: look.theme.traces[0], breaks: list }];
  const leftOut = a.gaps?.leftOutFrom ? [`Gaps and losses from ${clock(Date.parse(a.gaps.leftOutFrom), false)} on are left out, because there are too many. Choose a shorter range.`] : [];
  const plot = (r: Range) => go(href("", { pv, ...absolute(r) }));
  return (
    <Page look={look} title={pv || "PV"} state={state}>
      {!pv && <p class="dim">Choose a PV in the <a href={href("pvs")} onClick={follow}>table of PVs</a>.</p>}
      {a.error && <p class="banner" role="alert">{a.error}</p>}
      {a.gaps && (
        <>
          <p><a href={href("", { pv, from, to })} onClick={follow}>Plot this range</a></p>
          <StateOf channel={a.channel} notCaptured={a.notCaptured} />
          <section aria-labelledby="line">
            <h2 id="line">Gaps and losses</h2>
            <nav class="reports" aria-label="Range">
              {ranges.map(([name, f]) => <a key={f} href={href("pv", { pv, from: f })} onClick={follow} aria-current={f === from && to === "now" ? "true" : undefined}>{name}</a>)}
            </nav>
            <TimeLine list={list} range={range} />
            {list.length === 0 && <p class="dim">There are no gaps and no losses in this range.</p>}
            <GapList traces={traces} range={range} utc={false} leftOut={leftOut} onShow={plot} />
          </section>
          <StorageOf storage={a.storage!} />
          {a.channel && <Losses channel={a.channel} />}
          {a.channel && <Settings channel={a.channel} />}
          <HistoryTable history={a.history!} />
        </>
      )}
    </Page>
  );
}

/** TimeLine draws when the PV had no data, and when samples were lost. */
function TimeLine({ list, range }: { list: Break[]; range: Range }) {
  const x = (t: number) => ((Math.min(Math.max(t, range.lo), range.hi) - range.lo) / (range.hi - range.lo)) * 1000;
  const label = `${clock(range.lo, false)} to ${clock(range.hi, false)}: ${list.filter((b) => b.gap).length} gaps, ${list.filter((b) => b.loss).length} losses`;
  return (
    <figure class="timeline">
      <svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label={label}>
        <rect class="data" width="1000" height="24" />
        {list.map((b, i) => (
          <rect key={i} class={b.loss ? "loss" : `gap ${b.gap!.kind}`} x={x(b.lo)} width={Math.max(1.5, x(b.hi) - x(b.lo))} height="24"><title>{title(b)}</title></rect>
        ))}
      </svg>
      <figcaption><span>{clock(range.lo, false)}</span><span>{clock(range.hi, false)}</span></figcaption>
    </figure>
  );
}
