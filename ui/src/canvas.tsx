// A plot that is not over time: the histogram, the x–y plot, and the values of an array.

import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Theme } from "./paint";

interface CanvasProps {
  /** What is drawn. Tests read it. */
  data: object;
  theme: Theme;
  width: number;
  /** The height in heights of the axes' font. */
  height?: number;
  label: string;
  x: [number, number];
  y: [number, number];
  /** The texts at the axes. */
  names: [(v: number) => string, (v: number) => string];
  /** The x axis has marks at whole numbers only. */
  whole: boolean;
  /** The y axis has marks at whole numbers only. */
  wholeY?: boolean;
  draw: (u: uPlot) => void;
  /** A number that changes when draw draws something else of the same data. */
  turn?: number;
}

/** Canvas is a plot with linear axes whose content is drawn by a function. */
export function Canvas(p: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const axis = (i: number): uPlot.Axis => ({
      stroke: p.theme.axis, font: `${p.theme.font}px system-ui, sans-serif`, grid: { stroke: p.theme.grid, width: 1 }, ticks: { stroke: p.theme.grid, width: 1, size: 5 },
      space: (i ? 3 : 8) * p.theme.font, size: i ? 7 * p.theme.font : 3 * p.theme.font, values: (_, splits) => splits.map((v) => p.names[i](v)),
      ...((i ? p.wholeY : p.whole) && { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }),
    });
    const u = new uPlot({
      width: p.width, height: (p.height ?? 20) * p.theme.font, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => p.x }, y: { range: () => p.y } }, axes: [axis(0), axis(1)], series: [{}, {}], hooks: { draw: [p.draw] },
    }, [p.x, [null, null]] as uPlot.AlignedData, host.current!);
    (host.current as unknown as { plot: unknown }).plot = { u, data: p.data };
    return () => u.destroy();
  }, [p.data, p.theme, p.width, p.turn]);
  return <div class="distribution-plot" ref={host} role="img" aria-label={p.label} />;
}
