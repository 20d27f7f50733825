// What all drawing on the canvas of a lane shares.

import type { Break } from "./gaps";
import type { Heat } from "./heat";
import type { Series } from "./series";

/** Limit has the alarm limits of a PV from lo to hi. A limit that the PV did not have is undefined. */
export interface Limit {
  lo: number;
  hi: number;
  LOLO?: number;
  LOW?: number;
  HIGH?: number;
  HIHI?: number;
}

export interface Trace {
  /** The PV, with its shift if it has one: see traces.ts. */
  pv: string;
  color: string;
  /** The axis in its lane. */
  axis?: number;
  /** The alarm limits with their history, if they are drawn. */
  limits?: Limit[];
  series?: Series;
  /** The arrays of a PV that has arrays of numbers, and the time of the one that is shown alone, in ms. */
  heat?: Heat;
  at?: number;
  /** The colours of the heat map are logarithmic. */
  logColors?: boolean;
  breaks: Break[];
}

export interface Theme {
  text: string;
  grid: string;
  axis: string;
  surface: string;
  /** Size of the font of the axes, in px. */
  font: number;
  severity: string[];
  traces: string[];
}

export interface Context {
  ctx: CanvasRenderingContext2D;
  x: (t: number) => number;
  y: (v: number) => number;
  box: { left: number; top: number; width: number; height: number };
  px: number;
  /** Nothing is drawn later than this. */
  until: number;
}

/** brokenAt returns the start of the first gap that begins in [a, b), or b. */
export function brokenAt(breaks: Break[], a: number, b: number): number {
  for (const g of breaks) if (g.gap && g.hi > a && g.lo < b) return Math.max(a, g.lo);
  return b;
}

/** fit cuts a text off so that it fits into a width. */
export function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  text = text.replace(/\p{Cc}/gu, " ");
  const n = Math.floor((text.length * room) / Math.max(1, ctx.measureText(text).width));
  return n >= text.length ? text : text.slice(0, Math.max(1, n - 1)) + "…";
}
