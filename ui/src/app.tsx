// Explore: search ─▶ plot ─▶ zoom to raw samples ─▶ gaps with their causes ─▶ share ─▶ export.
//
//   URL ─parse─▶ state ─resolve with the server's time─▶ range ─▶ usePlot ─▶ lanes, values, gaps
//    ▲                                                                            │
//    └────────────────────── format ◀── zoom, pan, add, remove ◀──────────────────┘

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { serverOffset } from "./api";
import { ArrayView } from "./arrays";
import { ChangeList } from "./changes";
import { usePlot } from "./data";
import type { Trace } from "./paint";
import { download, fileName, isText, needsToken, picture, samplesURL, textFor, type Export } from "./export";
import { breaks } from "./gaps";
import { GapList, inView, Note } from "./gaplist";
import { useKeys } from "./keys";
import { LaneRow, own } from "./lanerow";
import { colorsKey, group } from "./lanes";
import { useLimits } from "./limits";
import { plt } from "./phoebus";
import { Search } from "./search";
import { Selection } from "./selection";
import { copy, fetchFile } from "./share";
import { absolute, formatState, isLive, maxPVs, resolve, type Range } from "./state";
import { Top } from "./page";
import type { Look } from "./theme";
import { clock, zoneName } from "./time";
import { Toolbar } from "./toolbar";
import { pvsOf, sourceOf } from "./traces";
import { useURL } from "./url";

/** useSize returns the size of the window, for the sizes of the lanes. */
function useSize(): [number, number] {
  const [size, setSize] = useState<[number, number]>([innerWidth, innerHeight]);
  useEffect(() => {
    const changed = () => setSize([innerWidth, innerHeight]);
    addEventListener("resize", changed);
    return () => removeEventListener("resize", changed);
  }, []);
  return size;
}

export function App({ look }: { look: Look }) {
  const [state, change] = useURL();
  const { theme } = look;
  const [now, setNow] = useState<number>();
  const [message, setMessage] = useState("");
  const [width, height] = useSize();
  const [cursor, setCursor] = useState<{ t: number; x: number; y: number; pv?: string; value?: number }>();

  useEffect(() => {
    serverOffset().catch(() => 0).then((ms) => {
      setNow(Date.now() + ms);
    });
  }, []);

  const live = isLive(state);
  const range: Range = useMemo(
    () => resolve(state, now ?? Date.now()) ?? resolve({ from: "-1h", to: "now" }, now ?? Date.now())!,
    [state.from, state.to, now],
  );
  const known = now !== undefined;
  const sidebar = width < 1000 ? 220 : width > 2400 ? 440 : 310;
  const plotWidth = width - sidebar - 24;
  const points = known ? Math.min(4000, Math.max(100, Math.round((plotWidth - 100) / 200) * 200)) : 0;
  const plot = usePlot(state.pvs, range, points, live, setNow);

  const limits = useLimits(state.limits, range, live);

  const traces: Trace[] = state.pvs.map((pv, i) => {
    const d = plot.data.get(pv);
    const known = limits.get(pv);
    return {
      pv, color: theme.traces[i % theme.traces.length], series: d?.series, breaks: breaks(d?.gaps, now ?? Date.now(), sourceOf(pv).shift),
      heat: d?.heat, at: state.at, logColors: state.log.includes(colorsKey(pv)), limits: state.limits.includes(pv) && Array.isArray(known) ? known : undefined,
    };
  });
  const lanes = group(traces, state);
  const unknown = state.limits.flatMap((pv) => (typeof limits.get(pv) === "string" ? [`The alarm limits of ${pv} cannot be read: ${limits.get(pv)}`] : []));
  const gaps = traces.some((t) => t.breaks.some((b) => inView(b, range)));
  const tall = height > 1600; // a tall screen also has room for everything below the lanes
  const arrays = tall ? traces.filter((t) => t.heat && t.heat.rows > 0).length * (11 * theme.font + 90) : 0;
  const below = (gaps ? 320 : 160) + (state.window ? (tall ? 200 : 150) : 0) + (tall && state.show ? 20 * theme.font + 140 : 0) + arrays + 34;
  const laneHeight = Math.max(130, Math.min(tall ? 1500 : 900, Math.floor((height - below) / Math.max(1, lanes.length))));

  // Panning by wheel or pointer changes one entry of the history until it rests.
  const resting = useRef(true);
  const timer = useRef(0);
  const pan = (r: Range, done: boolean) => {
    change(absolute(r), !resting.current);
    resting.current = done;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => (resting.current = true), 800);
  };
  const zoom = (r: Range) => change(absolute(r));
  const select = (window?: Range) => change({ window: window && { lo: Math.round(window.lo), hi: Math.round(window.hi) }, ...(!window && { changes: undefined, show: undefined }) });
  useKeys(range, zoom, select);

  useLayoutEffect(() => {
    document.title = state.pvs.length ? `${state.pvs.slice(0, 3).join(", ")} – Varve` : "Varve";
  }, [state.pvs]);

  const add = (pv: string) => {
    if (state.pvs.includes(pv)) return;
    if (state.pvs.length === maxPVs) return setMessage(`A page plots at most ${maxPVs} PVs.`);
    change({ pvs: [...state.pvs, pv] });
  };
  const share = () => copy(new URL(formatState({ ...state, ...absolute(range) }), document.baseURI).href, "The link", setMessage);
  const save = (what: Export) => {
    const pvs = pvsOf(state.pvs);
    if (isText(what)) return void needsToken().catch(() => false).then((token) => copy(textFor(what, pvs, range, token), "The text", setMessage));
    if (what === "phoebus") return download(new Blob([plt(lanes, range, live)], { type: "application/xml" }), fileName(range, "plt"));
    if (what === "png") {
      return void picture(lanes, range, state.utc, theme).then((b) => download(b, fileName(range, "png"))).catch((e: Error) => setMessage(e.message));
    }
    void fetchFile(samplesURL(pvs, range, what), fileName(range, what), setMessage);
  };

  const leftOut = state.pvs.flatMap((pv) => {
    const at = plot.data.get(pv)?.gaps?.leftOutFrom;
    return at ? [`${pv} has too many gaps and losses: those from ${clock(Date.parse(at), state.utc)} on are left out. Zoom in to see them.`] : [];
  });
  const noted = cursor?.pv ? traces.find((t) => t.pv === cursor.pv) : undefined;
  const slack = (range.hi - range.lo) / Math.max(1, plotWidth) * 2;
  const b = noted?.breaks.find((b) => b.lo - slack <= cursor!.t && cursor!.t <= b.hi + slack);
  const failed = [...plot.data.values()].some((d) => d.error);
  const status = !known || plot.loading ? "loading" : failed ? "failed" : "ready";

  return (
    <div class="page" data-state={state.pvs.length === 0 && known ? "empty" : status} data-live={live} data-from={Math.round(range.lo)} data-to={Math.round(range.hi)}>
      <Top look={look}><Search plotted={state.pvs} onAdd={add} /></Top>
      <Toolbar state={state} range={range} now={now ?? Date.now()} onState={change} onZoom={zoom} onShare={share} onExport={save} empty={state.pvs.length === 0} />
      {plot.trouble && <p class="banner" role="status">{plot.trouble}</p>}
      {unknown.map((text) => <p class="banner" role="status" key={text}>{text}</p>)}
      {message && <p class="banner" role="status">{message} <button type="button" onClick={() => setMessage("")}>Close</button></p>}
      <main aria-busy={status === "loading"}>
        {state.pvs.length === 0 && <Welcome />}
        {lanes.map((lane, i) => {
          const last = i === lanes.length - 1;
          return (
            <LaneRow
              key={lane.id} lane={lane} lanes={lanes} state={state} data={plot.data} cursor={cursor?.t} pointer={lane.traces.some((t) => t.pv === cursor?.pv) ? cursor?.value : undefined} change={change} say={setMessage}
              range={range} now={now ?? range.hi} utc={state.utc} theme={theme} room={lanes.some((l) => l.axes.length > 1)}
              width={plotWidth} height={laneHeight + (last ? 10 + 2 * theme.font : 0)} last={last} window={state.window} onZoom={zoom} onSelect={select} onPan={pan}
              onCursor={(t, x, y, pv, value) => setCursor((c) => {
                if (t === undefined) return undefined;
                const here = pv === undefined && c?.t === t; // another lane has said where the pointer is
                return { t, x, y, pv: here ? c.pv : pv, value: here ? c.value : value };
              })}
            />
          );
        })}
        <div class="drop-own" data-drop={own}>Drop here for a plot of its own</div>
        {traces.map((t) => t.heat && t.heat.rows > 0 && <ArrayView key={t.pv} trace={t} utc={state.utc} theme={theme} width={plotWidth} onAt={(at) => change({ at }, true)} />)}
        {state.window && (
          <Selection
            traces={traces} window={state.window} utc={state.utc} changes={state.changes !== undefined} onClose={() => select()}
            show={state.show} theme={theme} width={plotWidth} onShow={(show) => change({ show })}
            onZoom={() => zoom(state.window!)} onChanges={() => change({ changes: state.changes === undefined ? "" : undefined })}
          />
        )}
        {state.window && state.changes !== undefined && (
          <ChangeList
            window={state.window} scope={state.changes} plotted={state.pvs} onAdd={add}
            onScope={(changes) => change({ changes })} onClose={() => change({ changes: undefined })}
          />
        )}
        <GapList traces={traces} range={range} utc={state.utc} leftOut={leftOut} onShow={zoom} />
      </main>
      <footer>
        <span>{cursor ? clock(cursor.t, state.utc, 3) : `${clock(range.lo, state.utc)} – ${clock(range.hi, state.utc)}`} {zoneName(state.utc)}</span>
        <span>Drag: zoom · Ctrl+drag or s: select · wheel: zoom · Shift+drag: move · double click: zoom out · ← → + −</span>
        <span>{live ? "live" : ""}</span>
      </footer>
      {b && noted && cursor && <Note x={cursor.x} y={cursor.y} trace={noted} b={b} utc={state.utc} />}
    </div>
  );
}

function Welcome() {
  return (
    <section class="welcome">
      <h1>Plot archived PVs</h1>
      <p>Search for a part of a name, and press Enter or click to plot a PV. PVs with the same unit share a plot.</p>
    </section>
  );
}
