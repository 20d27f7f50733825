// Shows the page of the current place.
//
//	URL ─usePlace─▶ Shell ─pages─▶ a page, loaded when it is shown
//	 ▲                                │
//	 └───────── go, follow ◀──────────┘

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Page } from "./page";
import { pages, type PageOf } from "./pages";
import { usePlace } from "./router";
import { useTheme, type Look } from "./theme";
import { useAccess } from "./token";
import { TokenDialog } from "./tokendialog";

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
