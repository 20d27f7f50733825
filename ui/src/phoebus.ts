// The plot as a file of Phoebus' Data Browser. Traces with a shift are left out, because it has none.

import { extent } from "./lane";
import type { LaneOf } from "./lanes";
import type { Range } from "./state";
import { clock } from "./time";
import { sourceOf } from "./traces";

const escape = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const tag = (name: string, value: string | number | boolean) => `<${name}>${typeof value === "string" ? escape(value) : value}</${name}>`;

/** rgb returns the color of a trace: #rrggbb. */
function rgb(color: string): string {
  const part = (i: number) => parseInt(color.slice(i, i + 2), 16) || 0;
  return `<color>${tag("red", part(1))}${tag("green", part(3))}${tag("blue", part(5))}</color>`;
}

/** plt returns the file. Absolute times are in the browser's zone, as Phoebus reads them in its own. */
export function plt(lanes: LaneOf[], r: Range, live: boolean): string {
  const axes: string[] = [];
  const pvs: string[] = [];
  for (const lane of lanes) {
    lane.axes.forEach((a, i) => {
      const traces = a.traces.filter((t) => !t.series?.shifted && !sourceOf(t.pv).shift);
      if (traces.length === 0) return;
      const [lo, hi] = extent(a, r);
      axes.push(`<axis>${[
        tag("visible", true), tag("name", a.unit), tag("use_axis_name", a.unit !== ""), tag("use_trace_names", true), tag("right", i > 0),
        tag("min", lo), tag("max", hi), tag("grid", false), tag("autoscale", !a.fixed), tag("log_scale", a.log),
      ].join("")}</axis>`);
      for (const t of traces) {
        pvs.push(`<pv>${[
          tag("display_name", t.pv), tag("visible", true), tag("name", t.pv), tag("axis", axes.length - 1), rgb(t.color),
          tag("trace_type", "AREA"), tag("linewidth", 2), tag("request", "OPTIMIZED"), archive(),
        ].join("")}</pv>`);
      }
    });
  }
  const [start, end] = live ? [`-${Math.round((r.hi - r.lo) / 1000)} seconds`, "now"] : [clock(r.lo, false, 3), clock(r.hi, false, 3)];
  return `<?xml version="1.0" encoding="UTF-8"?>\n<databrowser>\n${[
    tag("show_legend", true), tag("show_toolbar", true), tag("scroll", live), tag("start", start), tag("end", end), tag("archive_rescale", "NONE"),
    `<axes>\n${axes.join("\n")}\n</axes>`, `<pvlist>\n${pvs.join("\n")}\n</pvlist>`,
  ].join("\n")}\n</databrowser>\n`;
}

/** archive is this archive, as a data source with the API of the Archiver Appliance. A setting of
 * Phoebus says whether it uses HTTPS. */
function archive(): string {
  const { host, pathname } = new URL(".", document.baseURI);
  return `<archive>${tag("name", "Varve")}${tag("url", `pbraw://${host}${pathname}retrieval`)}${tag("key", 1)}</archive>`;
}
