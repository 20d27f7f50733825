// Times without data, and texts that explain them.

import type { Gap, Gaps, Loss } from "./api";

/** Break is a time in which the value of a PV is not known. */
export interface Break {
  lo: number;
  hi: number;
  gap?: Gap;
  loss?: Loss;
}

/** breaks returns the gaps and losses of a PV in order of time. A gap without an end lasts until now.
 * shift moves them to a later time, in ms. */
export function breaks(g: Gaps | undefined, now: number, shift = 0): Break[] {
  if (!g) return [];
  const list: Break[] = g.gaps.map((gap) => ({
    lo: gap.from ? Date.parse(gap.from) : -Infinity,
    hi: gap.to ? Date.parse(gap.to) : now,
    gap,
  }));
  for (const loss of g.losses) list.push({ lo: Date.parse(loss.from), hi: Date.parse(loss.to ?? loss.from), loss });
  for (const b of list) {
    b.lo += shift;
    b.hi += shift;
  }
  return list.sort((a, b) => a.lo - b.lo);
}

const kinds: Record<string, string> = {
  disconnected: "disconnected",
  paused: "paused",
  disabled: "another PV disables the capture",
  resumed: "resumed, not connected yet",
  died: "the engine that captured the PV died",
  searching: "no server answers",
  refused: "a server refuses the PV",
  access_denied: "read access denied",
  removed: "not in any group",
  stopped: "the archiver was stopped",
  not_captured: "not captured yet",
};

const reasons: Record<string, string> = {
  clock: "the clock of the IOC was wrong",
  overflow: "the store was unreachable, and memory was full",
  too_large: "the value was too large",
  overrun: "the IOC dropped updates",
  unsupported: "the type cannot be archived",
  malformed: "the bytes could not be decoded",
  damaged: "stored bytes are damaged",
};

const withText = (name: string, text?: string) => (text ? `${name} (${text})` : name);

export const kindText = (kind: string, text?: string) => withText(kinds[kind] ?? kind, text);

/** title says in a line why there is no data. */
export function title(b: Break): string {
  if (b.loss) {
    const n = b.loss.count;
    const what = n ? `${n} ${n === 1 ? "sample" : "samples"} lost` : "samples may be lost";
    return withText(`${what}: ${reasons[b.loss.reason] ?? b.loss.reason}`, b.loss.text);
  }
  const first = b.gap!.causes?.[0];
  return b.gap!.kind === "not_captured" ? kindText("not_captured") : kindText(b.gap!.kind, first?.text);
}

/** writer returns the writer ID that noted a break. */
export const writer = (b: Break) => b.loss?.writer ?? b.gap!.causes?.[0]?.writer ?? b.gap!.writer ?? "";
