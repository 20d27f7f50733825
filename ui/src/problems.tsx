// What is wrong, in words, and what to do about it.

import type { Polled } from "./poll";
import { href, follow } from "./router";
import { clock } from "./time";
import { open, useAccess } from "./token";

export interface Problem {
  severity: "error" | "warning" | "info";
  pv?: string;
  text: string;
  advice?: string;
}

const words = { error: "Error", warning: "Warning", info: "Note" };
const signs = { error: "✖", warning: "▲", info: "ℹ" };

export function Problems({ list, none, more }: { list: Problem[]; none: string; more?: number }) {
  if (list.length === 0) return <p class="fine"><span aria-hidden="true">✔ </span>{none}</p>;
  return (
    <ul class="problems">
      {list.map((p, i) => (
        <li key={i} class={p.severity}>
          <strong><span aria-hidden="true">{signs[p.severity]} </span>{words[p.severity]}: </strong>
          {p.pv && <><PV name={p.pv} />: </>}
          {p.text}
          {p.advice && <p><span class="dim">What to do: </span>{p.advice}</p>}
        </li>
      ))}
      {more ? <li class="dim">{more} more</li> : null}
    </ul>
  );
}

/** PV is a link to the page of a PV. */
export const PV = ({ name }: { name: string }) => <a class="name" href={href("pv", { pv: name })} onClick={follow}>{name}</a>;

/** Trouble says why the page does not show the present. */
export function Trouble({ of, utc }: { of: Polled<unknown>; utc: boolean }) {
  const { taken, loggedIn } = useAccess();
  if (!of.error) return null;
  return (
    <p class="banner" role="alert">
      {of.error.message}
      {of.data !== undefined && of.at && ` The page shows the state of ${clock(of.at, utc)}.`}
      {of.wait > 0 && ` It tries again in ${Math.ceil(of.wait)} s.`}{" "}
      <button type="button" onClick={of.retry}>Try now</button>
      {of.error.status === 403 && taken && <>{" "}<button type="button" onClick={open}>{loggedIn ? "Log in as somebody else" : "Use another token"}</button></>}
    </p>
  );
}

/** Missing says why something is not shown. */
export const Missing = ({ what, why }: { what: string; why?: string }) => (why ? <p class="missing">{what}: {why}</p> : null);
