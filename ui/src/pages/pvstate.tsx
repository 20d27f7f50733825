// The state, the losses and the settings of a PV.

import { follow, href } from "../router";
import { clock } from "../time";

export interface Channel {
  pv: string;
  aliasOf?: string;
  formerly?: string[];
  aliases?: string[];
  group: string;
  provider: string;
  state: string;
  since?: string;
  cause?: string;
  host?: string;
  engine?: string;
  type?: string;
  count?: number;
  sampling: string;
  retention: { raw: string; rollups?: { every: string; keep: string }[] };
  rate: number;
  connects: number;
  lostConnections: number;
  received: number;
  stored: number;
  pending: number;
  dropped?: Record<string, number>;
  suspected?: number;
  last?: { time: string; value?: unknown; severity: string; status: string };
  givenUp?: { before: string };
}

const time = (text: string) => clock(Date.parse(text), false, 3);
const valueOf = (v: unknown) => {
  if (v === undefined) return "a large value";
  const text = typeof v === "string" ? v : JSON.stringify(v);
  return text.length > 300 ? text.slice(0, 300) + "…" : text;
};

const protocols: Record<string, string> = { ca: "Channel Access", pva: "pvAccess" };

type Fact = [string, string | number | undefined];

function Facts({ facts }: { facts: Fact[] }) {
  return <dl class="facts">{facts.map(([name, v]) => v !== undefined && v !== "" && <div key={name}><dt>{name}</dt><dd>{v}</dd></div>)}</dl>;
}

export function StateOf({ channel: c, notCaptured }: { channel?: Channel; notCaptured?: string }) {
  return (
    <section aria-labelledby="state">
      <h2 id="state">State</h2>
      {notCaptured && <p>Not captured: {notCaptured}.</p>}
      {c && (
        <Facts facts={[
          ["Alias of", c.aliasOf], ["Former names", c.formerly?.join(", ")], ["Aliases", c.aliases?.join(", ")],
          ["State", c.state], ["Since", c.since && time(c.since)], ["Cause", c.cause], ["IOC", c.host], ["Engine", c.engine], ["Protocol", protocols[c.provider] ?? c.provider],
          ["Type", c.type && (c.count && c.count > 1 ? `${c.type}, ${c.count} elements` : c.type)],
          ["Last value", c.last && `${valueOf(c.last.value)} (${c.last.severity}, ${c.last.status})`], ["Last time", c.last && time(c.last.time)],
          ["Samples/s", Number(c.rate.toPrecision(3))], ["Connections", c.connects], ["Lost connections", c.lostConnections],
        ]} />
      )}
    </section>
  );
}

/** Losses is the ledger of the samples that the engine received since it started. */
export function Losses({ channel: c }: { channel: Channel }) {
  return (
    <section aria-labelledby="losses">
      <h2 id="losses">Samples since the engine started</h2>
      <Facts facts={[
        ["Received", c.received], ["Stored", c.stored], ["Not stored yet", c.pending],
        ...Object.entries(c.dropped ?? {}).map(([reason, n]): Fact => [`Dropped: ${reason}`, n]),
        ["Suspected losses at the IOC", c.suspected], ["Deleted early by the disk guard", c.givenUp && `samples before ${time(c.givenUp.before)}`],
      ]} />
    </section>
  );
}

export function Settings({ channel: c }: { channel: Channel }) {
  const rollups = c.retention.rollups?.map((r) => `every ${r.every} for ${r.keep}`).join(", ");
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <p>They come from the group <a href={href("pvs", { group: c.group })} onClick={follow}>{c.group}</a>.</p>
      <Facts facts={[["Sampling", c.sampling], ["Samples are kept", c.retention.raw], ["Rollups", rollups ?? "none"]]} />
    </section>
  );
}
