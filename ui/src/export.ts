// Exports what a plot shows: the samples as CSV, Arrow or Parquet, the picture as PNG, and texts that
// read the same samples elsewhere.

import type { Theme } from "./paint";
import type { LaneOf } from "./lanes";
import type { Range } from "./state";
import { clock, zoneName } from "./time";
import { url } from "./api";
import { getAccess } from "./token";

export function samplesURL(pvs: string[], r: Range, format: string): string {
  const q = new URLSearchParams();
  for (const pv of pvs) q.append("pv", pv);
  q.set("from", new Date(Math.round(r.lo)).toISOString());
  q.set("to", new Date(Math.round(r.hi)).toISOString());
  q.set("format", format);
  return url("samples", q);
}

export const fileName = (r: Range, ext: string) => `varve-${new Date(r.lo).toISOString().slice(0, 19).replaceAll(":", "")}.${ext}`;

export type File = "csv" | "arrow" | "parquet";
export type Text = "curl" | "python" | "grafana";
export type Export = File | Text | "png" | "phoebus";

const texts = ["curl", "python", "grafana"];
export const isText = (what: Export): what is Text => texts.includes(what);

/** needsToken finds out whether others than this browser need a token. It sends no cookies and no token. */
export async function needsToken(): Promise<boolean> {
  if (getAccess().token !== "") return true;
  const res = await fetch("api/v1/names?limit=1", { credentials: "omit", cache: "no-store" });
  return res.status === 401 || res.status === 403;
}

/** textFor returns a shell command, a Python program, or a query for Grafana's Prometheus data source.
 * With token, the first two read a token from the environment variable VARVE_TOKEN. */
export function textFor(what: Text, pvs: string[], r: Range, token: boolean): string {
  const at = (format: string) => new URL(samplesURL(pvs, r, format), document.baseURI).href;
  if (what === "curl") return `curl ${token ? '-H "Authorization: Bearer $VARVE_TOKEN" ' : ""}'${at("csv").replaceAll("'", "%27")}'`;
  if (what === "python" && token) {
    return `import os, pandas\ndf = pandas.read_parquet(${JSON.stringify(at("parquet"))}, storage_options={"Authorization": "Bearer " + os.environ["VARVE_TOKEN"]})`;
  }
  if (what === "python") return `import pandas\ndf = pandas.read_parquet(${JSON.stringify(at("parquet"))})`;
  const quoted = (text: string) => JSON.stringify(text);
  if (pvs.length === 1) return `{${quoted(pvs[0])}}`;
  return `{__name__=~${quoted(pvs.map((pv) => pv.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&")).join("|"))}}`;
}

/** picture draws all lanes with their names into a PNG. */
export async function picture(lanes: LaneOf[], r: Range, utc: boolean, theme: Theme): Promise<Blob> {
  const plots = [...document.querySelectorAll<HTMLCanvasElement>(".lane-plot canvas")];
  const px = devicePixelRatio;
  const line = 20 * px;
  const names = lanes.map((l) => l.traces.length * line + line);
  const width = Math.max(...plots.map((c) => c.width));
  const out = document.createElement("canvas");
  out.width = width;
  out.height = plots.reduce((h, c, i) => h + c.height + names[i], 2 * line);
  const ctx = out.getContext("2d")!;
  ctx.fillStyle = theme.surface;
  ctx.fillRect(0, 0, out.width, out.height);
  ctx.textBaseline = "middle";
  ctx.font = `${13 * px}px system-ui, sans-serif`;
  ctx.fillStyle = theme.text;
  ctx.fillText(`${clock(r.lo, utc)}  –  ${clock(r.hi, utc)}  ${zoneName(utc)}`, 16 * px, line);
  let y = 2 * line;
  plots.forEach((canvas, i) => {
    for (const t of lanes[i].traces) {
      ctx.fillStyle = t.color;
      ctx.fillRect(16 * px, y + 5 * px, 14 * px, 10 * px);
      ctx.fillStyle = theme.text;
      const unit = lanes[i].axes[t.axis ?? 0]?.unit;
      ctx.fillText(t.pv + (unit ? `  (${unit})` : ""), 38 * px, y + line / 2);
      y += line;
    }
    ctx.drawImage(canvas, 0, y);
    y += canvas.height + line;
  });
  return new Promise((done, fail) => out.toBlob((b) => (b ? done(b) : fail(new Error("The picture is too large."))), "image/png"));
}

export function download(blob: Blob, name: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}
