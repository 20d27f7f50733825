// The settings of an axis: logarithmic or not, and a range that is automatic or fixed. For a heat map, the only setting is
// whether its colours are logarithmic.

import { useState } from "preact/hooks";
import type { AxisOf } from "./lanes";
import { Popover } from "./popover";
import { wrongAxis } from "./state";

interface Props {
  axis: AxisOf;
  /** left or right, if the lane has two axes. */
  side?: string;
  /** What the plot shows now. */
  shown: [number, number];
  onLog: () => void;
  onFixed: (range: [number, number] | undefined) => void;
}

const round = (v: number) => String(Number(v.toPrecision(4)));

export function AxisHeader({ axis, side, shown, onLog, onFixed }: Props) {
  const unit = axis.unit || "no unit";
  const scale = axis.fixed ? `${round(axis.fixed[0])} … ${round(axis.fixed[1])}` : "auto";
  const heat = axis.traces.find((t) => t.heat);
  const numeric = axis.traces.some((t) => t.series?.kind === "number");
  return (
    <header data-axis={axis.key}>
      <b>{unit}{side && <small> {side}</small>}</b>
      {heat && <button type="button" aria-pressed={!!heat.logColors} aria-label={`log colours of ${heat.pv}`} onClick={onLog}>log colours</button>}
      {numeric && (
        <span>
          <button type="button" aria-pressed={axis.log} aria-label={`log ${unit}`} onClick={onLog}>log</button>{" "}
          <Popover label={`Scale of ${unit}: ${scale}`} text={scale} pressed={!!axis.fixed}>
            {(close) => <Scale axis={axis} shown={shown} onFixed={(r) => { close(); onFixed(r); }} />}
          </Popover>
        </span>
      )}
    </header>
  );
}

function Scale({ axis, shown, onFixed }: { axis: AxisOf; shown: [number, number]; onFixed: Props["onFixed"] }) {
  const [lo, setLo] = useState(round((axis.fixed ?? shown)[0]));
  const [hi, setHi] = useState(round((axis.fixed ?? shown)[1]));
  const [error, setError] = useState("");
  const apply = (e: Event) => {
    e.preventDefault();
    const number = (text: string) => (text.trim() === "" ? NaN : Number(text));
    const wrong = wrongAxis(number(lo), number(hi), axis.log);
    setError(wrong);
    if (!wrong) onFixed([number(lo), number(hi)]);
  };
  return (
    <form onSubmit={apply}>
      <label>From <input value={lo} inputMode="decimal" size={9} onInput={(e) => setLo(e.currentTarget.value)} /></label>
      <label>to <input value={hi} inputMode="decimal" size={9} onInput={(e) => setHi(e.currentTarget.value)} /></label>
      <button type="submit">Fix</button>
      <button type="button" onClick={() => onFixed(undefined)}>Automatic</button>
      {error && <p role="alert">{error}</p>}
    </form>
  );
}
