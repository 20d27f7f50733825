// The bar with the range and what can be done with it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Export } from "./export";
import { isLive, moment, resolve, type Range, type State } from "./state";
import { clock, duration, zoneName } from "./time";

const quick: [string, string][] = [["5 min", "-5m"], ["1 h", "-1h"], ["8 h", "-8h"], ["1 d", "-1d"], ["1 w", "-1w"], ["30 d", "-30d"]];

interface Props {
  state: State;
  range: Range;
  now: number;
  onState: (s: Partial<State>) => void;
  onZoom: (r: Range) => void;
  onShare: () => void;
  onExport: (what: Export) => void;
  empty: boolean;
}

export function Toolbar({ state, range, now, onState, onZoom, onShare, onExport, empty }: Props) {
  const { lo, hi } = range;
  const span = hi - lo;
  const pan = (by: number) => onZoom({ lo: lo + by * span, hi: hi + by * span });
  const zoom = (by: number) => onZoom({ lo: lo + (span * (1 - by)) / 2, hi: hi - (span * (1 - by)) / 2 });
  return (
    <div class="toolbar" role="toolbar" aria-label="Time range">
      <div class="group">
        <button type="button" title="Previous view (Alt+←)" aria-label="Previous view" onClick={() => history.back()}>↶</button>
        <button type="button" title="Next view (Alt+→)" aria-label="Next view" onClick={() => history.forward()}>↷</button>
      </div>
      <div class="group quick">
        {quick.map(([label, from]) => (
          <button type="button" key={from} aria-pressed={state.from === from && isLive(state)} onClick={() => onState({ from, to: "now" })}>{label}</button>
        ))}
      </div>
      <TimeField label="From" text={state.from} at={lo} other={(t) => ({ from: t, to: state.to })} state={state} now={now} onState={onState} />
      <TimeField label="To" text={state.to} at={hi} other={(t) => ({ from: state.from, to: t })} state={state} now={now} onState={onState} />
      <div class="group">
        <button type="button" title="Earlier (←)" aria-label="Earlier" onClick={() => pan(-0.5)}>◀</button>
        <button type="button" title="Zoom out (−)" aria-label="Zoom out" onClick={() => zoom(2)}>−</button>
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
        <button type="button" title="Later (→)" aria-label="Later" onClick={() => pan(0.5)}>▶</button>
      </div>
      <span class="span" data-span={Math.round(span)}>{duration(Math.round(span))}</span>
      <button type="button" aria-pressed={state.utc} title={`Times are in ${zoneName(state.utc)}`} onClick={() => onState({ utc: !state.utc })}>UTC</button>
      <span class="space" />
      <button type="button" disabled={empty} onClick={onShare}>Copy link</button>
      <Menu disabled={empty} onExport={onExport} />
    </div>
  );
}

interface FieldProps {
  label: string;
  text: string;
  at: number;
  other: (text: string) => { from: string; to: string };
  state: State;
  now: number;
  onState: (s: Partial<State>) => void;
}

/** show returns how a time is edited: relative as it is, absolute in the zone of the page. */
const show = (text: string, at: number, utc: boolean) => (/^(now|-)/.test(text) ? text : clock(at, utc, at % 1000 ? 3 : 0));

/** read returns the text for the URL, or undefined. */
function read(text: string, utc: boolean, now: number): string | undefined {
  text = text.trim();
  if (moment(text, now) !== undefined) return text;
  const m = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/.exec(text);
  if (!m) return undefined;
  const t = Date.parse(`${m[1]}T${m[2] ?? "00:00"}${utc ? "Z" : ""}`);
  return Number.isNaN(t) ? undefined : new Date(t).toISOString();
}

function TimeField({ label, text, at, other, state, now, onState }: FieldProps) {
  const shown = show(text, at, state.utc);
  const [edited, setEdited] = useState<string>();
  const [error, setError] = useState("");
  useEffect(() => setEdited(undefined), [shown]);
  const apply = () => {
    if (edited === undefined) return;
    const t = read(edited, state.utc, now);
    if (t === undefined) return setError("Write a time such as 2026-01-31 12:00, -2h or now.");
    if (!resolve(other(t), now)) return setError("The range must begin before it ends.");
    setError("");
    setEdited(undefined);
    onState(other(t));
  };
  return (
    <label class={"time" + (error ? " wrong" : "")}>
      <span>{label}</span>
      <input
        value={edited ?? shown} aria-label={label} aria-invalid={!!error} spellcheck={false} size={20}
        onInput={(e) => { setEdited(e.currentTarget.value); setError(""); }} onBlur={apply}
        onKeyDown={(e) => {
          if (e.key === "Enter") apply();
          if (e.key === "Escape") { setEdited(undefined); setError(""); }
        }}
      />
      {error && <em role="alert">{error}</em>}
    </label>
  );
}

function Menu({ disabled, onExport }: { disabled: boolean; onExport: Props["onExport"] }) {
  const details = useRef<HTMLDetailsElement>(null);
  const run = (what: Export) => {
    details.current!.open = false;
    onExport(what);
  };
  if (disabled) return <button type="button" disabled>Export</button>;
  const close = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || !details.current!.open) return;
    e.stopPropagation(); // Escape closes one thing at a time
    details.current!.open = false;
    details.current!.querySelector("summary")!.focus();
  };
  return (
    <details class="menu" ref={details} onKeyDown={close}>
      <summary>Export</summary>
      <div>
        <button type="button" data-export="csv" onClick={() => run("csv")}>CSV <small>all samples in view</small></button>
        <button type="button" data-export="arrow" onClick={() => run("arrow")}>Arrow <small>all samples in view</small></button>
        <button type="button" data-export="parquet" onClick={() => run("parquet")}>Parquet <small>all samples in view</small></button>
        <button type="button" data-export="png" onClick={() => run("png")}>PNG <small>picture</small></button>
        <button type="button" data-export="phoebus" onClick={() => run("phoebus")}>Phoebus <small>.plt of its Data Browser</small></button>
        <button type="button" data-export="curl" onClick={() => run("curl")}>Copy as curl</button>
        <button type="button" data-export="python" onClick={() => run("python")}>Copy as Python <small>pandas</small></button>
        <button type="button" data-export="grafana" onClick={() => run("grafana")}>Copy for Grafana <small>its Prometheus data source</small></button>
      </div>
    </details>
  );
}
