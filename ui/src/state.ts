// The state of a plot, and its form in the URL:
//
//   ?pv=SR:I&pv=SR:I -1d&from=-1h&to=now&utc=1&lane=1:SR:I&log=1:mA&y=h:0:20&limits=SR:I&at=T&window=T1/T2&changes=SR01*&show=xy&of=SR:I&of=SR:V
//
// pv is a trace: a PV, or a PV and how much later than its own time it is drawn. lane is the number of
// the lane of a trace that is not in the lane of its unit. log and y are for axes: their keys are the
// unit and, in a lane with a number, that number before it. For the colours of a heat map, log is colours:PV.
//
// from and to are "now", times before now such as -15m, or ISO 8601 in UTC. Everything that the
// plot shows follows from the URL, so a link shows the same plot.

export interface State {
  /** The traces: see traces.ts. */
  pvs: string[];
  from: string;
  to: string;
  utc: boolean;
  /** Numbers of the lanes of traces that are not in the lane of their unit. */
  lanes: Record<string, number>;
  /** Keys of the logarithmic axes and colours. */
  log: string[];
  /** Ranges of the axes with a fixed range, by key. */
  fixed: Record<string, [number, number]>;
  /** Traces whose alarm limits are drawn. */
  limits: string[];
  /** The time of the arrays that are shown beside their heat maps, in ms since 1970. Without it, they are the last ones. */
  at?: number;
  /** The selected window. */
  window?: Range;
  /** The PVs of which those that changed in the window are listed: a pattern, "" for all, or "group NAME". */
  changes?: string;
  /** The distribution of values in the window that is shown. */
  show?: Distribution;
}

/** Distribution is a histogram of one trace, or an x–y plot of two. Traces that are missing are chosen by the page. */
export interface Distribution {
  kind: "histogram" | "xy";
  of: string[];
}

export interface Range {
  /** Milliseconds since 1970. */
  lo: number;
  hi: number;
}

/** Shortest and longest range, in ms. */
export const minSpan = 10;
export const maxSpan = 200 * 365 * 86400e3;
const earliest = Date.UTC(1901, 1);
const latest = Date.UTC(2199, 11);

/** maxPVs is how many PVs a page plots. */
export const maxPVs = 32;

export function parseState(search: string): State {
  const q = new URLSearchParams(search);
  const pvs = [...new Set(q.getAll("pv").map((pv) => pv.trim()).filter(Boolean))].slice(0, maxPVs);
  const log = q.getAll("log");
  let from = q.get("from") ?? "-1h";
  let to = q.get("to") ?? "now";
  const r = resolve({ from, to }, Date.now());
  if (!r) {
    from = "-1h";
    to = "now";
  }
  const window = parseWindow(q.get("window"));
  return {
    pvs, from, to, utc: q.get("utc") === "1", lanes: parseLanes(q, pvs), log, fixed: parseFixed(q.getAll("y"), log),
    limits: pvs.filter((pv) => q.getAll("limits").includes(pv)),
    at: parseAt(q.get("at")), window, changes: window && (q.get("changes") ?? undefined), show: window && parseShow(q, pvs),
  };
}

/** parseShow leaves out traces that are not plotted. */
function parseShow(q: URLSearchParams, pvs: string[]): Distribution | undefined {
  const kind = q.get("show");
  if ((kind !== "histogram" && kind !== "xy") || pvs.length === 0) return undefined;
  return { kind, of: q.getAll("of").filter((pv) => pvs.includes(pv)).slice(0, 2) };
}

/** parseLanes parses numbers of lanes. In older links, alone is a PV with a lane of its own. */
function parseLanes(q: URLSearchParams, pvs: string[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const text of q.getAll("lane")) {
    const m = /^(\d{1,3}):(.+)$/.exec(text);
    if (m && pvs.includes(m[2])) out[m[2]] = Number(m[1]);
  }
  for (const pv of q.getAll("alone")) if (pvs.includes(pv)) out[pv] ??= nextLane(out);
  return out;
}

/** nextLane returns the number of a new lane. */
export const nextLane = (lanes: Record<string, number>) => Math.max(0, ...Object.values(lanes)) + 1;

/** parseFixed parses KEY:LOW:HIGH. It leaves out ranges that an axis cannot have. */
function parseFixed(texts: string[], log: string[]): Record<string, [number, number]> {
  const out: Record<string, [number, number]> = {};
  for (const text of texts) {
    const m = /^(.*):([^:]+):([^:]+)$/.exec(text);
    if (m && !wrongAxis(Number(m[2]), Number(m[3]), log.includes(m[1]))) out[m[1]] = [Number(m[2]), Number(m[3])];
  }
  return out;
}

/** wrongAxis says why an axis cannot have a range, or returns "". */
export function wrongAxis(lo: number, hi: number, log: boolean): string {
  if (!Number.isFinite(lo) || !Number.isFinite(hi)) return "Write two numbers.";
  if (lo >= hi) return "The first number must be smaller than the second one.";
  return log && lo <= 0 ? "A logarithmic axis has only numbers above 0." : "";
}

/** parseAt parses a time in ISO 8601 in UTC. */
const parseAt = (text: string | null) => (text?.endsWith("Z") ? moment(text, 0) : undefined);

/** parseWindow parses two times in ISO 8601 in UTC with a slash between them. */
function parseWindow(text: string | null): Range | undefined {
  const [from, to, more] = (text ?? "").split("/");
  if (!from.endsWith("Z") || !to?.endsWith("Z") || more !== undefined) return undefined;
  return resolve({ from, to }, 0);
}

export function formatState(s: State): string {
  const q = new URLSearchParams();
  for (const pv of s.pvs) q.append("pv", pv);
  q.set("from", s.from);
  q.set("to", s.to);
  if (s.utc) q.set("utc", "1");
  for (const pv of s.pvs) if (s.lanes[pv]) q.append("lane", `${s.lanes[pv]}:${pv}`);
  for (const key of s.log) q.append("log", key);
  for (const [key, [lo, hi]] of Object.entries(s.fixed)) q.append("y", `${key}:${lo}:${hi}`);
  for (const pv of s.limits) q.append("limits", pv);
  if (s.at !== undefined) q.set("at", new Date(s.at).toISOString());
  if (s.window) {
    q.set("window", Object.values(absolute(s.window)).join("/"));
    if (s.changes !== undefined) q.set("changes", s.changes);
    if (s.show) {
      q.set("show", s.show.kind);
      for (const pv of s.show.of) q.append("of", pv);
    }
  }
  return "?" + q.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
}

const units: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3, y: 365 * 86400e3 };

/** moment returns the time that a text means, in ms since 1970, or undefined. */
export function moment(text: string, now: number): number | undefined {
  text = text.trim();
  if (text === "now") return now;
  const m = /^-(\d+(?:\.\d+)?)([smhdwy])$/.exec(text);
  if (m) return now - Number(m[1]) * units[m[2]];
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text)) return undefined;
  const t = Date.parse(text);
  return Number.isNaN(t) ? undefined : t;
}

export function resolve(s: { from: string; to: string }, now: number): Range | undefined {
  const lo = moment(s.from, now);
  const hi = moment(s.to, now);
  if (lo === undefined || hi === undefined || hi - lo < minSpan || lo < earliest || hi > latest) return undefined;
  return { lo, hi };
}

/** absolute returns the texts of a range, moved or widened so that the server accepts it. */
export function absolute(r: Range): { from: string; to: string } {
  const middle = (r.lo + r.hi) / 2;
  const half = Math.min(Math.max(r.hi - r.lo, minSpan), maxSpan) / 2;
  const lo = Math.max(Math.round(middle - half), earliest);
  const hi = Math.min(Math.max(Math.round(middle + half), lo + minSpan), latest);
  return { from: new Date(lo).toISOString(), to: new Date(hi).toISOString() };
}

export const isLive = (s: State) => s.to === "now";
