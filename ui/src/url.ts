// Keeps the state of the plot in the URL.

import { useCallback, useEffect, useState } from "preact/hooks";
import { formatState, parseState, type State } from "./state";

export type Change = (s: Partial<State>, replace?: boolean) => void;

/** useURL returns the state in the URL and what changes it. replace changes the current entry of the history. */
export function useURL(): [State, Change] {
  const [state, setState] = useState(() => parseState(location.search));
  useEffect(() => {
    const back = () => setState(parseState(location.search));
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  const change = useCallback((part: Partial<State>, replace = false) => {
    const next = { ...parseState(location.search), ...part };
    const search = formatState(next);
    if (search === location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", search);
    setState(next);
  }, []);
  return [state, change];
}
