// PVs: a table of all captured PVs. The server filters, sorts and pages; the table holds only the
// pages in view.
//
//	URL ─▶ filters, order ─▶ useRows ─ api/v1/pvs ─▶ pages ─▶ the rows in view

import { useEffect, useRef, useState } from "preact/hooks";
import { go, href, usePlace } from "../router";
import { Page } from "../page";
import type { Look } from "../theme";
import { chunk, filterOf, useRows } from "./pvrows";
import { Filters } from "./pvfilters";
import { columnsOf, PVRow } from "./pvrow";

// Browsers limit the height of an element. Above this height the table is scaled.
const maxHeight = 10_000_000;

export default function PVs({ look }: { look: Look }) {
  const { search } = usePlace();
  const q = new URLSearchParams(search);
  const filter = filterOf(q);
  const rows = useRows(filter);
  const change = (part: Record<string, string>, replace = false) =>
    go(href("pvs", { ...Object.fromEntries(new URLSearchParams(location.search)), ...part }), replace);
  const state = rows.error ? "failed" : rows.counts ? "ready" : "loading";
  return (
    <Page look={look} title="PVs" state={state}>
      <Filters q={q} engines={rows.engines} onChange={change} />
      {rows.error && <p class="banner" role="alert">{rows.error}</p>}
      {rows.counts?.incomplete && <p class="banner" role="status">PVs are missing: {rows.counts.incomplete}</p>}
      <Summary rows={rows} />
      <Table key={filter} rows={rows} sort={q.get("sort") ?? "name"} reversed={q.get("order") === "reversed"} onChange={change} />
    </Page>
  );
}

function Summary({ rows }: { rows: ReturnType<typeof useRows> }) {
  const c = rows.counts;
  if (!c) return <p class="dim" role="status">Reading the table…</p>;
  const of = c.matched === c.total ? `${n(c.total)} PVs` : `${n(c.matched)} of ${n(c.total)} PVs`;
  return (
    <p class="dim" role="status" data-matched={c.matched}>
      {c.matched === 0 && c.total > 0 ? "No captured PV passes the filters." : of}
      {c.reachable < c.matched && `. Only the first ${n(c.reachable)} can be shown in this order. To see others, filter, reverse the order, or sort by name.`}
    </p>
  );
}

const n = (v: number) => v.toLocaleString("en").replaceAll(",", "\u202f");

interface TableProps {
  rows: ReturnType<typeof useRows>;
  sort: string;
  reversed: boolean;
  onChange: (part: Record<string, string>, replace?: boolean) => void;
}

function Table({ rows, sort, reversed, onChange }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [at, setAt] = useState(0);
  const row = innerWidth >= 2600 ? 40 : 28;
  const inView = Math.max(8, Math.floor((innerHeight - 270) / row));
  const count = rows.counts?.reachable ?? 0;
  const height = Math.min(count * row, maxHeight);
  const scrollable = Math.max(1, height - inView * row);
  const last = Math.max(0, count - inView);
  const show = (index: number) => {
    const to = Math.min(Math.max(0, index), last);
    setFirst(to);
    box.current!.scrollTop = last ? (to / last) * scrollable : 0;
  };
  useEffect(() => rows.want(first, first + inView), [first, inView, rows]);
  const scrolled = () => {
    const to = Math.round((box.current!.scrollTop / scrollable) * last);
    if (Math.abs(to - first) > (height === maxHeight ? count / height : 0)) setFirst(Math.min(to, last));
  };
  const move = (index: number) => {
    const to = Math.min(Math.max(0, index), count - 1);
    setAt(to);
    if (to < first) show(to);
    else if (to >= first + inView) show(to - inView + 1);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[aria-rowindex="${to + 2}"] a`)?.focus({ preventScroll: true }));
  };
  const keys = (e: KeyboardEvent) => {
    const by: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + inView, PageUp: at - inView, Home: 0, End: count - 1 };
    if (!(e.key in by) || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    move(by[e.key]);
  };
  const header = (key?: string) => {
    if (key) onChange({ sort: key === "name" ? "" : key, order: sort === key && !reversed ? "reversed" : "" });
  };
  const shown = [];
  for (let i = first; i < Math.min(count, first + inView); i++) {
    shown.push(<PVRow key={i} index={i} row={rows.row(i)} height={row} at={i === at} engines={rows.engines} onFocus={() => setAt(i)} />);
  }
  return (
    <div class="pvs" ref={box} style={{ height: `${(inView + 1) * row + 4}px` }} onScroll={scrolled} onKeyDown={keys} tabIndex={-1} data-first={first} data-chunk={chunk}>
      <div class="pvs-height" style={{ height: `${height + row}px` }}>
        <table aria-rowcount={count + 1} style={{ height: "auto" }}>
          <thead>
            <tr aria-rowindex={1} style={{ height: `${row}px` }}>
              {columnsOf(rows.engines).map((c) => (
                <th scope="col" key={c.title} class={c.right ? "right" : ""} aria-sort={c.sort === sort ? (reversed ? "descending" : "ascending") : undefined}>
                  {c.sort ? <button type="button" class="link" onClick={() => header(c.sort)}>{c.title}{c.sort === sort ? (reversed ? " ▲" : " ▼") : ""}</button> : c.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{shown}</tbody>
        </table>
      </div>
    </div>
  );
}
