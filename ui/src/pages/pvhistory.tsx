// The metadata of a PV over time.

import { clock } from "../time";

export interface Version {
  since: string;
  type?: string;
  count?: number;
  host?: string;
  units?: string;
  precision: number;
  limits?: Record<string, number>;
  labels?: string[];
  properties?: Record<string, string>;
}

export interface History {
  history: Version[];
  missing?: { name: string; cause: string }[];
}

const list = (of: Record<string, unknown> | undefined) => Object.entries(of ?? {}).map(([name, v]) => `${name}: ${v}`).join(", ");

export function HistoryTable({ history: h }: { history: History }) {
  return (
    <section aria-labelledby="history">
      <h2 id="history">Metadata over time</h2>
      {h.history.length === 0 ? <p class="dim">The archive has no metadata in this range.</p> : (
        <div class="wide" tabIndex={0} role="region" aria-label="Metadata over time">
          <table>
            <thead><tr><th scope="col">Since</th><th scope="col">Type</th><th scope="col">IOC</th><th scope="col">Unit</th><th scope="col">Precision</th><th scope="col">Limits</th><th scope="col">States</th><th scope="col">Properties</th></tr></thead>
            <tbody>
              {h.history.toReversed().map((v) => (
                <tr key={v.since}>
                  <td>{clock(Date.parse(v.since), false, 3)}</td><td>{v.type}{v.count && v.count > 1 ? ` [${v.count}]` : ""}</td><td>{v.host}</td><td>{v.units}</td>
                  <td>{v.precision}</td><td>{list(v.limits)}</td><td>{v.labels?.map((l, i) => `${i}: ${l}`).join(", ")}</td><td>{list(v.properties)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {h.missing?.map((m) => <p key={m.name} class="dim">{m.name} has no value: {m.cause}</p>)}
    </section>
  );
}
