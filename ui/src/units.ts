// Numbers with units, as people read them.

const sizes = ["B", "kB", "MB", "GB", "TB", "PB"];

/** bytes formats a size with three digits. */
export function bytes(n: number): string {
  let i = 0;
  while (Math.abs(n) >= 999.5 && i < sizes.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 ? Math.round(n) : n.toPrecision(3)} ${sizes[i]}`;
}

/** count formats a whole number with thin spaces between thousands. */
export const count = (n: number) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** rate formats a rate with at most three digits. */
export function rate(n: number, unit = "/s"): string {
  if (n === 0) return `0${unit}`;
  return `${n >= 99.5 ? count(n) : String(Number(n.toPrecision(n < 1 ? 2 : 3)))}${unit}`;
}

/** days formats a number of days. */
export function days(n: number): string {
  if (n < 1) return "less than a day";
  if (n < 60) return `about ${Math.round(n)} days`;
  if (n < 730) return `about ${Math.round(n / 30.4)} months`;
  return `about ${Math.round(n / 365)} years`;
}

/** plural returns "1 PV" or "2 PVs". */
export const plural = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
