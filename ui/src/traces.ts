// A trace is a PV, or a PV and a shift in time: "SR:I -1d" has the samples of SR:I of a day before,
// drawn a day later than they were. Names of PVs have no blank before such an ending.

import { moment } from "./state";

export interface Source {
  pv: string;
  /** How much later the samples are drawn, in ms. It is 0 for a PV without a shift. */
  shift: number;
}

/** sourceOf returns what a trace shows. */
export function sourceOf(trace: string): Source {
  const m = /^(.*\S) (-\d+(?:\.\d+)?[smhdwy])$/.exec(trace);
  const shift = m ? -moment(m[2], 0)! : 0;
  return m && shift > 0 ? { pv: m[1], shift } : { pv: trace, shift: 0 };
}

/** pvsOf returns the PVs of traces, each once. */
export const pvsOf = (traces: string[]) => [...new Set(traces.map((t) => sourceOf(t).pv))];

/** shiftText returns the ending for a shift that a user typed, such as 1d, -36h or 2 w, or undefined. */
export function shiftText(typed: string): string | undefined {
  const m = /^-?\s*(\d{1,5}(?:\.\d{1,6})?)\s*([smhdwy])$/.exec(typed.trim());
  return m && Number(m[1]) > 0 ? `-${Number(m[1])}${m[2]}` : undefined;
}
