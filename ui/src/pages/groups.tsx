// Groups: all groups, or one with its settings and problems, or the form for a manifest.
//
//	?group=lab/vacuum         one group
//	?form=new                 the form for a new group
//	?group=lab/vacuum&form=1  the form with the settings of a group

import { GroupForm } from "../groupform";
import { usePoll } from "../poll";
import { Missing, Problems, PV, Trouble, type Problem } from "../problems";
import { follow, go, href, usePlace } from "../router";
import { Page } from "../page";
import type { Look } from "../theme";
import { clock } from "../time";
import { count, rate } from "../units";

interface Counts {
  channels: number; states: Record<string, number>; silent: number; samplesPerSecond: number; dropped?: Record<string, number>;
  worst?: { pv: string; state: string; since?: string; cause: string; text?: string }[];
}

interface Settings {
  provider: string; sampling: string; retention: string; redundancy: number; properties?: string[]; fields?: string[]; shardBy: string; paused?: boolean;
  expiresAt?: string; onDelete: string; listed: number; own?: number; sources?: string[];
}

interface Row { group: string; settings?: Settings; channels?: Counts; problems: Problem[]; moreProblems?: number; condition?: string }

interface List { at: string; groups: Row[]; unknown: Record<string, string> }

export interface Detail extends Row { at: string; manifest?: string; spec?: Record<string, unknown>; unknown: Record<string, string> }

const every = 5;

export default function Groups({ look }: { look: Look }) {
  const q = new URLSearchParams(usePlace().search);
  const group = q.get("group") ?? "";
  const form = q.get("form") ?? "";
  if (group) return <One key={group} look={look} group={group} form={form} />;
  if (form) return <Page look={look} title="New group" state="ready"><Back to={href("groups")} text="All groups" /><GroupForm /></Page>;
  return <All look={look} filter={q.get("q") ?? ""} />;
}

const Back = ({ to, text }: { to: string; text: string }) => <p class="under"><a href={to} onClick={follow}>← {text}</a></p>;

function All({ look, filter }: { look: Look; filter: string }) {
  const list = usePoll<List>("groups", "", every);
  const l = list.data;
  const shown = l?.groups.filter((g) => g.group.toLowerCase().includes(filter.toLowerCase())) ?? [];
  return (
    <Page look={look} title="Groups" state={l ? (list.error ? "failed" : "ready") : list.error ? "failed" : "loading"}>
      <Trouble of={list} utc={false} />
      <p class="bar">
        <label>Filter <input type="search" value={filter} onInput={(e) => go(href("groups", { q: (e.target as HTMLInputElement).value }), true)} /></label>
        <a class="button" href={href("groups", { form: "new" })} onClick={follow}>Write a new group</a>
      </p>
      {l && <Missing what="Settings of groups are missing" why={l.unknown.settings} />}
      {l && <Missing what="Channels are missing" why={l.unknown.channels} />}
      {l && l.groups.length === 0 && <p class="fine">The archive has no groups. Write one, and apply it.</p>}
      {l && l.groups.length > 0 && shown.length === 0 && <p class="fine">No group has “{filter}” in its name.</p>}
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Groups">
          <table>
            <thead><tr><th>Group</th><th>Problems</th><th class="n">Connected</th><th class="n">Samples</th><th>Stored</th><th>Kept</th><th class="n">Engines per PV</th></tr></thead>
            <tbody>{shown.map((g) => (
              <tr key={g.group} data-group={g.group}>
                <th scope="row"><a href={href("groups", { group: g.group })} onClick={follow}>{g.group}</a>{g.settings?.paused && <><br /><small>paused</small></>}</th>
                <td class="wide">{g.problems.length === 0 ? <span><span aria-hidden="true">✔ </span>none</span> : <Problems list={g.problems.map((p) => ({ ...p, advice: undefined }))} none="" more={g.moreProblems} />}</td>
                <td class="n">{g.channels ? <>{count(g.channels.states.connected ?? 0)}<br /><small>of {count(g.channels.channels)}</small></> : "no PVs"}</td>
                <td class="n">{g.channels ? rate(g.channels.samplesPerSecond) : "–"}</td>
                {g.settings
                  ? <><td>{g.settings.sampling}</td><td>{g.settings.retention}</td><td class="n">{g.settings.redundancy}</td></>
                  : <td colSpan={3} class="dim">settings are not known</td>}
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </Page>
  );
}

const states: [string, string][] = [
  ["connected", "connected"], ["searching", "never connected"], ["disconnected", "disconnected"], ["unsupported", "of a type that cannot be archived"], ["paused", "paused"], ["disabled", "disabled by another PV"],
];

function One({ look, group, form }: { look: Look; group: string; form: string }) {
  const one = usePoll<Detail>(`groups/${group.split("/").map(encodeURIComponent).join("/")}`, "", form ? 0 : every);
  const g = one.data;
  const state = g ? (one.error ? "failed" : "ready") : one.error ? "failed" : "loading";
  if (form) {
    return (
      <Page look={look} title={`Change ${group}`} state={state}>
        <Back to={href("groups", { group })} text={group} />
        <Trouble of={one} utc={false} />
        {g && (g.spec ? <GroupForm of={g} /> : <Missing what="The settings of the group are not known" why={g.unknown.settings} />)}
      </Page>
    );
  }
  return (
    <Page look={look} title={group} state={state}>
      <Back to={href("groups")} text="All groups" />
      <Trouble of={one} utc={false} />
      {g && (
        <>
          <section aria-label="Problems"><Problems list={g.problems} none="No problems are known." more={g.moreProblems} /></section>
          {g.condition && <p class="dim">{g.condition}</p>}
          <Missing what="Channels are missing" why={g.unknown.channels} />
          <Channels g={g} />
          <Applied g={g} />
        </>
      )}
    </Page>
  );
}

const PVs = ({ n }: { n: number }) => <>{count(n)} <small>{n === 1 ? "PV" : "PVs"}</small></>;

function Channels({ g }: { g: Detail }) {
  const c = g.channels;
  return (
    <section aria-labelledby="pvs">
      <h2 id="pvs">PVs</h2>
      {!c ? <p class="dim">No PV is captured for this group.</p> : (
        <>
          <dl class="tiles">
            <div><dt>All</dt><dd><a href={href("pvs", { group: g.group })} onClick={follow}><PVs n={c.channels} /></a></dd></div>
            {states.map(([s, text]) => (c.states[s] || s === "connected") && (
              <div key={s} data-state-of={s}><dt>{text}</dt><dd><a href={href("pvs", { group: g.group, state: s })} onClick={follow}><PVs n={c.states[s] ?? 0} /></a></dd></div>
            ))}
            {c.silent > 0 && <div data-state-of="silent"><dt>silent</dt><dd><a href={href("pvs", { group: g.group, only: "silent" })} onClick={follow}><PVs n={c.silent} /></a></dd></div>}
            <div><dt>Samples</dt><dd>{rate(c.samplesPerSecond)}</dd></div>
          </dl>
          {c.worst && (
            <div class="scroll" tabIndex={0} role="region" aria-label="PVs with problems">
              <table>
                <caption>PVs with problems, the oldest problem first{c.worst.length === 20 && " (at most 20)"}</caption>
                <thead><tr><th>PV</th><th>State</th><th>Since</th><th>Cause</th></tr></thead>
                <tbody>{c.worst.map((w) => (
                  <tr key={w.pv}><td><PV name={w.pv} /></td><td>{w.state}</td><td>{w.since ? clock(Date.parse(w.since), false) : "not known"}</td><td class="wide">{w.text || w.cause}</td></tr>
                ))}</tbody>
              </table>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Applied({ g }: { g: Detail }) {
  const s = g.settings;
  if (!s) return <Missing what="Settings are not known" why={g.unknown.settings} />;
  const rows: [string, string | undefined][] = [
    ["Stored", s.sampling], ["Kept", s.retention], ["Protocol", s.provider === "PVA" ? "pvAccess" : s.provider === "CA" ? "Channel Access" : "the default of the Archiver"],
    ["Engines per PV", s.redundancy === 2 ? "2: no sample is lost when an engine fails" : "1"], ["Fields of the record", s.properties?.join(", ")],
    ["Fields of the structure", s.fields?.join(", ")], ["Placement", s.shardBy], ["PVs from", [s.listed ? `the group: ${s.listed}${s.own ? `, ${s.own} with settings of their own` : ""}` : "", ...(s.sources ?? [])].filter(Boolean).join("; ")],
    ["Capture ends", s.expiresAt && clock(Date.parse(s.expiresAt), false)], ["Capture", s.paused ? "paused" : undefined], ["When the group is deleted", s.onDelete],
  ];
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings as applied</h2>
      <table class="settings"><tbody>{rows.map(([name, value]) => value && <tr key={name}><th scope="row">{name}</th><td class="wide">{value}</td></tr>)}</tbody></table>
      {g.spec && <p><a class="button" href={href("groups", { group: g.group, form: "1" })} onClick={follow}>Change these settings</a></p>}
      {g.manifest && <details class="box"><summary>Manifest</summary><pre tabIndex={0}>{g.manifest}</pre></details>}
    </section>
  );
}
