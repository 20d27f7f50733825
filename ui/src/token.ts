// The token of the user. The tab keeps it until it is closed; it is never in a URL.
//
//	request ── 401 ──▶ ask ──▶ renew, if the user has logged in ──▶ the waiting requests are sent again
//	                    └────▶ the dialog ──▶ use ──────────────────┘
//	                                     └──▶ decline: they fail

import { useEffect, useState } from "preact/hooks";

const key = "varve.token";
const loginKey = "varve.loggedIn";

/** Session is a token that the user got by logging in. */
export interface Session {
  token: string;
  /** Gets a new token without the user, if the issuer allows it. */
  renew?: () => Promise<Session>;
}

export interface Access {
  /** The token, or "". */
  token: string;
  /** Whether the user got the token by logging in. */
  loggedIn: boolean;
  /** Whether the archive takes tokens at all. */
  taken: boolean;
  /** The number of times that the user changed the token. Pages load again after each change. */
  changes: number;
  /** Why the page asks for a token: a text, or "" if the user wants to enter one. It is undefined while nobody asks. */
  why?: string;
}

function stored(name: string): string {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return ""; // the browser keeps nothing for this page
  }
}

function store(name: string, text: string) {
  try {
    if (text) sessionStorage.setItem(name, text);
    else sessionStorage.removeItem(name);
  } catch {
    // as above: the token is lost when the page is loaded again
  }
}

let access: Access = { token: stored(key), loggedIn: stored(loginKey) !== "", taken: false, changes: 0 };
let renew: Session["renew"];
let renewed = 0; // when a token was last renewed, in ms
let renewing: Promise<void> | undefined;
let decided = { turn: 0, again: false }; // the last decision of the user
let waiting: ((again: boolean) => void)[] = [];
const listeners = new Set<(a: Access) => void>();

function set(part: Partial<Access>) {
  access = { ...access, ...part };
  store(key, access.token);
  store(loginKey, access.token && access.loggedIn ? "yes" : "");
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
export async function ask(why: string, turn: number, signal?: AbortSignal | null): Promise<boolean> {
  if (turn === decided.turn) await tryRenewal();
  if (signal?.aborted) throw signal.reason;
  if (turn !== decided.turn) return decided.again; // the user has decided since, or the token is new
  set({ why });
  return new Promise((done, fail) => {
    waiting.push(done);
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
}

/** The shortest time between two renewals, in ms: the archive may refuse the new token, too. */
const renewEvery = 10_000;

/** tryRenewal gets a new token, if the user has logged in. Requests that were refused at the same time share it. */
async function tryRenewal(): Promise<void> {
  if (!renewing && (!renew || Date.now() - renewed < renewEvery)) return;
  renewing ??= renew!().then(adopt, () => { renew = undefined; }).finally(() => { // without renew, the user must log in
    renewed = Date.now();
    renewing = undefined;
  });
  await renewing;
}

/** adopt uses the token of a login. */
export function adopt(session: Session) {
  renew = session.renew;
  set({ token: session.token, loggedIn: true, why: undefined });
  decide(true);
}

function decide(again: boolean) {
  decided = { turn: decided.turn + 1, again };
  const all = waiting;
  waiting = [];
  for (const done of all) done(again);
}

/** open lets the user enter, change or forget the token. */
export const open = () => set({ why: "" });

/** use uses a token that the user entered. If no request waits for it, the page begins anew with what the token may
 * read. */
export function use(token: string) {
  const asked = waiting.length > 0;
  renew = undefined;
  set({ token, loggedIn: false, why: undefined, changes: access.changes + (asked ? 0 : 1) });
  decide(true);
}

export function decline() {
  set({ why: undefined });
  decide(false);
}

/** forget removes the token, and what the page has read with it. leaving is true if the user goes to another page. */
export function forget(leaving = false) {
  renew = undefined;
  set({ token: "", loggedIn: false, why: undefined, changes: access.changes + (leaving ? 0 : 1) });
  decide(!leaving); // the archive says whether it still answers
}
