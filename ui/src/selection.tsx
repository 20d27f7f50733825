// The selected window of time: statistics of each PV in it, and what can be done with it.

import type { Trace } from "./draw";
import type { Range } from "./state";
import { statistics } from "./series";
import { clock, duration } from "./time";
import { number } from "./values";

interface Props {
  traces: Trace[];
  window: Range;
  utc: boolean;
  changes: boolean;
  onZoom: () => void;
  onChanges: () => void;
  onClose: () => void;
}

export function Selection({ traces, window, utc, changes, onZoom, onChanges, onClose }: Props) {
  return (
    <section class="selection" aria-label="Selection" data-from={Math.round(window.lo)} data-to={Math.round(window.hi)}>
      <header>
        <b>Selection</b>
        <span>{clock(window.lo, utc, 3)} – {clock(window.hi, utc, 3)} ({duration(window.hi - window.lo)})</span>
        <button type="button" aria-pressed={changes} onClick={onChanges}>What else changed here?</button>
        <button type="button" onClick={onZoom}>Zoom to it</button>
        <button type="button" aria-label="Remove the selection" title="Remove the selection (Esc)" onClick={onClose}>×</button>
      </header>
      {traces.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Statistics of the selection">
          <table>
            <thead><tr><th>PV</th><th>Min</th><th>Mean</th><th>Max</th><th>Samples</th><th>From</th></tr></thead>
            <tbody>{traces.map((t) => <Row key={t.pv} trace={t} window={window} />)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Row has the statistics that follow from what the plot holds: bins that overlap the window count as a whole. */
function Row({ trace, window }: { trace: Trace; window: Range }) {
  const s = trace.series;
  if (!s) return <tr><td>{trace.pv}</td><td colSpan={5}>…</td></tr>;
  const st = statistics(s, trace.breaks, window.lo, window.hi);
  const show = (v: number) => (s.kind === "number" || s.kind === "enum" ? number(Number.isFinite(v) ? Number(v.toPrecision(6)) : v, s) : "–");
  return (
    <tr data-pv={trace.pv} data-samples={st.samples} data-min={st.min} data-max={st.max} data-mean={st.mean}>
      <td><i class="swatch" style={{ background: trace.color }} />{trace.pv}</td>
      <td>{show(st.min)}</td>
      <td>{s.kind === "number" ? show(st.mean) : "–"}</td>
      <td>{show(st.max)}</td>
      <td>{st.samples.toLocaleString("en")}</td>
      <td>{s.mode === "samples" ? "raw samples" : `bins of ${duration(s.width)}`}</td>
    </tr>
  );
}
