// A row of the table of PVs, and its columns.

import { follow, href } from "../router";
import { clock } from "../time";
import type { Row } from "./pvrows";

export interface Column {
  title: string;
  /** The value of the parameter sort, if the table can be sorted by the column. */
  sort?: string;
  right?: boolean;
}

const all: Column[] = [
  { title: "PV", sort: "name" }, { title: "State" }, { title: "Since", sort: "since" }, { title: "Cause" }, { title: "Last value", right: true },
  { title: "Last time", sort: "last" }, { title: "Samples/s", sort: "rate", right: true }, { title: "Bytes/s", sort: "storage", right: true },
  { title: "Dropped", sort: "dropped", right: true }, { title: "Lost con.", sort: "lostConnections", right: true }, { title: "Group" }, { title: "Engine", sort: "engine" },
];

/** columnsOf returns the columns, with the one of engines if they are known. */
export const columnsOf = (engines: boolean) => (engines ? all : all.slice(0, -1));

const severities = ["NO_ALARM", "MINOR", "MAJOR", "INVALID"];
const time = (text?: string) => (text ? clock(Date.parse(text), false) : "");
const rate = (v: number) => (v === 0 ? "0" : Number(v.toPrecision(3)).toString());
const short = (text: string) => (text.length > 40 ? text.slice(0, 40) + "…" : text);

/** valueText returns the last value with its unit, or why it is not shown. */
export function valueText(row: Row): string {
  const v = row.last?.value;
  if (!row.last) return "";
  if (v === undefined) return "too large";
  if (row.label !== undefined) return row.label;
  const text = typeof v === "string" ? v : typeof v === "number" ? String(Number(v.toPrecision(7))) : JSON.stringify(v);
  return short(text) + (row.units ? ` ${row.units}` : "");
}

export function PVRow({ index, row, height, at, engines, onFocus }: { index: number; row?: Row; height: number; at: boolean; engines: boolean; onFocus: () => void }) {
  const style = { height: `${height}px` };
  if (!row) return <tr aria-rowindex={index + 2} style={style}><td colSpan={all.length} class="dim">…</td></tr>;
  const severity = severities.indexOf(row.last?.severity ?? "");
  return (
    <tr aria-rowindex={index + 2} style={style} class={at ? "at" : ""} data-pv={row.pv} data-state={row.state}>
      <th scope="row"><a href={href("", { pv: row.pv, from: "-1h", to: "now" })} onClick={follow} onFocus={onFocus} title={`Plot ${row.pv}`}>{row.pv}</a></th>
      <td class={`state ${row.state}`}><a href={href("pv", { pv: row.pv })} onClick={follow} title={`State, gaps, settings and metadata of ${row.pv}`}>{row.state}{row.silent && ", silent"}</a></td>
      <td>{time(row.since)}</td>
      <td title={row.cause}>{row.cause}</td>
      <td class={`right ${severity > 0 ? `severity-${severity}` : ""}`} title={valueText(row)}>{valueText(row)}{severity > 0 && ` (${row.last!.severity})`}</td>
      <td>{time(row.last?.time)}</td>
      <td class="right">{rate(row.rate)}</td>
      <td class="right">{rate(row.storage)}</td>
      <td class="right">{row.dropped}</td>
      <td class="right">{row.lostConnections}</td>
      <td><a href={href("pvs", { group: row.group })} onClick={follow} tabIndex={-1} title={`Only PVs of ${row.group}`}>{row.group}</a></td>
      {engines && <td>{row.engine && <a href={href("pvs", { engine: row.engine })} onClick={follow} tabIndex={-1} title={`Only PVs of ${row.engine}`}>{row.engine}</a>}</td>}
    </tr>
  );
}
