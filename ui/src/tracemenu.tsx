// The menu of a trace: where it is plotted, and what else can be shown of it.

import { useState } from "preact/hooks";
import type { Trace } from "./paint";
import { nameOf, unitOf, type LaneOf } from "./lanes";
import { Popover } from "./popover";
import { shiftText, sourceOf } from "./traces";

export interface Actions {
  onMove: (t: Trace, to: LaneOf | undefined) => void;
  onShift: (t: Trace, ending: string) => void;
  onLimits: (t: Trace) => void;
}

interface Props extends Actions {
  trace: Trace;
  lanes: LaneOf[];
}

export function TraceMenu(p: Props) {
  const { trace } = p;
  const kind = trace.series?.kind;
  return (
    <Popover label={`Menu of ${trace.pv}`} text="⋯" class="remove">
      {(close) => {
        const then = (f: () => void) => () => { close(); f(); };
        return (
          <div class="trace-menu">
            {kind === "number" && <Places {...p} then={then} />}
            {kind === "number" && <button type="button" aria-pressed={!!trace.limits} onClick={then(() => p.onLimits(trace))}>Alarm limits</button>}
            <Shifts {...p} then={then} />
          </div>
        );
      }}
    </Popover>
  );
}

type Then = (f: () => void) => () => void;

/** Places are the lanes to which a trace can be moved. */
function Places({ trace, lanes, onMove, then }: Props & { then: Then }) {
  const own = lanes.find((l) => l.traces.includes(trace));
  const others = lanes.filter((l) => l !== own && l.traces.every((t) => t.series?.kind === "number"));
  return (
    <>
      {own && own.traces.length > 1 && <button type="button" onClick={then(() => onMove(trace, undefined))}>Plot alone</button>}
      {others.map((l) => <button type="button" key={l.id} onClick={then(() => onMove(trace, l))}>Plot with {nameOf(l)} <small>{l.axes.map((a) => a.unit || "no unit").join(", ")}</small></button>)}
      {own?.number !== 0 && !others.some((l) => l.id === unitOf(trace)) && (
        <button type="button" onClick={then(() => onMove(trace, { id: unitOf(trace), number: 0, axes: [], traces: [] }))}>Plot with PVs of the same unit</button>
      )}
    </>
  );
}

/** Shifts add the PV once more, with its samples of an earlier time. */
function Shifts({ trace, onShift, then }: Props & { then: Then }) {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const { pv } = sourceOf(trace.pv);
  const apply = (e: Event) => {
    e.preventDefault();
    const ending = shiftText(text);
    if (!ending) return setError("Write a time such as 36h, 2d or 1w.");
    then(() => onShift(trace, ending))();
  };
  return (
    <form onSubmit={apply} aria-label={`Earlier values of ${pv}`}>
      <span>Add the values of</span>
      <button type="button" onClick={then(() => onShift(trace, "-1d"))}>1 d before</button>
      <button type="button" onClick={then(() => onShift(trace, "-1w"))}>1 w before</button>
      <label><input value={text} size={6} placeholder="36h" aria-label={`How much earlier than ${pv}`} onInput={(e) => { setText(e.currentTarget.value); setError(""); }} /> before</label>
      <button type="submit">Add</button>
      {error && <p role="alert">{error}</p>}
    </form>
  );
}
