// The selected window of time: statistics of each PV in it, by the archive, and what can be done with it.

import type { Theme, Trace } from "./paint";
import { Distributions } from "./distributions";
import type { Distribution, Range } from "./state";
import { useStatistics, type PVStatistics } from "./statistics";
import { clock, duration } from "./time";
import { number } from "./values";

interface Props {
  traces: Trace[];
  window: Range;
  utc: boolean;
  changes: boolean;
  show: Distribution | undefined;
  theme: Theme;
  width: number;
  onShow: (d: Distribution | undefined) => void;
  onZoom: () => void;
  onChanges: () => void;
  onClose: () => void;
}

export function Selection({ traces, window, utc, changes, show, theme, width, onShow, onZoom, onChanges, onClose }: Props) {
  const found = useStatistics(traces.map((t) => t.pv), window);
  return (
    <section class="selection" aria-label="Selection" data-from={Math.round(window.lo)} data-to={Math.round(window.hi)}>
      <header>
        <b>Selection</b>
        <span>{clock(window.lo, utc, 3)} – {clock(window.hi, utc, 3)} ({duration(window.hi - window.lo)})</span>
        <button type="button" aria-pressed={changes} onClick={onChanges}>What else changed here?</button>
        {traces.length > 0 && (["histogram", "xy"] as const).map((kind) => (
          <button type="button" key={kind} aria-pressed={show?.kind === kind} onClick={() => onShow(show?.kind === kind ? undefined : { kind, of: show?.of ?? [] })}>{kind === "xy" ? "x–y plot" : "Histogram"}</button>
        ))}
        <button type="button" onClick={onZoom}>Zoom to it</button>
        <button type="button" aria-label="Remove the selection" title="Remove the selection (Esc)" onClick={onClose}>×</button>
      </header>
      {traces.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Statistics of the selection">
          <table>
            <thead><tr>{["PV", "Min", "Mean", "Std. dev.", "Max", "Samples", "Covered", "In alarm", "Computed from"].map((h) => <th key={h}>{h}</th>)}</tr></thead>
            <tbody>{traces.map((t) => <Row key={t.pv} trace={t} found={found.get(t.pv)} />)}</tbody>
          </table>
        </div>
      )}
      {show && traces.length > 0 && <Distributions pvs={traces.map((t) => t.pv)} window={window} show={show} theme={theme} width={width} onShow={onShow} />}
    </section>
  );
}

const alarms = [["MINOR", 1], ["MAJOR", 2], ["INVALID", 3]] as const;

/** Row has the statistics that the archive computed. */
function Row({ trace, found }: { trace: Trace; found: PVStatistics | string | undefined }) {
  const s = trace.series;
  const head = <td><i class="swatch" style={{ background: trace.color }} />{trace.pv}</td>;
  if (typeof found === "string") return <tr>{head}<td colSpan={8} role="alert">{found}</td></tr>;
  if (!found || !s) return <tr>{head}<td colSpan={8}>…</td></tr>;
  const show = (v: number | undefined) => (v === undefined ? "–" : number(Number(v.toPrecision(6)), s));
  return (
    <tr data-pv={trace.pv} data-samples={found.count} data-min={found.min} data-max={found.max} data-mean={found.mean} data-std={found.std} data-covered={found.covered}>
      {head}
      <td>{show(found.min)}</td>
      <td>{show(found.mean)}</td>
      <td>{show(found.std)}</td>
      <td>{show(found.max)}</td>
      <td>{found.count.toLocaleString("en")}</td>
      <td>{Math.floor(found.covered * 1000) / 10} %</td>
      <td>{alarms.filter(([name]) => found.alarm[name] > 0).map(([name, i]) => <span key={name} class={`severity-${i}`}>{name} {found.source === "bins" && "≤ "}{duration(found.alarm[name] * 1000)} </span>)}</td>
      <td>{notes(found)}</td>
    </tr>
  );
}

/** notes says what the statistics come from, and what they lack. */
function notes(s: PVStatistics): string {
  let text = s.source === "samples" ? "all samples" : "bins";
  if (s.lost) text += `; without ${s.lost} samples in damaged blocks`;
  if (s.completeUntil) text += "; later samples may be missing: an engine does not answer";
  if (s.gapsLeftOutFrom) text += "; too many gaps: they count as covered";
  return text;
}
