// What the store holds of a PV.

import { bytes } from "../units";

export interface Storage {
  parts: { contents: string; tier: string; bytes?: number }[];
  missing?: string;
  estimated?: boolean;
}

const kept = (tier: string) => (tier === "forever" ? "kept forever" : `kept ${tier}`);

export function StorageOf({ storage: s }: { storage: Storage }) {
  return (
    <section aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      {s.missing && <p class="missing">The real sizes are larger: {s.missing}.</p>}
      {s.parts.length === 0 ? !s.missing && <p class="dim">The store has no blocks of the PV yet. Samples are put into blocks every 15 minutes by default.</p> : (
        <table>
          <caption>Size in all replicas{s.estimated && ", estimated"}</caption>
          <thead><tr><th scope="col">Contents</th><th scope="col">Tier</th><th scope="col" class="n">Size</th></tr></thead>
          <tbody>{s.parts.map((p) => (
            <tr key={p.contents + p.tier}>
              <td>{p.contents === "samples" ? "raw samples" : "rollups"}</td><td>{kept(p.tier)}</td><td class="n">{p.bytes === undefined ? "not known" : bytes(p.bytes)}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}
