// The manifest of a group, from the fields of the form, and back.
//
//	spec ──fieldsOf──▶ fields ──user──▶ fields ──manifestOf──▶ ArchiveGroup ──▶ /api/v1/groups/check
//	  └─────────────────────── patchOf ────────────────────────┘

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Obj = { [key: string]: Json };

/** Fields are the texts of the form. An empty text leaves the field out. */
export interface Fields {
  name: string; namespace: string; archiver: string; provider: string; mode: string; period: string; absolute: string; relative: string; maxRate: string;
  raw: string; rollups: { every: string; keep: string }[]; redundancy: string; properties: string; paused: boolean; expiresAt: string; deletionPolicy: string; pvs: string;
}

export const blank: Fields = {
  name: "", namespace: "default", archiver: "main", provider: "", mode: "Monitor", period: "", absolute: "", relative: "", maxRate: "", raw: "", rollups: [],
  redundancy: "1", properties: "", paused: false, expiresAt: "", deletionPolicy: "Retain", pvs: "",
};

/** paths says which part of a manifest a field of the form is. */
export const paths: Record<string, string> = {
  name: "metadata.name", namespace: "metadata.namespace", archiver: "spec.archiverRef.name", provider: "spec.provider", mode: "spec.sampling.mode", period: "spec.sampling.period",
  absolute: "spec.sampling.deadband.absolute", relative: "spec.sampling.deadband.relative", maxRate: "spec.sampling.maxRate", raw: "spec.retention.raw", rollups: "spec.retention.rollups",
  redundancy: "spec.redundancy", properties: "spec.properties", expiresAt: "spec.expiresAt", deletionPolicy: "spec.deletionPolicy", pvs: "spec.channels",
};

const obj = (v: Json | undefined): Obj => (v && typeof v === "object" && !Array.isArray(v) ? v : {});
const text = (v: Json | undefined) => (v === undefined || v === null ? "" : String(v));

export function fieldsOf(group: string, spec: Obj): Fields {
  const [namespace, name] = group.split("/");
  const s = obj(spec.sampling);
  const r = obj(spec.retention);
  const d = obj(s.deadband);
  return {
    name, namespace, archiver: text(obj(spec.archiverRef).name), provider: text(spec.provider), mode: text(s.mode) || "Monitor", period: text(s.period),
    absolute: text(d.absolute), relative: text(d.relative), maxRate: text(s.maxRate), raw: text(r.raw),
    rollups: ((r.rollups ?? []) as Obj[]).map((x) => ({ every: text(x.every), keep: text(x.keep) })), redundancy: text(spec.redundancy) || "1",
    properties: ((spec.properties ?? []) as string[]).join(" "), paused: spec.paused === true, expiresAt: text(spec.expiresAt), deletionPolicy: text(spec.deletionPolicy) || "Retain",
    pvs: ((spec.channels ?? []) as Obj[]).map((c) => text(c.name)).join("\n"),
  };
}

/** number returns a number, or the text as it is, so that the check says what is wrong with it. */
const number = (t: string): Json => (t.trim() !== "" && Number.isFinite(Number(t)) ? Number(t) : t);

/** put sets a member, or removes it if there is no value. */
function put(o: Obj, key: string, v: Json | undefined) {
  const empty = v === undefined || v === "" || (Array.isArray(v) && v.length === 0) || (typeof v === "object" && v !== null && !Array.isArray(v) && Object.keys(v).length === 0);
  if (empty) delete o[key];
  else o[key] = v;
}

/** manifestOf returns the manifest of the fields. What the form does not show stays as in spec. */
export function manifestOf(f: Fields, spec: Obj = {}): Obj {
  const s: Obj = { ...spec };
  const sampling: Obj = { ...obj(spec.sampling) };
  const deadband: Obj = { ...obj(sampling.deadband) };
  put(deadband, "absolute", f.absolute && number(f.absolute));
  put(deadband, "relative", f.relative && number(f.relative));
  put(sampling, "mode", f.mode === "Monitor" && obj(spec.sampling).mode === undefined ? "" : f.mode);
  put(sampling, "period", f.mode === "Scan" ? f.period : "");
  put(sampling, "deadband", f.mode === "Scan" ? undefined : deadband);
  put(sampling, "maxRate", f.mode === "Scan" ? undefined : f.maxRate && number(f.maxRate));
  const retention: Obj = { ...obj(spec.retention) };
  put(retention, "raw", f.raw);
  put(retention, "rollups", f.rollups.map((r): Obj => (r.keep ? { every: r.every, keep: r.keep } : { every: r.every })));
  const known = new Map(((spec.channels ?? []) as Obj[]).map((c) => [text(c.name), c]));
  s.archiverRef = { ...obj(spec.archiverRef), name: f.archiver };
  put(s, "provider", f.provider);
  put(s, "sampling", sampling);
  put(s, "retention", retention);
  put(s, "redundancy", f.redundancy === "1" && spec.redundancy === undefined ? "" : number(f.redundancy));
  put(s, "properties", f.properties.split(/[\s,]+/).filter(Boolean));
  put(s, "paused", f.paused || undefined);
  put(s, "expiresAt", f.expiresAt);
  put(s, "deletionPolicy", f.deletionPolicy === "Retain" && spec.deletionPolicy === undefined ? "" : f.deletionPolicy);
  put(s, "channels", f.pvs.split("\n").map((n) => n.trim()).filter(Boolean).map((name) => known.get(name) ?? { name }));
  const metadata: Obj = { name: f.name };
  put(metadata, "namespace", f.namespace);
  return { apiVersion: "varve.dev/v1alpha1", kind: "ArchiveGroup", metadata, spec: s };
}

const same = (a: Json | undefined, b: Json | undefined) => JSON.stringify(a) === JSON.stringify(b);

/** patchOf returns the JSON merge patch from one object to another, or undefined if they are equal. */
export function patchOf(before: Obj, after: Obj): Obj | undefined {
  const patch: Obj = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const a = before[key];
    const b = after[key];
    if (same(a, b)) continue;
    if (b === undefined) patch[key] = null;
    else if (Object.keys(obj(a)).length > 0 && Object.keys(obj(b)).length > 0) {
      const inner = patchOf(obj(a), obj(b));
      if (inner) patch[key] = inner;
    } else patch[key] = b;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** quoted quotes a text for a shell. */
export const quoted = (t: string) => `'${t.replaceAll("'", `'\\''`)}'`;
