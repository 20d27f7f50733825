// The token of the user. The tab keeps it until it is closed; it is never in a URL.
//
//	request ── 401 ──▶ ask ──▶ the dialog ──▶ use: the waiting requests are sent again
//	                                     └──▶ decline: they fail

import { useEffect, useState } from "preact/hooks";

const key = "varve.token";

export interface Access {
  /** The token, or "". */
  token: string;
  /** Whether the archive takes tokens at all. */
  taken: boolean;
  /** The number of times that the user changed the token. Pages load again after each change. */
  changes: number;
  /** Why the page asks for a token: a text, or "" if the user wants to enter one. It is undefined while nobody asks. */
  why?: string;
}

function stored(): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return ""; // the browser keeps nothing for this page
  }
}

function store(token: string) {
  try {
    if (token) sessionStorage.setItem(key, token);
    else sessionStorage.removeItem(key);
  } catch {
    // as above: the token is lost when the page is loaded again
  }
}

let access: Access = { token: stored(), taken: false, changes: 0 };
let decided = { turn: 0, again: false }; // the last decision of the user
let waiting: ((again: boolean) => void)[] = [];
const listeners = new Set<(a: Access) => void>();

function set(part: Partial<Access>) {
  access = { ...access, ...part };
  for (const changed of listeners) changed(access);
}

export const getAccess = () => access;

/** useAccess returns the token, and renders again when something changes. */
export function useAccess(): Access {
  const [now, setNow] = useState(access);
  useEffect(() => {
    listeners.add(setNow);
    setNow(access);
    return () => void listeners.delete(setNow);
  }, []);
  return now;
}

/** sending returns the headers of a request, and the turn in which it is sent. */
export function sending(more?: HeadersInit): { headers: Headers; turn: number } {
  const headers = new Headers(more);
  headers.set("X-Requested-With", "fetch"); // the archive then does not make the browser ask for a password
  if (access.token) headers.set("Authorization", `Bearer ${access.token}`);
  return { headers, turn: decided.turn };
}

/** note notes from an answer that the archive takes tokens. */
export function note(res: Response) {
  if (!access.taken && /\bauthorization\b/i.test(res.headers.get("Vary") ?? "")) set({ taken: true });
}

/** asksForToken reports whether the archive, and not a proxy, wants a token. */
export const asksForToken = (res: Response) => res.status === 401 && (res.headers.get("WWW-Authenticate") ?? "").includes('realm="Varve"');

/** ask asks the user for a token. It returns whether to send a request of a turn again. */
export function ask(why: string, turn: number, signal?: AbortSignal | null): Promise<boolean> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (turn !== decided.turn) return Promise.resolve(decided.again); // the user has decided since
  set({ why });
  return new Promise((done, fail) => {
    waiting.push(done);
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
}

function decide(again: boolean) {
  decided = { turn: decided.turn + 1, again };
  const all = waiting;
  waiting = [];
  for (const done of all) done(again);
}

/** open lets the user enter, change or forget the token. */
export const open = () => set({ why: "" });

/** use uses a token. If no request waits for it, the page begins anew with what the token may read. */
export function use(token: string) {
  const asked = waiting.length > 0;
  store(token);
  set({ token, why: undefined, changes: access.changes + (asked ? 0 : 1) });
  decide(true);
}

export function decline() {
  set({ why: undefined });
  decide(false);
}

/** forget removes the token, and what the page has read with it. */
export function forget() {
  store("");
  set({ token: "", why: undefined, changes: access.changes + 1 });
  decide(true); // the archive says whether it still answers
}
