// The gaps and losses in view, as a table, and the note beside the pointer.

import type { Trace } from "./paint";
import { kindText, title, writer, type Break } from "./gaps";
import type { Range } from "./state";
import { clock, duration } from "./time";

interface Item {
  trace: Trace;
  b: Break;
}

/** maxItems bounds the table. */
const maxItems = 200;

export const inView = (b: Break, r: Range) => b.hi >= r.lo && b.lo <= r.hi;

const from = (b: Break, utc: boolean) => (Number.isFinite(b.lo) ? clock(b.lo, utc, 3) : "the beginning");
const to = (b: Break, utc: boolean) => (b.gap && !b.gap.to ? "not over yet" : clock(b.hi, utc, 3));
const length = (b: Break) => (Number.isFinite(b.lo) && b.hi > b.lo ? duration(b.hi - b.lo) : "");

export function GapList({ traces, range, utc, leftOut, onShow }: { traces: Trace[]; range: Range; utc: boolean; leftOut: string[]; onShow: (r: Range) => void }) {
  const all: Item[] = traces.flatMap((trace) => trace.breaks.filter((b) => inView(b, range)).map((b) => ({ trace, b })));
  all.sort((a, b) => a.b.lo - b.b.lo);
  if (all.length === 0 && leftOut.length === 0) return null;
  const show = (b: Break) => {
    const lo = Number.isFinite(b.lo) ? b.lo : range.lo;
    const margin = Math.max(50, (b.hi - lo) * 0.25);
    onShow({ lo: lo - margin, hi: b.hi + margin });
  };
  return (
    <details class="gaps" open>
      <summary>{all.length === 1 ? "1 gap or loss" : `${all.length} gaps and losses`} in view</summary>
      {leftOut.map((text) => <p key={text}>{text}</p>)}
      <div class="scroll" tabIndex={0} role="region" aria-label="Gaps and losses">
        <table>
          <thead><tr><th>PV</th><th>From</th><th>To</th><th>Length</th><th>Cause</th><th>Writer</th></tr></thead>
          <tbody>
            {all.slice(0, maxItems).map(({ trace, b }) => (
              <tr key={`${trace.pv} ${b.lo} ${b.loss ? "loss" : "gap"}`} data-pv={trace.pv} data-kind={b.gap?.kind ?? b.loss!.reason}>
                <td><i class="swatch" style={{ background: trace.color }} /><button type="button" class="link" title="Show this time" onClick={() => show(b)}>{trace.pv}</button></td>
                <td>{from(b, utc)}</td>
                <td>{to(b, utc)}</td>
                <td>{length(b)}</td>
                <td class="cause">{title(b)}{steps(b)}</td>
                <td><code title={writer(b)}>{writer(b).slice(0, 8)}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {all.length > maxItems && <p>The table has the first {maxItems}. Zoom in to see the others.</p>}
    </details>
  );
}

/** steps says what else happened during a gap. */
function steps(b: Break): string {
  const causes = b.gap?.causes ?? [];
  const rest = causes.slice(b.gap?.kind === "not_captured" ? 0 : 1).map((c) => kindText(c.kind, c.text));
  if (b.gap?.more) rest.push(`${b.gap.more} more`);
  const end = b.gap?.to && b.gap.text ? [`${b.gap.kind === "not_captured" ? "connected" : "connected again"} (${b.gap.text})`] : [];
  return [...rest, ...end].map((text) => ` → ${text}`).join("");
}

/** Note is the explanation beside the pointer. */
export function Note({ x, y, trace, b, utc }: { x: number; y: number; trace: Trace; b: Break; utc: boolean }) {
  const left = x > innerWidth - 400 ? { right: `${innerWidth - x + 14}px` } : { left: `${x + 14}px` };
  const top = y > innerHeight - 200 ? { bottom: `${innerHeight - y + 14}px` } : { top: `${y + 14}px` };
  return (
    <div class="note" role="status" style={{ ...left, ...top }} data-pv={trace.pv} data-kind={b.gap?.kind ?? b.loss!.reason} data-writer={writer(b)}>
      <b><i class="swatch" style={{ background: trace.color }} />{trace.pv}: {b.loss ? "loss" : "no data"}</b>
      <p>{title(b)}{steps(b)}</p>
      <p>{from(b, utc)} – {to(b, utc)}{length(b) && ` (${length(b)})`}</p>
      <p class="dim">writer {writer(b)}</p>
    </div>
  );
}
