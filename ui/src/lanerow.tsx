// A lane with its plot and its values.

import type { PVData } from "./data";
import { Lane, type LaneProps } from "./lane";
import { colorsKey, move, without, type AxisOf, type LaneOf } from "./lanes";
import type { Trace } from "./paint";
import { maxPVs, type State } from "./state";
import type { Change } from "./url";
import { sourceOf } from "./traces";
import { TraceMenu } from "./tracemenu";
import { Values } from "./values";

interface Props extends LaneProps {
  lanes: LaneOf[];
  state: State;
  data: Map<string, PVData>;
  cursor: number | undefined;
  /** Where the pointer is on the first axis, if it is over this lane. */
  pointer: number | undefined;
  change: Change;
  say: (text: string) => void;
}

/** own is the place for a trace that gets a lane of its own. */
export const own = "own";

const placeOf = (l: LaneOf) => `lane ${l.id}`;

export function LaneRow(p: Props) {
  const { lane, lanes, state, change, say } = p;
  const moveTo = (t: Trace, to: LaneOf | undefined) => {
    const m = move(state, lanes, t, to);
    if ("refused" in m) return say(m.refused);
    change(m);
  };
  const drop = (t: Trace, place: string) => {
    const to = lanes.find((l) => placeOf(l) === place);
    if (to || place === own) moveTo(t, to);
  };
  const toggle = (list: string[], key: string) => (list.includes(key) ? list.filter((k) => k !== key) : [...list, key]);
  const log = (a: AxisOf) => {
    const heat = a.traces.find((t) => t.heat);
    if (heat) return change({ log: toggle(state.log, colorsKey(heat.pv)) });
    const below = !a.log && a.fixed !== undefined && a.fixed[0] <= 0;
    if (below) say("A logarithmic axis has only numbers above 0, so its fixed range was removed.");
    change({ log: toggle(state.log, a.key), ...(below && { fixed: withoutRange(state.fixed, a.key) }) });
  };
  const shift = (t: Trace, ending: string) => {
    const pv = `${sourceOf(t.pv).pv} ${ending}`;
    if (state.pvs.includes(pv)) return say(`${pv} is plotted already.`);
    if (state.pvs.length === maxPVs) return say(`A page plots at most ${maxPVs} PVs.`);
    const number = state.lanes[t.pv];
    change({ pvs: [...state.pvs, pv], ...(number && { lanes: { ...state.lanes, [pv]: number } }) });
  };
  return (
    <div class="lane" data-drop={placeOf(lane)}>
      <Lane {...p} />
      <Values
        lane={lane} data={p.data} range={p.range} cursor={p.cursor} pointer={p.pointer} utc={p.utc} height={p.height}
        onLog={log} onFixed={(a, range) => change({ fixed: range ? { ...state.fixed, [a.key]: range } : withoutRange(state.fixed, a.key) })}
        onRemove={(pv) => change(without(state, pv))} onDrop={drop}
        menu={(t) => <TraceMenu trace={t} lanes={lanes} onMove={moveTo} onShift={shift} onLimits={(t) => change({ limits: toggle(state.limits, t.pv) })} />}
      />
    </div>
  );
}

/** withoutRange returns ranges without that of one axis. */
function withoutRange(fixed: State["fixed"], key: string): State["fixed"] {
  const { [key]: _, ...rest } = fixed;
  return rest;
}
