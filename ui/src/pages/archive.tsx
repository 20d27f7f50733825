// Archive: what is wrong, engines and their load, shards and moves, storage and its forecast, losses.
//
//	/api/v1/archive ──every 5 s──▶ all but losses
//	/api/v1/losses ──for the range in the URL──▶ losses by cause

import { usePoll } from "../poll";
import { Missing, Problems, PV, Trouble, type Problem } from "../problems";
import { go, href, usePlace } from "../router";
import { Page } from "../page";
import type { Look } from "../theme";
import { clock, duration } from "../time";
import { bytes, count, days, plural, rate } from "../units";

interface Figures {
  shards: number; sealing: number; channels: number; connected: number; samplesPerSecond: number; bytesPerSecond: number; load?: number;
  received: number; stored: number; pending: number; dropped: number; memoryBytes: number; storage?: string;
  unsealed?: { oldestSeconds: number; keptSeconds: number; late: number };
  damaged?: { objects: number; first: string };
  clock: { state: string; offsetSeconds?: number; because?: string };
  diskGuard?: { reason: string; sizeBytes: number; limitBytes: number; waitingBytes: number; before?: string; text?: string };
}

interface Engine { engine: string; version?: string; started?: string; missing?: string; draining?: boolean; figures?: Figures }

interface Shard { shard: number; channels: number; engines: { engine: string; phase: string; sealing?: boolean; connected?: number }[] }

interface Move { shard: number; from?: string; to?: string; phase: string; since?: string; message?: string }

interface Storage {
  kind: string; where: string; disk?: { sizeBytes: number; freeBytes: number }; nodes?: { address: string; up: boolean; bytes?: number }[]; replicas?: number;
  bytes: number; parts: { contents: string; tier?: string; bytes: number }[]; estimated?: boolean; missing?: string;
}

interface Forecast {
  tiers: { tier: string; bytes?: number; samplesPerSecond: number; bytesPerSample: number; bytesPerDay: number; fullBytes?: number }[];
  bytesPerDay: number; limit?: string; limitBytes?: number; reachedInDays?: number; settlesAtBytes?: number; measuredPVs: number;
}

interface State {
  at: string; problems: Problem[]; engines: Engine[]; shards?: { shards: number; captured: number; list: Shard[] }; moves: Move[];
  channels: { channels: number; states: Record<string, number>; silent: number; samplesPerSecond: number; dropped?: Record<string, number> };
  storage?: Storage; forecast?: Forecast; unknown: Record<string, string>;
}

interface Losses {
  pvs: number; read: number; complete: boolean; incomplete?: string;
  causes: { cause: string; meaning: string; advice: string; marks: number; samples: number; unknown?: number; pvs: number; first: string; last: string;
    worst: { pv: string; marks: number; samples: number }[] }[];
}

const every = 5;
const ranges: [string, string][] = [["-1h", "the last hour"], ["-24h", "the last 24 hours"], ["-7d", "the last 7 days"], ["-30d", "the last 30 days"]];

export default function Archive({ look }: { look: Look }) {
  const q = new URLSearchParams(usePlace().search);
  const utc = q.get("utc") === "1";
  const lost = ranges.some(([r]) => r === q.get("lost")) ? q.get("lost")! : "-24h";
  const state = usePoll<State>("archive", "", every);
  const losses = usePoll<Losses>("losses", `from=${lost}`, 60);
  const a = state.data;
  const set = (part: Record<string, string | undefined>) => go(href("archive", { utc: utc ? "1" : undefined, lost, ...part }), true);
  return (
    <Page look={look} title="Archive" state={a ? (state.error ? "failed" : "ready") : state.error ? "failed" : "loading"}>
      <Trouble of={state} utc={utc} />
      {a && (
        <>
          <p class="dim under">
            State of <time dateTime={a.at}>{clock(Date.parse(a.at), utc)}</time>, refreshed every {every} s.{" "}
            <label><input type="checkbox" checked={utc} onChange={() => set({ utc: utc ? undefined : "1" })} /> UTC</label>
          </p>
          <section aria-label="Problems"><Problems list={a.problems} none="No problems are known." /></section>
          <Summary a={a} />
          <div class="halves">
            <div>
              <Engines a={a} utc={utc} />
              <Moves a={a} utc={utc} />
              <Shards a={a} />
            </div>
            <div>
              <StorageOf a={a} />
              <ForecastOf a={a} />
            </div>
          </div>
        </>
      )}
      <section aria-labelledby="losses">
        <h2 id="losses">Losses by cause</h2>
        <label>Range <select value={lost} onChange={(e) => set({ lost: (e.target as HTMLSelectElement).value })}>
          {ranges.map(([r, text]) => <option key={r} value={r}>{text}</option>)}
        </select></label>
        <Trouble of={losses} utc={utc} />
        {losses.data ? <LossTable l={losses.data} utc={utc} /> : !losses.error && <p class="dim">Reading marks…</p>}
      </section>
    </Page>
  );
}

function Summary({ a }: { a: State }) {
  const c = a.channels;
  const answered = a.engines.filter((e) => e.figures).length;
  const lost = Object.values(c.dropped ?? {}).reduce((sum, n) => sum + n, 0);
  return (
    <dl class="tiles">
      <div><dt>PVs connected</dt><dd>{count(c.states.connected ?? 0)} <small>of {count(c.channels)}{a.unknown.channels && ", not all are known"}</small></dd></div>
      <div><dt>Samples</dt><dd>{rate(c.samplesPerSecond)}</dd></div>
      <div><dt>Engines</dt><dd>{a.engines.length ? <>{answered} <small>of {a.engines.length} answer</small></> : "not known"}</dd></div>
      <div><dt>Archive on disk</dt><dd>{a.storage ? bytes(a.storage.bytes) : "not known"}{a.forecast && <small> + {bytes(a.forecast.bytesPerDay)} per day</small>}</dd></div>
      <div><dt>Lost since engines started</dt><dd>{count(lost)} <small>samples</small></dd></div>
    </dl>
  );
}

const clocks: Record<string, string> = { right: "right", unknown: "not known", notWrong: "not wrong", wrong: "wrong" };

function Engines({ a, utc }: { a: State; utc: boolean }) {
  return (
    <section aria-labelledby="engines">
      <h2 id="engines">Engines</h2>
      <Missing what="Engines are missing" why={a.unknown.engines} />
      {a.engines.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-labelledby="engines">
          <table>
            <thead><tr>
              <th>Engine</th><th>State</th><th class="n">Samples</th><th>Load against the mean</th><th class="n">Connected</th><th class="n">Shards</th>
              <th class="n">Memory</th><th class="n">Not stored yet</th><th>Oldest unsealed</th><th>Clock</th><th>Started</th>
            </tr></thead>
            <tbody>{a.engines.map((e) => <EngineRow key={e.engine} e={e} utc={utc} />)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function EngineRow({ e, utc }: { e: Engine; utc: boolean }) {
  const f = e.figures;
  const name = <th scope="row" class="name">{e.engine}</th>;
  if (!f) return <tr data-engine={e.engine}>{name}<td colSpan={10}><strong class="severity-2">does not answer</strong>: {e.missing ?? "no reason is known"}</td></tr>;
  const state = f.storage ? <strong class="severity-2">cannot store</strong> : e.draining ? "hands its shards over" : "captures";
  return (
    <tr data-engine={e.engine}>
      {name}
      <td>{state}</td>
      <td class="n">{rate(f.samplesPerSecond)}<br /><small>{bytes(f.bytesPerSecond)}/s</small></td>
      <td>{f.load === undefined ? <span class="dim">only one engine</span> : <><meter min={0} max={3} high={2} value={Math.min(3, f.load)} aria-label="Load against the mean" /> {rate(f.load, "×")}</>}</td>
      <td class="n">{count(f.connected)}<br /><small>of {plural(f.channels, "PV")}</small></td>
      <td class="n">{f.shards}<br /><small>seals {f.sealing}</small></td>
      <td class="n">{bytes(f.memoryBytes)}</td>
      <td class="n">{count(f.pending)}<br /><small>samples</small></td>
      <td>{f.unsealed ? <>{duration(f.unsealed.oldestSeconds * 1e3)}<br /><small>kept for {duration(f.unsealed.keptSeconds * 1e3)}</small></> : <span class="dim">no time limit, or not known</span>}</td>
      <td title={f.clock.because}>{f.clock.state === "wrong" ? <strong class="severity-2">wrong by {duration(Math.abs(f.clock.offsetSeconds ?? 0) * 1e3)}</strong> : clocks[f.clock.state]}</td>
      <td>{e.started ? clock(Date.parse(e.started), utc) : "not known"}<br /><small>{e.version}</small></td>
    </tr>
  );
}

function Moves({ a, utc }: { a: State; utc: boolean }) {
  if (a.unknown.moves) return <Missing what="Shard moves are not known" why={a.unknown.moves} />;
  return (
    <section aria-labelledby="moves">
      <h2 id="moves">Shard moves</h2>
      {a.moves.length === 0 ? <p class="dim">No shard moves.</p> : (
        <table aria-live="polite">
          <thead><tr><th class="n">Shard</th><th>From</th><th>To</th><th>Phase</th><th>Since</th><th>Message</th></tr></thead>
          <tbody>{a.moves.map((m) => (
            <tr key={`${m.shard} ${m.from} ${m.to}`}>
              <td class="n">{m.shard}</td><td class="name">{m.from ?? "–"}</td><td class="name">{m.to ?? "–"}</td><td>{m.phase}</td>
              <td>{m.since ? clock(Date.parse(m.since), utc) : "not known"}</td><td>{m.message}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}

function Shards({ a }: { a: State }) {
  const s = a.shards;
  if (!s) return <Missing what="Shards are not known" why={a.unknown.shards} />;
  return (
    <details class="box">
      <summary>Shards: {s.captured} of {s.shards} are captured</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Shards">
        <table>
          <thead><tr><th class="n">Shard</th><th class="n">PVs</th><th>Engines</th></tr></thead>
          <tbody>{s.list.map((x) => (
            <tr key={x.shard}>
              <td class="n">{x.shard}</td><td class="n">{count(x.channels)}</td>
              <td>{x.engines.length === 0 ? <strong class="severity-2">no engine</strong> : x.engines.map((e) => (
                <div key={e.engine}><span class="name">{e.engine}</span>: {e.phase}{e.sealing && ", seals"}{e.connected !== undefined && `, ${plural(e.connected, "PV")} connected`}</div>
              ))}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </details>
  );
}

const contents: Record<string, string> = { samples: "raw samples", rollups: "rollups", journal: "journal", other: "directory, marks, metadata, logs" };
const tierName = (t?: string) => (t === undefined ? "" : t === "forever" ? "kept forever" : `kept ${t}`);

function StorageOf({ a }: { a: State }) {
  const s = a.storage;
  return (
    <section aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      {!s && <Missing what="The state of the store is not known" why={a.unknown.storage} />}
      {s && (
        <>
          <p>
            {s.kind} in {s.where}: {bytes(s.bytes)}{(s.replicas ?? 1) > 1 && ` in ${s.replicas} replicas`}.
            {s.disk && ` The disk has ${bytes(s.disk.freeBytes)} free of ${bytes(s.disk.sizeBytes)} (${Math.round(100 * s.disk.freeBytes / s.disk.sizeBytes)} %).`}
          </p>
          <Missing what="Sizes are missing" why={s.missing} />
          <table>
            <caption>What takes the space{s.estimated && "; the division by tiers is an estimate"}</caption>
            <thead><tr><th>Contents</th><th>Tier</th><th class="n">Size</th><th>Part</th></tr></thead>
            <tbody>{s.parts.map((p) => (
              <tr key={p.contents + p.tier} data-part={`${p.contents} ${p.tier ?? ""}`}>
                <td>{contents[p.contents] ?? p.contents}</td><td>{tierName(p.tier)}</td><td class="n">{bytes(p.bytes)}</td>
                <td><meter min={0} max={Math.max(1, s.bytes)} value={p.bytes} aria-label="Part of the archive" /> {s.bytes > 0 ? Math.round(100 * p.bytes / s.bytes) : 0} %</td>
              </tr>
            ))}</tbody>
          </table>
          {s.nodes && (
            <table>
              <caption>Cassandra nodes</caption>
              <thead><tr><th>Node</th><th>State</th><th class="n">Size</th></tr></thead>
              <tbody>{s.nodes.map((n) => (
                <tr key={n.address}>
                  <td class="name">{n.address}</td><td>{n.up ? "up" : <strong class="severity-2">down</strong>}</td>
                  <td class="n">{n.bytes === undefined ? "did not answer" : bytes(n.bytes)}</td>
                </tr>
              ))}</tbody>
            </table>
          )}
        </>
      )}
    </section>
  );
}

function ForecastOf({ a }: { a: State }) {
  const f = a.forecast;
  return (
    <section aria-labelledby="forecast">
      <h2 id="forecast">Forecast</h2>
      {!f ? <Missing what="There is no forecast" why={a.unknown.forecast} /> : (
        <>
          <p>
            If all PVs continue as now, raw samples take {bytes(f.bytesPerDay)} more per day in all replicas.{" "}
            {f.limit && f.limitBytes !== undefined && (f.reachedInDays !== undefined
              ? <strong>The archive reaches {f.limit}, {bytes(f.limitBytes)}, in {days(f.reachedInDays)}.</strong>
              : `The archive does not reach ${f.limit}, ${bytes(f.limitBytes)}, within ten years.`)}
            {f.settlesAtBytes !== undefined && ` It stops growing at ${bytes(f.settlesAtBytes)}.`}
            <small> Measured on {plural(f.measuredPVs, "PV")}; rollups are not counted.</small>
          </p>
          <table>
            <thead><tr><th>Tier</th><th class="n">Samples</th><th class="n">Bytes per sample</th><th class="n">Per day</th><th class="n">Now</th><th class="n">Settles at</th></tr></thead>
            <tbody>{f.tiers.map((t) => (
              <tr key={t.tier}>
                <td>{tierName(t.tier)}</td><td class="n">{rate(t.samplesPerSecond)}</td><td class="n">{t.bytesPerSample.toPrecision(2)}</td><td class="n">{bytes(t.bytesPerDay)}</td>
                <td class="n">{t.bytes === undefined ? "not known" : bytes(t.bytes)}</td><td class="n">{t.fullBytes === undefined ? "grows forever" : bytes(t.fullBytes)}</td>
              </tr>
            ))}</tbody>
          </table>
        </>
      )}
    </section>
  );
}

function LossTable({ l, utc }: { l: Losses; utc: boolean }) {
  return (
    <>
      {!l.complete && <p class="missing">There may be more losses: the page knows those of {count(l.read)} of {plural(l.pvs, "PV")}. {l.incomplete}</p>}
      {l.causes.length === 0 ? <p class="fine">{l.complete && <span aria-hidden="true">✔ </span>}No losses are recorded for {plural(l.read, "PV")}.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-labelledby="losses">
          <table>
            <thead><tr><th>Cause</th><th class="n">Samples</th><th class="n">Marks</th><th class="n">PVs</th><th>First and last</th><th>Most affected</th></tr></thead>
            <tbody>{l.causes.map((c) => (
              <tr key={c.cause} data-cause={c.cause}>
                <td class="wide"><strong>{c.cause}</strong><br />{c.meaning}<br /><span class="dim">What to do: </span>{c.advice}</td>
                <td class="n">{c.unknown ? `at least ${count(c.samples)}` : count(c.samples)}</td><td class="n">{count(c.marks)}</td><td class="n">{count(c.pvs)}</td>
                <td>{clock(Date.parse(c.first), utc)}<br />{clock(Date.parse(c.last), utc)}</td>
                <td>{c.worst.slice(0, 5).map((w) => <div key={w.pv}><PV name={w.pv} /> {count(w.samples)}</div>)}{c.pvs > 5 && <small>and {plural(c.pvs - 5, "PV")} more</small>}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
