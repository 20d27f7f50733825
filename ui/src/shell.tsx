// The frame of all pages: navigation, colours, and the page for the current place.
//
//	URL ─usePlace─▶ Shell ─pages─▶ a page, loaded when it is shown
//	 ▲                                │
//	 └───────── go, follow ◀──────────┘

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pages, type PageOf } from "./pages";
import { follow, lastOf, usePlace } from "./router";
import { useTheme, type Look } from "./theme";
import { useAccess } from "./token";
import { TokenButton, TokenDialog } from "./tokendialog";

type View = ComponentType<{ look: Look }>;

// Pages that were loaded, by name.
const loaded = new Map<string, View>();

/** Shell shows the page of the current place. */
export function Shell() {
  const look = useTheme();
  const { changes } = useAccess();
  const { page: name } = usePlace();
  const page = pages.find((p) => p.name === name) ?? pages[0];
  const [failed, setFailed] = useState("");
  const [, setLoaded] = useState<string>();
  useEffect(() => {
    setFailed("");
    if (loaded.has(page.name)) return;
    let left = false;
    page.load().then(
      (m) => {
        loaded.set(page.name, m.default);
        if (!left) setLoaded(page.name);
      },
      () => left || setFailed("The page cannot be loaded: the archive does not answer, or it was updated."),
    );
    return () => { left = true; };
  }, [page]);
  const Current = loaded.get(page.name);
  return (
    <>
      {Current ? <Current key={`${page.name} ${changes}`} look={look} /> : <Loading look={look} page={page} failed={failed} />}
      <TokenDialog />
    </>
  );
}

function Loading({ look, page, failed }: { look: Look; page: PageOf; failed: string }) {
  return (
    <Page look={look} title={page.title ?? "Varve"} state={failed ? "failed" : "loading"}>
      {failed && <p class="banner" role="alert">{failed} <button type="button" onClick={() => location.reload()}>Load again</button></p>}
    </Page>
  );
}

/** Top is the bar with the navigation. Its children, such as a search box, come after the links. */
export function Top({ look, children }: { look: Look; children?: ComponentChildren }) {
  const { page } = usePlace();
  return (
    <header class="top">
      <a class="brand" href="./" aria-label="Varve: start anew">Varve</a>
      <nav aria-label="Pages">
        {pages.map((p) => p.title && (
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
