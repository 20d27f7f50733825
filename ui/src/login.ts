// Logs in at the OpenID Connect issuer of the archive: the authorization code flow with PKCE.
//
//	begin ──▶ the issuer asks for a password ──▶ /login?code&state ──▶ finish ──▶ the token, and the page as it was
//	  └─ state, nonce, verifier and the page: in sessionStorage ─────────┘
//
// The page is a public client: it has no secret, and only the tab that began a login can finish it. The archive checks
// the signature of the token at each request, so the page compares only what protects the login itself.

import { go, place } from "./router";
import { adopt, forget, type Session } from "./token";

/** Login is the answer of /api/v1/login. */
interface Login {
  issuer: string;
  clientID: string;
  scopes: string[];
  audience?: string;
}

/** Issuer is what the issuer says about itself. */
interface Issuer {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  end_session_endpoint?: string;
  code_challenge_methods_supported?: string[];
}

/** Pending is a login that has begun. */
interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** The page to show after the login. */
  back: string;
}

interface Tokens {
  id_token?: string;
  access_token?: string;
  refresh_token?: string;
  error?: string;
  error_description?: string;
}

const key = "varve.login";
const patience = 20_000;

let known: Promise<Login | undefined> | undefined;

/** loginOf returns where users log in, or undefined if the archive names no issuer. */
export function loginOf(): Promise<Login | undefined> {
  known ??= fetch("api/v1/login", { cache: "no-store", signal: AbortSignal.timeout(patience) })
    .then((res) => (res.ok ? (res.json() as Promise<Partial<Login>>) : Promise.reject(new Error(`The archive answers ${res.status} instead of naming the issuer.`))))
    .then((l) => (l.issuer ? (l as Login) : undefined));
  known.catch(() => (known = undefined)); // the next call tries again
  return known;
}

export const hostOf = (url: string) => new URL(url).host;

/** Without parameters, the page of this path says that the user is logged out. */
const redirect = () => new URL("./login", document.baseURI).href;

const encode = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => encode(crypto.getRandomValues(new Uint8Array(32)));

/** plain returns a text of the issuer for people. Preact shows it as text, never as HTML. */
const plain = (text: unknown) => String(text).slice(0, 300);

/** safe returns a URL of the issuer to which the browser may go or send a code. */
function safe(name: string, text: unknown): URL {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.protocol === "https:" || (url.protocol === "http:" && /^(localhost|127\.0\.0\.1)$/.test(url.hostname)))) return url;
  throw new Error(`The issuer's ${name} ${plain(text)} is not a URL that begins with https.`);
}

async function answer<T>(what: string, url: string | URL, init: RequestInit = {}): Promise<T> {
  let res: Response;
  try {
    res = await fetch(url, { cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(patience), ...init });
  } catch {
    throw new Error(`${what}: ${new URL(url).host} does not answer this page. The issuer must allow the origin ${location.origin} (CORS).`);
  }
  try {
    return (await res.json()) as T;
  } catch {
    throw new Error(`${what}: ${new URL(url).host} answers ${res.status} without JSON.`);
  }
}

/** discover returns what the issuer says about itself. */
async function discover(login: Login): Promise<Issuer> {
  const doc = await answer<Issuer>("Reading the settings of the issuer", `${login.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (doc.issuer !== login.issuer) throw new Error(`The settings of ${login.issuer} are those of the issuer ${plain(doc.issuer)}.`);
  safe("authorization_endpoint", doc.authorization_endpoint);
  if (safe("token_endpoint", doc.token_endpoint).origin !== new URL(login.issuer).origin) {
    throw new Error(`The issuer's token_endpoint ${plain(doc.token_endpoint)} is not at the origin of the issuer, so this page may not connect to it.`);
  }
  const methods = doc.code_challenge_methods_supported;
  if (methods && !methods.includes("S256")) throw new Error("The issuer does not support PKCE with the method S256.");
  return doc;
}

async function settings(): Promise<Login> {
  const login = await loginOf();
  if (!login) throw new Error("The archive names no issuer at which to log in.");
  return login;
}

/** begin goes to the page of the issuer. anew makes it ask for the password even if it knows the user. */
export async function begin(anew: boolean, back = `./${place().page}${place().search}`): Promise<void> {
  if (!crypto.subtle) throw new Error("Browsers let only pages log in whose URL begins with https. Use https, or enter a token.");
  const login = await settings();
  const { authorization_endpoint } = await discover(login);
  const pending: Pending = { state: random(), nonce: random(), verifier: random(), back };
  const challenge = encode(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier))));
  const to = new URL(authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: "code", client_id: login.clientID, redirect_uri: redirect(), scope: login.scopes.join(" "), state: pending.state, nonce: pending.nonce,
    code_challenge: challenge, code_challenge_method: "S256", ...(login.audience && { audience: login.audience }), ...(anew && { prompt: "login" }),
  })) to.searchParams.set(name, value);
  sessionStorage.setItem(key, JSON.stringify(pending));
  location.assign(to);
}

/** pending returns the login that this tab has begun, and forgets it: a code is used once. */
function pending(): Pending | undefined {
  try {
    const p = JSON.parse(sessionStorage.getItem(key) ?? "null") as Pending | null;
    sessionStorage.removeItem(key);
    return p ?? undefined;
  } catch {
    return undefined;
  }
}

/** LoginError is why a login failed, with the page to which the user wanted to return. */
export class LoginError extends Error {
  constructor(message: string, readonly back = "./") {
    super(message);
  }
}

/** finish ends the login with the answer in the URL of the page. */
export async function finish(search: string): Promise<void> {
  const q = new URLSearchParams(search);
  const p = pending();
  history.replaceState(null, "", "./login"); // the code must not stay in the history
  if (!p || q.get("state") !== p.state) throw new LoginError("This tab has not begun the login that the issuer answers, or has finished it already.", p?.back);
  try {
    const login = await settings();
    const from = q.get("iss");
    if (from !== null && from !== login.issuer) throw new Error(`The answer comes from the issuer ${plain(from)} instead of ${login.issuer}.`);
    if (q.has("error")) throw new Error(`The issuer refused the login: ${refusal(q.get("error"), q.get("error_description"))}.`);
    const code = q.get("code");
    if (!code) throw new Error("The answer of the issuer has no code.");
    const tokens = await exchange(login, { grant_type: "authorization_code", code, redirect_uri: redirect(), code_verifier: p.verifier });
    checkID(login, p.nonce, tokens.id_token);
    adopt(session(login, tokens));
  } catch (err) {
    throw new LoginError((err as Error).message, p.back);
  }
  go(p.back, true);
}

const refusal = (error: unknown, description: unknown) => plain(error) + (description ? ` (${plain(description)})` : "");

/** exchange gets tokens for a code or for a refresh token. */
async function exchange(login: Login, grant: Record<string, string>): Promise<Tokens> {
  const { token_endpoint } = await discover(login);
  const tokens = await answer<Tokens>("Getting a token", token_endpoint, { method: "POST", body: new URLSearchParams({ ...grant, client_id: login.clientID }) });
  if (tokens.error) throw new Error(`The issuer gives no token: ${refusal(tokens.error, tokens.error_description)}.`);
  return tokens;
}

/** checkID refuses an ID token of another login. */
function checkID(login: Login, nonce: string, token = "") {
  let claims: { iss?: string; aud?: string | string[]; nonce?: string } = {};
  try {
    claims = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))) as typeof claims;
  } catch {
    throw new Error("The issuer gives no ID token.");
  }
  if (claims.iss !== login.issuer || ![claims.aud].flat().includes(login.clientID) || claims.nonce !== nonce) {
    throw new Error("The ID token is not of this login.");
  }
}

/** session returns the token for the archive, and what renews it. The page keeps a refresh token only in memory:
 * a duplicated tab has the same session storage, and a refresh token may be used only once. */
function session(login: Login, tokens: Tokens): Session {
  const token = login.audience ? tokens.access_token : tokens.id_token;
  if (!token) throw new Error("The issuer gives no token for the archive.");
  const refresh = tokens.refresh_token;
  return {
    token,
    renew: refresh ? async () => {
      const next = await exchange(login, { grant_type: "refresh_token", refresh_token: refresh });
      return session(login, { refresh_token: refresh, ...next });
    } : undefined,
  };
}

/** logOut forgets the token, and ends the session at the issuer if the issuer lets a page do so. */
export async function logOut(): Promise<void> {
  const login = await loginOf().catch(() => undefined);
  const doc = login && (await discover(login).catch(() => undefined));
  forget(true);
  if (!login || !doc?.end_session_endpoint) return go("./login");
  const to = safe("end_session_endpoint", doc.end_session_endpoint);
  to.searchParams.set("client_id", login.clientID);
  to.searchParams.set("post_logout_redirect_uri", redirect());
  location.assign(to);
}
