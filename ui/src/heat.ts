// Arrays over time, as /api/v1/arrays sends them, and their heat map:
//
//   answer ──decode──▶ Heat: a column of cells for each array ──paint, once──▶ picture ──drawHeat──▶ canvas
//
// A column is drawn from the time of its array until the next one, or until a gap.

import { brokenAt, type Context, type Theme, type Trace } from "./paint";
import { frame, ms, type Metadata } from "./series";

interface Header {
  type?: string;
  metadata?: Metadata;
  /** Seconds. */
  width: number;
  elements: number;
  group: number;
  cells: number;
  thinned?: boolean;
  leftOutFrom?: string;
  base: string;
  rows: number;
}

export interface Heat extends Omit<Header, "base"> {
  base: bigint;
  /** Times of the arrays from base, in ns. */
  offset: BigUint64Array;
  /** The same times in ms since 1970, as drawn. */
  x: Float64Array;
  length: Uint32Array;
  /** The largest and the smallest element of each cell, column after column. NaN is a cell without a number. */
  max: Float64Array;
  min: Float64Array;
  /** The range of the finite cells, for the colours. It is NaN if there are none. */
  low: number;
  high: number;
}

/** decodeHeat decodes an answer. by is how much later the arrays are drawn, in ms. It returns undefined for a PV
 * that has no arrays of numbers in the range. */
export function decodeHeat(buf: ArrayBuffer, by: number): Heat | undefined {
  const { head: h, at } = frame<Header>(buf);
  if (h.elements === 0) return undefined;
  const base = BigInt(h.base);
  const offset = new BigUint64Array(buf, at("offset"), h.rows);
  const cells = (name: string) => new Float64Array(buf, at(name), h.rows * h.cells);
  const max = cells("max");
  const heat: Heat = {
    ...h, base, offset, x: Float64Array.from(offset, (o) => ms(base + o) + by), length: new Uint32Array(buf, at("length"), h.rows),
    max, min: h.group > 1 ? cells("min") : max, low: NaN, high: NaN,
  };
  for (const v of max) {
    if (!Number.isFinite(v)) continue;
    if (!(heat.low <= v)) heat.low = v;
    if (!(heat.high >= v)) heat.high = v;
  }
  return heat;
}

/** column returns the cells of an array. */
export const column = (cells: Float64Array, h: Heat, i: number) => cells.subarray(i * h.cells, i * h.cells + Math.ceil(h.length[i] / h.group));

/** arrayAt returns the index of the array that a PV held at a time, in ms, or -1. */
export function arrayAt(h: Heat, t: number): number {
  let i = h.rows - 1;
  while (i >= 0 && h.x[i] > t) i--;
  return i;
}

// The colours of viridis by S. van der Walt and N. Smith: their lightness grows evenly, also for the colour-blind.
const stops = [[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37]];

/** colorOf returns red, green and blue for a part between 0 and 1. */
export function colorOf(part: number): number[] {
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
}

const pictures = new WeakMap<Heat, HTMLCanvasElement>();

/** picture returns the cells as pixels: a column for each array, with its first element at the bottom. */
function picture(h: Heat): HTMLCanvasElement {
  const old = pictures.get(h);
  if (old) return old;
  const canvas = document.createElement("canvas");
  canvas.width = h.rows;
  canvas.height = h.cells;
  const ctx = canvas.getContext("2d")!;
  const image = ctx.createImageData(h.rows, h.cells);
  for (let i = 0; i < h.rows; i++) {
    for (let k = 0; k < h.cells; k++) {
      const v = h.max[i * h.cells + k];
      if (Number.isNaN(v)) continue; // no colour: the cell has no number
      const part = h.high > h.low ? v / (h.high - h.low) - h.low / (h.high - h.low) : 0.5;
      image.data.set([...colorOf(v === Infinity ? 1 : v === -Infinity ? 0 : part), 255], 4 * ((h.cells - 1 - k) * h.rows + i));
    }
  }
  ctx.putImageData(image, 0, 0);
  pictures.set(h, canvas);
  return canvas;
}

/** drawHeat draws the heat map of a trace, and a line at the array that the slider shows. */
export function drawHeat(c: Context, t: Trace, h: Heat, theme: Theme) {
  const { ctx, box } = c;
  const image = picture(h);
  const bottom = c.y(0);
  const top = c.y(h.cells * h.group);
  ctx.imageSmoothingEnabled = false;
  for (let i = 0; i < h.rows; i++) {
    const next = i + 1 < h.rows ? h.x[i + 1] : Math.max(h.x[i], c.until);
    const left = Math.max(box.left, c.x(h.x[i]));
    const right = Math.min(box.left + box.width, Math.max(left + c.px, c.x(brokenAt(t.breaks, h.x[i], next))));
    if (h.length[i] > 0 && right > left) ctx.drawImage(image, i, 0, 1, h.cells, left, top, right - left, bottom - top);
  }
  if (t.at === undefined || arrayAt(h, t.at) < 0) return;
  const x = Math.max(box.left, c.x(h.x[arrayAt(h, t.at)]));
  ctx.fillStyle = theme.surface;
  ctx.fillRect(x - 1.5 * c.px, box.top, 3 * c.px, box.height);
  ctx.fillStyle = theme.text;
  ctx.fillRect(x - c.px / 2, box.top, c.px, box.height);
}
