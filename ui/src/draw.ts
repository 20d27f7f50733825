// Draws the data of a lane on uPlot's canvas, below its cursor. Values are steps: a PV holds its
// value until the next sample. Nothing is drawn where the value is not known.

import type uPlot from "uplot";
import type { Break } from "./gaps";
import { drawHeat } from "./heat";
import { drawLimits } from "./limits";
import { brokenAt, fit, type Context, type Theme, type Trace } from "./paint";
import { ms, type Series } from "./series";
import { drawStates } from "./states";

/** scaleOf returns the name of an axis of a lane in uPlot. */
export const scaleOf = (axis: number) => (axis === 1 ? "y2" : "y");

/** draw draws traces. now is the server's time in ms. */
export function draw(u: uPlot, traces: Trace[], theme: Theme, now: number, window?: { lo: number; hi: number }) {
  const { ctx, bbox: box } = u;
  const contextOf = (t?: Trace): Context => ({
    ctx, box, px: devicePixelRatio,
    x: (t) => u.valToPos(t, "x", true),
    y: (v) => u.valToPos(v, scaleOf(t?.axis ?? 0), true),
    until: t?.series?.shifted ? ms(t.series.now) : now,
  });
  const c = contextOf();
  const all = traces.map((t) => ({ t, c: contextOf(t), s: t.series }));
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  if (window) drawWindow(c, window, theme);
  traces.forEach((t, i) => drawBreaks(c, t, i, traces.length));
  for (const { t, c } of all) if (t.limits) drawLimits(c, t.limits, theme);
  for (const { t, c, s } of all) {
    if (!s) continue;
    if (s.kind === "enum") drawStates(c, t, s, theme);
    if (t.heat) drawHeat(c, t, t.heat, theme);
    else if (s.kind === "text" || s.kind === "other") drawEvents(c, t, s, theme);
    else if (s.mode === "bins") drawBins(c, t, s);
    else drawSamples(c, t, s);
  }
  all.forEach(({ c, s }, i) => s && drawSeverity(c, s, i, theme));
  ctx.restore();
}

/** drawWindow shades the selected window. */
function drawWindow(c: Context, w: { lo: number; hi: number }, theme: Theme) {
  const left = c.x(w.lo);
  const width = Math.max(c.px, c.x(w.hi) - left);
  c.ctx.fillStyle = theme.axis;
  c.ctx.globalAlpha = 0.16;
  c.ctx.fillRect(left, c.box.top, width, c.box.height);
  c.ctx.globalAlpha = 0.8;
  for (const x of [left, left + width]) c.ctx.fillRect(x - c.px / 2, c.box.top, c.px, c.box.height);
  c.ctx.globalAlpha = 1;
}

/** drawBreaks hatches the times without data. Each trace has its own strip of the height. */
function drawBreaks(c: Context, t: Trace, i: number, n: number) {
  const { ctx, box } = c;
  const height = box.height / n;
  const top = box.top + i * height;
  for (const b of t.breaks) {
    const left = Math.max(box.left, c.x(Math.max(b.lo, -8e15)));
    const right = Math.min(box.left + box.width, Math.max(c.x(b.hi), left + 2 * c.px));
    if (right < box.left || left > box.left + box.width) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, height);
    ctx.clip();
    ctx.globalAlpha = 0.1;
    ctx.fillStyle = t.color;
    ctx.fillRect(left, top, right - left, height);
    ctx.globalAlpha = b.loss ? 0.7 : 0.4;
    ctx.strokeStyle = t.color;
    ctx.lineWidth = c.px;
    ctx.beginPath();
    const step = 8 * c.px;
    for (let x = Math.floor((left - height) / step) * step; x < right; x += step) {
      ctx.moveTo(x, top + height);
      ctx.lineTo(x + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }
}

function drawSamples(c: Context, t: Trace, s: Series) {
  const { ctx } = c;
  ctx.strokeStyle = ctx.fillStyle = t.color;
  ctx.lineWidth = 1.5 * c.px;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let pen = false; // the line has reached the current sample
  const dots: number[] = [];
  for (let i = 0; i < s.rows; i++) {
    const v = s.value![i];
    const at = s.x[i];
    const next = i + 1 < s.rows ? s.x[i + 1] : Math.max(at, c.until);
    if (!Number.isFinite(v)) {
      pen = false;
      continue;
    }
    const y = c.y(v);
    const x = c.x(at);
    if (pen) ctx.lineTo(x, y);
    else ctx.moveTo(x, y);
    dots.push(x, y);
    const end = brokenAt(t.breaks, at, next);
    ctx.lineTo(c.x(end), y);
    pen = end === next;
  }
  ctx.stroke();
  const visible = dots.length / 2;
  if (visible > 0 && c.box.width / visible > 5 * c.px) {
    const r = 2.2 * c.px;
    for (let i = 0; i < dots.length; i += 2) {
      ctx.beginPath();
      ctx.arc(dots[i], dots[i + 1], r, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
}

/** silent reports whether a bin has no samples and lies within a gap. */
function silent(s: Series, i: number, breaks: Break[]): boolean {
  return s.count![i] === 0 && breaks.some((b) => b.gap && b.lo <= s.x[i] && s.end![i] <= b.hi);
}

function drawBins(c: Context, t: Trace, s: Series) {
  const { ctx } = c;
  const envelope = new Path2D();
  const line = new Path2D();
  let pen = false;
  for (let i = 0; i < s.rows; i++) {
    const middle = s.kind === "enum" ? s.last![i] : s.mean![i];
    if (!Number.isFinite(middle) || silent(s, i, t.breaks)) {
      pen = false;
      continue;
    }
    const left = c.x(s.x[i]);
    const right = c.x(Math.min(s.end![i], Math.max(s.x[i], c.until)));
    const top = c.y(s.max![i]);
    envelope.rect(left, top, right - left, Math.max(c.y(s.min![i]) - top, c.px));
    const y = c.y(middle);
    if (pen) line.lineTo(left, y);
    else line.moveTo(left, y);
    line.lineTo(right, y);
    pen = true;
  }
  ctx.globalAlpha = 0.32;
  ctx.fillStyle = t.color;
  ctx.fill(envelope);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = t.color;
  ctx.lineWidth = 1.25 * c.px;
  ctx.lineJoin = "round";
  ctx.stroke(line);
}

/** drawEvents draws values that are no numbers: a tick where they change, and texts beside them. */
function drawEvents(c: Context, t: Trace, s: Series, theme: Theme) {
  const { ctx, box } = c;
  const y = box.top + box.height / 2;
  ctx.strokeStyle = t.color;
  ctx.fillStyle = theme.text;
  ctx.font = `${theme.font * c.px}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.lineWidth = 1.5 * c.px;
  let text = "";
  for (let i = 0; i < s.rows; i++) {
    if (s.count && s.count[i] === 0) continue;
    const x = Math.max(c.x(s.x[i]), box.left);
    ctx.beginPath();
    ctx.moveTo(x, y - 14 * c.px);
    ctx.lineTo(x, y + 14 * c.px);
    ctx.stroke();
    if (!s.texts || s.texts[i] === text) continue;
    text = s.texts[i];
    const room = (i + 1 < s.rows ? c.x(s.x[i + 1]) : box.left + box.width) - x - 8 * c.px;
    if (room > 24 * c.px) ctx.fillText(fit(ctx, text, room), x + 5 * c.px, y);
  }
}

/** drawSeverity draws a strip at the bottom where a PV was in alarm. */
function drawSeverity(c: Context, s: Series, i: number, theme: Theme) {
  const height = 4 * c.px;
  const y = c.box.top + c.box.height - (i + 1) * height;
  for (const severity of [1, 2, 3]) { // where several severities share a pixel, the worst is on top
    c.ctx.fillStyle = theme.severity[severity];
    for (let k = 0; k < s.rows; k++) {
      if (Math.min(3, s.severity[k]) !== severity) continue;
      const end = s.end ? s.end[k] : k + 1 < s.rows ? s.x[k + 1] : Math.max(s.x[k], Math.min(c.until, ms(s.now)));
      const left = Math.floor(c.x(s.x[k])); // whole pixels: seams between bins would be paler
      c.ctx.fillRect(left, y, Math.max(c.px, Math.ceil(c.x(end)) - left), height - c.px);
    }
  }
}
