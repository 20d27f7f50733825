// Where the user is, and links to other places. A place is a page and its state in the query:
//
//	/prefix/pvs?state=silent   ── page "pvs", search "?state=silent"
//
// All links are relative, and the path of a page is its last segment. So pages work behind a path
// prefix, and relative URLs of the API are the same on all pages.

import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** The name of the page. Explore's name is empty. */
  page: string;
  /** The query with its question mark, or an empty text. */
  search: string;
}

export type Query = Record<string, string | string[] | undefined>;

export function place(): Place {
  return { page: location.pathname.slice(location.pathname.lastIndexOf("/") + 1), search: location.search };
}

/** href returns a relative link to a page. Empty values are left out. */
export function href(page: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) if (v) q.append(key, v);
  }
  const text = q.toString().replaceAll("%3A", ":");
  return `./${page}${text && "?" + text}`;
}

// The last state of each page, for the links of the navigation.
const left = new Map<string, string>();

/** lastOf returns a link to a page as the user left it. */
export const lastOf = (page: string) => `./${page}${place().page === page ? "" : (left.get(page) ?? "")}`;

/** go shows a place. replace changes the current entry of the history instead of adding one. */
export function go(to: string, replace = false) {
  const { page, search } = place();
  left.set(page, search);
  history[replace ? "replaceState" : "pushState"](null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** usePlace returns the current place, and renders again when it changes. */
export function usePlace(): Place {
  const [at, setAt] = useState(place);
  useEffect(() => {
    const changed = () => setAt((old) => {
      const next = place();
      return old.page === next.page && old.search === next.search ? old : next;
    });
    addEventListener("popstate", changed);
    return () => removeEventListener("popstate", changed);
  }, []);
  return at;
}

/** follow goes to the place of a link without loading the page again. Other clicks, such as those
 * that open a new tab, are left to the browser. */
export function follow(e: MouseEvent) {
  if (e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.defaultPrevented) return;
  e.preventDefault();
  go((e.currentTarget as HTMLAnchorElement).getAttribute("href")!);
}
