// Colours of the plots, from the style sheet, in dark or light.

import { useEffect, useState } from "preact/hooks";
import type { Theme } from "./paint";

export type Mode = "dark" | "light";

function stored(): Mode | undefined {
  try {
    const mode = localStorage.getItem("varve.theme");
    return mode === "dark" || mode === "light" ? mode : undefined;
  } catch {
    return undefined; // the browser keeps nothing for this page
  }
}

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: get("--text"), axis: get("--dim"), grid: get("--grid"), surface: get("--surface"), font: Number(get("--axis-font")),
    severity: ["", get("--minor"), get("--major"), get("--invalid")],
    traces: Array.from({ length: 8 }, (_, i) => get(`--trace-${i}`)),
  };
}

/** Look is how the pages look. toggle changes between dark and light. */
export interface Look {
  mode: Mode;
  theme: Theme;
  toggle: () => void;
}

export function useTheme(): Look {
  const [mode, setMode] = useState<Mode>(() => stored() ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
  document.documentElement.dataset.theme = mode;
  const [theme, setTheme] = useState<Theme>(read);
  useEffect(() => setTheme(read()), [mode]);
  return {
    mode, theme,
    toggle: () => {
      const next = mode === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("varve.theme", next);
      } catch {
        // as above
      }
      setMode(next);
    },
  };
}
