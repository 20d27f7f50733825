// Requests to the archive. URLs are relative to the page, because it may be behind a path prefix.

import { decodeHeat, type Heat } from "./heat";
import { decode, type Series } from "./series";
import { ask, asksForToken, note, sending } from "./token";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    /** Seconds after which the request may be repeated, or 0 if that is of no use. */
    readonly retry: number,
  ) {
    super(message);
  }
}

export const url = (path: string, q: URLSearchParams) => `api/v1/${path}?${q.toString()}`.replace(/\?$/, "");

/** patience is how long an answer may take from the request to its end, in ms. Live updates end after a minute. */
const patience = 90_000;

/** request sends a request with the token of the user, and returns the answer if it is good. If the
 * archive wants a token, it waits for the user, and sends the request again. A slow answer, such as a file,
 * may take any time. */
export async function request(path: string, init: RequestInit = {}, slow = false): Promise<Response> {
  for (;;) {
    const { headers, turn } = sending(init.headers);
    let res: Response;
    try {
      const signals = [...(init.signal ? [init.signal] : []), ...(slow ? [] : [AbortSignal.timeout(patience)])];
      res = await fetch(path, { cache: "no-store", ...init, headers, signal: AbortSignal.any(signals) });
    } catch (err) {
      if (init.signal?.aborted) throw err;
      throw new ApiError("The archive does not answer.", 0, 3);
    }
    note(res);
    if (res.ok) return res;
    const err = await refusal(res);
    if (!asksForToken(res) || !(await ask(err.message, turn, init.signal))) throw err;
  }
}

/** refusal returns the error in an answer. */
async function refusal(res: Response): Promise<ApiError> {
  let text = `${res.status} ${res.statusText}`;
  try {
    text = ((await res.json()) as { error?: string }).error ?? text;
  } catch {
    // a proxy answered, not the archive
  }
  const retry = Number(res.headers.get("Retry-After") ?? 0);
  return new ApiError(text, res.status, retry || (res.status === 429 || res.status >= 502 ? 5 : 0));
}

const cutOff = () => new ApiError("The archive stopped in the middle of its answer.", 0, 3);

const iso = (ms: number) => new Date(ms).toISOString();

/** readBinary reads an answer in binary. path is relative to /api/v1. */
async function readBinary<T>(path: string, q: URLSearchParams, signal: AbortSignal, decode: (buf: ArrayBuffer) => T): Promise<T> {
  q.set("format", "binary");
  const res = await request(url(path, q), { signal });
  try {
    return decode(await res.arrayBuffer());
  } catch (err) {
    if (signal.aborted) throw err;
    throw cutOff();
  }
}

/** readHeat reads the arrays of a PV for a heat map that is drawn later, by ms. */
export const readHeat = (pv: string, lo: number, hi: number, points: number, cells: number, by: number, signal: AbortSignal): Promise<Heat | undefined> =>
  readBinary("arrays", new URLSearchParams({ pv, from: iso(lo), to: iso(hi), points: String(points), cells: String(cells) }), signal, (buf) => decodeHeat(buf, by));

/** readSeries reads a PV for a plot. */
export const readSeries = (pv: string, lo: number, hi: number, points: number, samples: number, signal: AbortSignal): Promise<Series> =>
  readBinary("bins", new URLSearchParams({ pv, from: iso(lo), to: iso(hi), points: String(points), samples: String(samples) }), signal, decode);

/** getJSON reads an answer in JSON. path is relative to /api/v1. */
export async function getJSON<T>(path: string, q: URLSearchParams, init: RequestInit = {}): Promise<T> {
  const res = await request(url(path, q), init);
  try {
    return (await res.json()) as T;
  } catch (err) {
    if (init.signal?.aborted) throw err;
    throw cutOff();
  }
}

export interface Cause {
  time: string;
  kind: string;
  text?: string;
  writer: string;
}

export interface Gap {
  from?: string;
  to?: string;
  kind: string;
  causes?: Cause[];
  more?: number;
  writer?: string;
  text?: string;
}

export interface Loss {
  from: string;
  to?: string;
  reason: string;
  count?: number;
  text?: string;
  writer: string;
}

export interface Gaps {
  gaps: Gap[];
  losses: Loss[];
  leftOutFrom?: string;
}

export async function readGaps(pv: string, lo: number, hi: number, signal: AbortSignal): Promise<Gaps> {
  return (await getJSON<{ pvs: Gaps[] }>("gaps", new URLSearchParams({ pv, from: iso(lo), to: iso(hi) }), { signal })).pvs[0];
}

export interface Names {
  names: string[];
  next?: string;
  /** The names are similar to the text, but do not contain it. */
  similar?: boolean;
  /** The descriptions of names, if they are known. */
  descriptions?: Record<string, string>;
  /** Why PVs are missing. */
  incomplete?: string;
}

/** search finds names that contain a text in upper or lower case, or similar ones if there are none. */
export async function search(text: string, signal: AbortSignal): Promise<Names> {
  const pv = /[*?]/.test(text) ? text : `*${text}*`;
  const names = (q: Record<string, string>) => getJSON<Names>("names", new URLSearchParams(q), { signal });
  const found = await names({ pv, ignoreCase: "true", limit: "100" });
  if (found.names.length > 0 || /[*?]/.test(text)) return found;
  return { ...(await names({ near: text, limit: "8" })), similar: true };
}

/** searchDescriptions finds PVs whose descriptions contain all words of a text. */
export const searchDescriptions = (text: string, signal: AbortSignal): Promise<Names> =>
  getJSON<Names>("names", new URLSearchParams({ description: text, limit: "50" }), { signal });

export interface Reason {
  kind: string;
  score: number;
  before: number;
  after: number;
  normal: number;
  state?: number;
  text?: string;
}

export interface Change {
  pv: string;
  score: number;
  units?: string;
  labels?: string[];
  description?: string;
  reasons: Reason[];
}

export interface Changes {
  pvs: number;
  compared: number;
  tooLate?: number;
  failed?: number;
  error?: string;
  changed: number;
  changes: Change[];
}

/** readChanges ranks the PVs that changed most in a window. scope is a pattern, or "group NAME". */
export async function readChanges(scope: string, lo: number, hi: number, signal: AbortSignal): Promise<Changes> {
  const q = new URLSearchParams({ from: iso(lo), to: iso(hi) });
  const group = /^group\s+(\S+)$/.exec(scope);
  if (group) q.set("group", group[1]);
  else if (scope) q.set("pv", scope);
  return getJSON<Changes>("changes", q, { signal });
}

/** serverOffset returns how much the archive's clock is ahead of the browser's, in ms. */
export async function serverOffset(): Promise<number> {
  const res = await request("healthz");
  const at = Date.parse(res.headers.get("Date") ?? "");
  const offset = at - Date.now();
  return Number.isNaN(offset) || Math.abs(offset) < 2000 ? 0 : offset; // the header counts seconds
}
