// The states of an enumeration as labelled bands behind its line. A bin in which the state changed has
// no band: the line and its envelope show that.

import { brokenAt, fit, type Context, type Theme, type Trace } from "./paint";
import type { Series } from "./series";

interface Band {
  state: number;
  lo: number;
  hi: number;
}

/** bands returns the times in which a PV was in one state. until is the end of what is known. */
export function bands(s: Series, t: Trace, until: number): Band[] {
  const list: Band[] = [];
  for (let i = 0; i < s.rows; i++) {
    const state = s.value ? s.value[i] : s.min![i] === s.max![i] ? s.min![i] : NaN;
    const end = Math.min(until, s.end ? s.end[i] : i + 1 < s.rows ? s.x[i + 1] : until);
    const hi = brokenAt(t.breaks, s.x[i], end);
    if (!Number.isFinite(state) || hi <= s.x[i]) continue;
    const last = list[list.length - 1];
    if (last && last.state === state && last.hi === s.x[i]) last.hi = hi;
    else list.push({ state, lo: s.x[i], hi });
  }
  return list;
}

/** drawStates draws the bands. Each state has its colour. */
export function drawStates(c: Context, t: Trace, s: Series, theme: Theme) {
  const { ctx, box } = c;
  ctx.font = `${theme.font * c.px}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const b of bands(s, t, c.until)) {
    const left = Math.max(box.left, c.x(b.lo));
    const right = Math.min(box.left + box.width, c.x(b.hi));
    if (right <= left) continue;
    ctx.globalAlpha = 0.2;
    ctx.fillStyle = theme.traces[b.state % theme.traces.length];
    ctx.fillRect(left, box.top, right - left, box.height);
    ctx.globalAlpha = 1;
    const room = right - left - 10 * c.px;
    if (room < 24 * c.px) continue;
    ctx.fillStyle = theme.text;
    ctx.fillText(fit(ctx, s.metadata?.labels?.[b.state] || String(b.state), room), left + 5 * c.px, box.top + 4 * c.px);
  }
}
