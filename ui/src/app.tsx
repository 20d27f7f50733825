// Explore: search ─▶ plot ─▶ zoom to raw samples ─▶ gaps with their causes ─▶ share ─▶ export.
//
//   URL ─parse─▶ state ─resolve with the server's time─▶ range ─▶ usePlot ─▶ lanes, values, gaps
//    ▲                                                                            │
//    └────────────────────── format ◀── zoom, pan, add, remove ◀──────────────────┘

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { request, serverOffset } from "./api";
import { usePlot } from "./data";
import type { Trace } from "./draw";
import { download, fileName, isText, picture, samplesURL, textFor, type Export } from "./export";
import { breaks } from "./gaps";
import { GapList, inView, Note } from "./gaplist";
import { Lane } from "./lane";
import { Search } from "./search";
import { ChangeList } from "./changes";
import { Selection } from "./selection";
import { absolute, formatState, isLive, maxPVs, parseState, resolve, type Range, type State } from "./state";
import { Top } from "./shell";
import type { Look } from "./theme";
import { clock, zoneName } from "./time";
import { Toolbar } from "./toolbar";
import { Values } from "./values";

interface LaneOf {
  id: string;
  unit: string;
  traces: Trace[];
}

/** useURL keeps the state in the URL. replace changes the current entry of the history. */
function useURL(): [State, (s: Partial<State>, replace?: boolean) => void] {
  const [state, setState] = useState(() => parseState(location.search));
  useEffect(() => {
    const back = () => setState(parseState(location.search));
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  const change = useCallback((part: Partial<State>, replace = false) => {
    const next = { ...parseState(location.search), ...part };
    const search = formatState(next);
    if (search === location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", search);
    setState(next);
  }, []);
  return [state, change];
}

/** laneOf returns the lane of a trace: PVs with one unit share it, except those that are plotted alone. */
function laneOf(t: Trace, alone: string[]): { id: string; unit: string } {
  const s = t.series;
  if (!s) return { id: "?", unit: "…" };
  if (s.kind !== "number") return { id: `${s.kind} ${t.pv}`, unit: s.kind === "enum" ? "state" : s.kind === "text" ? "text" : (s.type ?? "array") };
  const unit = s.metadata?.units ?? "";
  return { id: alone.includes(t.pv) ? `${unit} ${t.pv}` : unit, unit };
}

function group(traces: Trace[], alone: string[]): LaneOf[] {
  const lanes = new Map<string, LaneOf>();
  for (const t of traces) {
    const { id, unit } = laneOf(t, alone);
    const lane = lanes.get(id) ?? { id, unit, traces: [] };
    lane.traces.push(t);
    lanes.set(id, lane);
  }
  return [...lanes.values()];
}

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
  const [cursor, setCursor] = useState<{ t: number; x: number; y: number; pv?: string }>();

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

  const traces: Trace[] = state.pvs.map((pv, i) => {
    const d = plot.data.get(pv);
    return { pv, color: theme.traces[i % theme.traces.length], series: d?.series, breaks: breaks(d?.gaps, now ?? Date.now()) };
  });
  const lanes = group(traces, state.alone);
  const gaps = traces.some((t) => t.breaks.some((b) => inView(b, range)));
  const laneHeight = Math.max(130, Math.min(900, Math.floor((height - (gaps ? 320 : 160) - (state.window ? 150 : 0) - 34) / Math.max(1, lanes.length))));

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
  const select = (window?: Range) => change({ window: window && { lo: Math.round(window.lo), hi: Math.round(window.hi) }, ...(!window && { changes: undefined }) });
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
    if (isText(what)) return copy(textFor(what, state.pvs, range), "The text", setMessage);
    if (what === "png") {
      return void picture(lanes, range, state.utc, theme).then((b) => download(b, fileName(range, "png"))).catch((e: Error) => setMessage(e.message));
    }
    void fetchFile(samplesURL(state.pvs, range, what), fileName(range, what), setMessage);
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
      {message && <p class="banner" role="status">{message} <button type="button" onClick={() => setMessage("")}>Close</button></p>}
      <main aria-busy={status === "loading"}>
        {state.pvs.length === 0 && <Welcome />}
        {lanes.map((lane, i) => {
          const last = i === lanes.length - 1;
          const h = laneHeight + (last ? 10 + 2 * theme.font : 0);
          const log = state.log.includes(lane.id);
          return (
            <div class="lane" key={lane.id}>
              <Lane
                id={lane.id} unit={lane.unit} traces={lane.traces} range={range} now={now ?? range.hi} utc={state.utc} log={log} theme={theme}
                width={plotWidth} height={h} last={last} window={state.window} onZoom={zoom} onSelect={select} onPan={pan}
                onCursor={(t, x, y, pv) => setCursor((c) => (t === undefined ? undefined : { t, x, y, pv: pv ?? (c?.t === t ? c.pv : undefined) }))}
              />
              <Values
                unit={lane.unit} traces={lane.traces} data={plot.data} range={range} cursor={cursor?.t} utc={state.utc} log={log} height={h}
                onLog={() => change({ log: log ? state.log.filter((k) => k !== lane.id) : [...state.log, lane.id] })}
                onRemove={(pv) => change({ pvs: state.pvs.filter((p) => p !== pv), alone: state.alone.filter((p) => p !== pv) })}
                alone={state.alone} onAlone={(pv) => change({ alone: state.alone.includes(pv) ? state.alone.filter((p) => p !== pv) : [...state.alone, pv] })}
              />
            </div>
          );
        })}
        {state.window && (
          <Selection
            traces={traces} window={state.window} utc={state.utc} changes={state.changes !== undefined} onClose={() => select()}
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

/** useKeys pans and zooms by keys. */
function useKeys(range: Range, zoom: (r: Range) => void, select: (r?: Range) => void) {
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.target instanceof HTMLInputElement || e.altKey || e.ctrlKey || e.metaKey) return;
      const { lo, hi } = range;
      const span = hi - lo;
      if (e.key === "ArrowLeft") zoom({ lo: lo - span / 4, hi: hi - span / 4 });
      else if (e.key === "ArrowRight") zoom({ lo: lo + span / 4, hi: hi + span / 4 });
      else if (e.key === "+" || e.key === "=") zoom({ lo: lo + span / 4, hi: hi - span / 4 });
      else if (e.key === "-") zoom({ lo: lo - span / 2, hi: hi + span / 2 });
      else if (e.key === "s") select(range);
      else if (e.key === "Escape") select();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [range, zoom]);
}

/** copy copies a text, or shows it where the browser does not allow that. */
function copy(text: string, what: string, say: (text: string) => void) {
  if (!navigator.clipboard) return say(`${what} to copy: ${text}`);
  navigator.clipboard.writeText(text).then(() => say(`${what} was copied: ${text}`), () => say(`${what} to copy: ${text}`));
}

/** fetchFile saves an answer of the archive, or says why it cannot. */
async function fetchFile(path: string, name: string, say: (text: string) => void) {
  try {
    const res = await request(path);
    download(await res.blob().catch(() => { throw new Error("The archive stopped answering, so there is no file."); }), name);
  } catch (err) {
    say((err as Error).message);
  }
}
