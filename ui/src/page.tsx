// The frame of all pages: the bar with the navigation, the heading and the focus.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { nav } from "./nav";
import { follow, lastOf, usePlace } from "./router";
import type { Look } from "./theme";
import { TokenButton } from "./tokendialog";

/** Top is the bar with the navigation. Its children, such as a search box, come after the links. */
export function Top({ look, children }: { look: Look; children?: ComponentChildren }) {
  const { page } = usePlace();
  return (
    <header class="top">
      <a class="brand" href="./" aria-label="Varve: start anew">Varve</a>
      <nav aria-label="Pages">
        {nav.map((p) => p.title && (
          <a key={p.name} href={lastOf(p.name)} aria-current={p.name === page ? "page" : undefined} onClick={follow}>{p.title}</a>
        ))}
      </nav>
      {children}
      <span class="space" />
      <TokenButton />
      <a href="api/" class="quiet">API</a>
      <button type="button" class="quiet" onClick={look.toggle} aria-label={look.mode === "dark" ? "Light colours" : "Dark colours"}>{look.mode === "dark" ? "☀" : "☾"}</button>
    </header>
  );
}

interface PageProps {
  look: Look;
  /** The heading, which is also the title of the window. */
  title: string;
  /** loading, ready, failed or empty: tests wait for it. */
  state: string;
  /** What comes after the links of the navigation. */
  top?: ComponentChildren;
  children?: ComponentChildren;
}

// Whether the user went from one page to another. The focus then moves to the new page, so that screen
// readers say where the user is. The first page leaves it where the browser has it.
let moved = false;
addEventListener("popstate", () => { moved = true; });

/** Page is the frame of a page other than Explore. */
export function Page({ look, title, state, top, children }: PageProps) {
  const main = useRef<HTMLElement>(null);
  useLayoutEffect(() => { document.title = title === "Varve" ? title : `${title} – Varve`; }, [title]);
  useEffect(() => { if (moved) main.current!.focus(); }, []);
  return (
    <div class="page" data-state={state}>
      <Top look={look}>{top}</Top>
      <main ref={main} tabIndex={-1} aria-busy={state === "loading"}>
        <h1>{title}</h1>
        {children}
      </main>
    </div>
  );
}
