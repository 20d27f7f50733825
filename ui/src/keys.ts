// Keys that move, zoom and select.

import { useEffect } from "preact/hooks";
import type { Range } from "./state";

const typed = (e: KeyboardEvent) => e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;

/** useKeys pans, zooms and selects by keys, except while the user types or a menu is open. */
export function useKeys(range: Range, zoom: (r: Range) => void, select: (r?: Range) => void) {
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typed(e) || e.altKey || e.ctrlKey || e.metaKey || document.querySelector("[popovertarget][aria-expanded=true]")) return;
      const { lo, hi } = range;
      const span = hi - lo;
      if (e.key === "ArrowLeft") zoom({ lo: lo - span / 4, hi: hi - span / 4 });
      else if (e.key === "ArrowRight") zoom({ lo: lo + span / 4, hi: hi + span / 4 });
      else if (e.key === "+" || e.key === "=") zoom({ lo: lo + span / 4, hi: hi - span / 4 });
      else if (e.key === "-") zoom({ lo: lo - span / 2, hi: hi + span / 2 });
      else if (e.key === "s") select(range);
      else if (e.key === "Escape") select();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [range, zoom]);
}
