// "What else changed here?": the PVs whose behaviour changed most in the selected window, ranked by
// the archive, with the reasons in words.

import { useEffect, useState } from "preact/hooks";
import { readChanges, type Change, type Changes, type Reason } from "./api";
import { kindText } from "./gaps";
import type { Range } from "./state";
import { duration } from "./time";

const round = (v: number) => String(Number(v.toPrecision(4)));
const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
const rate = (v: number) => (v >= 0.1 || v === 0 ? `${round(v)} /s` : `${round(v * 60)} /min`);

/** words says what changed. */
export function words(r: Reason, c: Change): string {
  const units = c.units ? ` ${c.units}` : "";
  switch (r.kind) {
    case "mean": return `mean ${round(r.before)} → ${round(r.after)}${units}`;
    case "spread":
      if (r.after === 0) return "does not change any more";
      return `spread ${round(r.before)} → ${round(r.after)}${units}` + (r.before > 0 ? ` (× ${round(r.after / r.before)})` : "");
    case "rate": return r.after === 0 ? "no samples" : `samples ${rate(r.before)} → ${rate(r.after)}`;
    case "alarm": return `alarm ${round(r.before)} → ${round(r.after)} (1: MINOR all the time, 2: MAJOR, 4: INVALID)`;
    case "state": return `state ${c.labels?.[r.state!] || r.state} ${percent(r.before)} → ${percent(r.after)} of the time`;
    case "text": return `new text “${(r.text ?? "").slice(0, 60)}”`;
    case "gap": return `no updates for ${percent(r.after)} of the time: ${kindText(r.text ?? "")}`;
    case "type": return "another type of values";
    case "begun": return "first values";
  }
  return r.kind;
}

interface Props {
  window: Range;
  scope: string;
  plotted: string[];
  onScope: (scope: string) => void;
  onAdd: (pv: string) => void;
  onClose: () => void;
}

export function ChangeList(p: Props) {
  const [answer, setAnswer] = useState<Changes>();
  const [error, setError] = useState("");
  const [scope, setScope] = useState(p.scope);
  const [again, setAgain] = useState(0);
  useEffect(() => setScope(p.scope), [p.scope]);
  useEffect(() => {
    const abort = new AbortController();
    setAnswer(undefined);
    setError("");
    readChanges(p.scope, p.window.lo, p.window.hi, abort.signal)
      .then(setAnswer)
      .catch((err: Error) => abort.signal.aborted || setError(err.message));
    return () => abort.abort();
  }, [p.scope, p.window.lo, p.window.hi, again]);

  const ask = (e: Event) => {
    e.preventDefault();
    if (scope.trim() === p.scope) setAgain((n) => n + 1);
    else p.onScope(scope.trim());
  };
  return (
    <section class="changes" aria-label="What else changed" data-state={error ? "failed" : answer ? "ready" : "loading"}>
      <header>
        <h2>What else changed here?</h2>
        <form onSubmit={ask}>
          <label>PVs <input value={scope} placeholder="all; SR01*; group lab/vacuum" spellcheck={false} onInput={(e) => setScope(e.currentTarget.value)} /></label>
          <button type="submit">Compare</button>
        </form>
        <button type="button" aria-label="Close the list of changes" onClick={p.onClose}>×</button>
      </header>
      {error && <p role="alert">{error}</p>}
      {!error && !answer && <p role="status">Comparing…</p>}
      {answer && <p role="status" class="dim">{summary(answer, p.window)}</p>}
      {answer && answer.changes.length > 0 && (
        <ol tabIndex={0} aria-label="PVs that changed">
          {answer.changes.map((c) => (
            <li key={c.pv} data-pv={c.pv} data-kind={c.reasons[0].kind}>
              <meter min={0} max={10} value={c.score} aria-label={`score ${c.score.toFixed(1)}`} />
              <b>{c.score.toFixed(1)}</b>
              <button type="button" class="link" title={c.description ?? "Plot this PV"} disabled={p.plotted.includes(c.pv)} onClick={() => p.onAdd(c.pv)}>{c.pv}</button>
              <span>{c.reasons.map((r) => words(r, c)).join("; ")}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** summary says what was compared, and what was not. */
function summary(a: Changes, w: Range): string {
  const n = (v: number) => v.toLocaleString("en");
  const length = duration(w.hi - w.lo);
  let text = `${n(a.changed)} of ${n(a.compared)} PVs behave differently in these ${length} than in the ${length} before, by more than is normal for them.`;
  if (a.changed > a.changes.length) text += ` The list has the ${n(a.changes.length)} that changed most.`;
  if (a.tooLate) text += ` ${n(a.tooLate)} PVs were not compared, because that takes too long: choose fewer PVs.`;
  if (a.failed) text += ` ${n(a.failed)} PVs could not be read: ${a.error}`;
  return text;
}
