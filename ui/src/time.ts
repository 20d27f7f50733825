// Times as people read them.

const pad = (n: number, width = 2) => String(n).padStart(width, "0");

/** clock formats a time in ms since 1970, in UTC or in the browser's zone. */
export function clock(ms: number, utc: boolean, digits = 0): string {
  const d = new Date(ms);
  const p = utc
    ? [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds(), d.getUTCMilliseconds()]
    : [d.getFullYear(), d.getMonth() + 1, d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds(), d.getMilliseconds()];
  const text = `${p[0]}-${pad(p[1])}-${pad(p[2])} ${pad(p[3])}:${pad(p[4])}:${pad(p[5])}`;
  return digits > 0 ? `${text}.${pad(p[6], 3).slice(0, digits)}` : text;
}

/** exact formats a time in ns since 1970 to the nanosecond. */
export function exact(ns: bigint, utc: boolean): string {
  const ms = ns / 1_000_000n;
  const sub = ns - (ns / 1_000_000_000n) * 1_000_000_000n;
  const text = clock(Number(ms), utc);
  return sub === 0n ? text : `${text}.${pad(Number(sub), 9).replace(/0+$/, "")}`;
}

const steps: [number, string][] = [[86400e3, "d"], [3600e3, "h"], [60e3, "min"], [1e3, "s"], [1, "ms"], [1e-3, "µs"], [1e-6, "ns"]];

/** duration formats a time in ms with its two largest units. */
export function duration(ms: number): string {
  for (let i = 0; i < steps.length; i++) {
    const [size, unit] = steps[i];
    if (ms < size) continue;
    const whole = Math.floor(ms / size + 1e-9);
    const next = steps[i + 1];
    if (!next || i > 3) return `${trim(ms / size)} ${unit}`;
    const rest = Math.round((ms - whole * size) / next[0]);
    return rest > 0 && rest * next[0] < size ? `${whole} ${unit} ${rest} ${next[1]}` : `${whole} ${unit}`;
  }
  return "0 s";
}

const trim = (n: number) => String(Number(n.toPrecision(3)));

/** zoneName returns what to write beside times. */
export function zoneName(utc: boolean): string {
  return utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}
