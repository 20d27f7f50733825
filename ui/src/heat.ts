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
  /** The smallest finite cell above 0, where logarithmic colours begin. It is NaN if there is none. */
  lowest: number;
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
    max, min: h.group > 1 ? cells("min") : max, low: NaN, high: NaN, lowest: NaN,
  };
  for (const v of max) {
    if (!Number.isFinite(v)) continue;
    if (!(heat.low <= v)) heat.low = v;
    if (!(heat.high >= v)) heat.high = v;
    if (v > 0 && !(heat.lowest <= v)) heat.lowest = v;
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

/** isLog reports whether colours can be logarithmic, if that is wanted: a cell must be above 0. */
export const isLog = (h: Heat, wanted: boolean | undefined) => !!wanted && !Number.isNaN(h.lowest);

/** partOf returns the place of a value among the colours, from 0 to 1. With logarithmic colours, all values up to 0 are at 0. */
export function partOf(h: Heat, v: number, log: boolean): number {
  if (v === Infinity) return 1;
  if (v === -Infinity || (log && v <= 0)) return 0;
  const low = log ? h.lowest : h.low;
  if (!(h.high > low)) return 0.5;
  if (log) return (Math.log(v) - Math.log(low)) / (Math.log(h.high) - Math.log(low));
  return v / (h.high - low) - low / (h.high - low);
}

/** Cell is a part of an array that has one colour. */
export interface Cell {
  /** Its first and its last element. The first element of an array is 0. */
  first: number;
  last: number;
  min: number;
  max: number;
}

/** cellAt returns the cell of an array at a place on the axis of elements, or undefined if the array has no such element. */
export function cellAt(h: Heat, i: number, y: number): Cell | undefined {
  const k = Math.floor(y / h.group);
  if (!(k >= 0 && k * h.group < h.length[i])) return undefined;
  const at = i * h.cells + k;
  return { first: k * h.group, last: Math.min((k + 1) * h.group, h.length[i]) - 1, min: h.min[at], max: h.max[at] };
}

// The pictures with linear and with logarithmic colours.
const pictures = [new WeakMap<Heat, HTMLCanvasElement>(), new WeakMap<Heat, HTMLCanvasElement>()];

/** picture returns the cells as pixels: a column for each array, with its first element at the bottom. */
function picture(h: Heat, log: boolean): HTMLCanvasElement {
  const old = pictures[Number(log)].get(h);
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
      image.data.set([...colorOf(partOf(h, v, log)), 255], 4 * ((h.cells - 1 - k) * h.rows + i));
    }
  }
  ctx.putImageData(image, 0, 0);
  pictures[Number(log)].set(h, canvas);
  return canvas;
}

/** drawHeat draws the heat map of a trace, and a line at the array that the slider shows. */
export function drawHeat(c: Context, t: Trace, h: Heat, theme: Theme) {
  const { ctx, box } = c;
  const image = picture(h, isLog(h, t.logColors));
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
