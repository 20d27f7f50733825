// The filters of the table of PVs, and saved ones that are the reports of the Archiver Appliance.

import { useEffect, useRef, useState } from "preact/hooks";
import { follow, href, type Query } from "../router";

const states = ["", "searching", "connected", "disconnected", "unsupported", "paused", "disabled"];

const reports: [string, Query][] = [
  ["All", {}],
  ["Never connected", { only: "neverConnected" }],
  ["Disconnected", { state: "disconnected", sort: "since", order: "reversed" }],
  ["Silent", { only: "silent", sort: "last" }],
  ["Paused", { state: "paused" }],
  ["Event rate", { sort: "rate" }],
  ["Storage rate", { sort: "storage" }],
  ["Lost connections", { only: "lostConnections", sort: "lostConnections" }],
  ["Dropped samples", { only: "dropped", sort: "dropped" }],
  ["Arrays", { only: "arrays", sort: "storage" }],
];

/** Filters are the saved filters as links, and the fields. A field changes the URL when it rests. */
export function Filters({ q, engines, onChange }: { q: URLSearchParams; engines: boolean; onChange: (part: Record<string, string>, replace?: boolean) => void }) {
  const here = href("pvs", Object.fromEntries(q));
  return (
    <>
      <nav class="reports" aria-label="Reports">
        {reports.map(([title, query]) => {
          const to = href("pvs", query);
          return <a key={title} href={to} onClick={follow} aria-current={to === here ? "true" : undefined}>{title}</a>;
        })}
      </nav>
      <form class="filters" role="search" aria-label="Filter PVs" onSubmit={(e) => e.preventDefault()}>
        <Field label="Name" value={q.get("pv") ?? ""} hint="a part, or SR*:PRES" onChange={(pv) => onChange({ pv }, true)} />
        <label>State <select value={q.get("state") ?? ""} onChange={(e) => onChange({ state: e.currentTarget.value })}>
          {states.map((s) => <option key={s} value={s}>{s || "any"}</option>)}
        </select></label>
        <Field label="Group" value={q.get("group") ?? ""} hint="namespace/name" onChange={(group) => onChange({ group }, true)} />
        {(engines || q.get("engine")) && <Field label="Engine" value={q.get("engine") ?? ""} hint="its whole name" onChange={(engine) => onChange({ engine }, true)} />}
        <Field label="Cause" value={q.get("cause") ?? ""} hint="a part of the text" onChange={(cause) => onChange({ cause }, true)} />
      </form>
    </>
  );
}

function Field({ label, value, hint, onChange }: { label: string; value: string; hint: string; onChange: (v: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return; // the user may have typed more since
    clearTimeout(timer.current);
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const input = (v: string) => {
    setText(v);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      sent.current = v;
      onChange(v);
    }, 250);
  };
  return <label>{label} <input type="search" value={text} placeholder={hint} spellcheck={false} autocomplete="off" onInput={(e) => input(e.currentTarget.value)} /></label>;
}
