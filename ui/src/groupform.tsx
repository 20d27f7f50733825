// The form that makes the manifest of a group. It changes nothing: the user copies the manifest, or a
// patch, and applies it by Git or kubectl. The server checks it by the rules of the cluster.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, getJSON } from "./api";
import { blank, fieldsOf, manifestOf, patchOf, paths, quoted, type Fields, type Json } from "./manifest";

interface Checked {
  errors: { field?: string; line?: number; error: string }[];
  warnings: string[];
  manifest?: string;
  group?: { settings: { sampling: string; retention: string } };
}

type Spec = { [key: string]: Json };

/** useCheck checks a manifest some time after the last change. */
function useCheck(text: string): { checked?: Checked; error?: string; waits: boolean; again: () => void } {
  const [state, setState] = useState<{ text: string; checked?: Checked; error?: string }>({ text: "" });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      getJSON<Checked>("groups/check", new URLSearchParams(), { method: "POST", body: text, signal: stop.signal }).then(
        (checked) => setState({ text, checked }),
        (err: unknown) => {
          if (stop.signal.aborted) return;
          setState({ text, error: err instanceof Error ? err.message : String(err) });
          if (err instanceof ApiError && err.retry > 0) setTimeout(() => stop.signal.aborted || setTries((n) => n + 1), err.retry * 1e3);
        },
      );
    }, 300);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [text, tries]);
  return { checked: state.checked, error: state.error, waits: state.text !== text, again: () => setTries((n) => n + 1) };
}

interface FieldProps {
  id: string;
  label: string;
  hint?: string;
  errors: Map<string, string[]>;
  children: (props: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined }) => ComponentChildren;
}

/** Field is a field of the form with its errors. */
function Field({ id, label, hint, errors, children }: FieldProps) {
  const wrong = errors.get(id);
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class={wrong ? "field wrong" : "field"} data-field={id}>
      <label for={id}>{label}</label>
      {children({ id, "aria-invalid": !!wrong, "aria-describedby": described || undefined })}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      {wrong && <ul id={`${id}-error`} class="errors">{wrong.map((e) => <li key={e}><span aria-hidden="true">✖ </span>{e}</li>)}</ul>}
    </div>
  );
}

/** sorted divides errors among the fields of the form. Those of no field are under an empty name. */
function sorted(checked: Checked | undefined): Map<string, string[]> {
  const by = new Map<string, string[]>();
  for (const e of checked?.errors ?? []) {
    const id = Object.keys(paths).find((id) => e.field === paths[id] || e.field?.startsWith(paths[id] + "[") || e.field?.startsWith(paths[id] + ".")) ?? "";
    const error = e.field && e.error.startsWith(e.field + ": ") ? e.error.slice(e.field.length + 2) : e.error;
    by.set(id, [...(by.get(id) ?? []), id ? (e.field === paths[id] ? error : `${e.field!.slice(e.field!.lastIndexOf("[") + 0)}: ${error}`) : e.error]);
  }
  return by;
}

/** GroupForm is the form of a new group, or of one that exists. */
export function GroupForm({ of }: { of?: { group: string; spec?: Record<string, unknown> } }) {
  const before = useMemo(() => (of ? fieldsOf(of.group, of.spec as Spec) : blank), []);
  const spec = useMemo(() => (of?.spec ?? {}) as Spec, []);
  const [f, setF] = useState<Fields>(before);
  const manifest = manifestOf(f, spec);
  const check = useCheck(JSON.stringify(manifest));
  const errors = sorted(check.checked);
  const set = (part: Partial<Fields>) => setF((old) => ({ ...old, ...part }));
  const input = (key: keyof Fields, props: Record<string, unknown> = {}) => (a: object) => (
    <input type="text" autocomplete="off" spellcheck={false} {...props} {...a} value={f[key] as string} onInput={(e) => set({ [key]: (e.target as HTMLInputElement).value })} />
  );
  const select = (key: keyof Fields, options: [string, string][]) => (a: object) => (
    <select {...a} value={f[key] as string} onChange={(e) => set({ [key]: (e.target as HTMLSelectElement).value })}>
      {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
    </select>
  );
  const scan = f.mode === "Scan";
  return (
    <div class="twin">
      <form onSubmit={(e) => e.preventDefault()}>
        <fieldset>
          <legend>Group</legend>
          <Field id="name" label="Name" hint="Lower-case letters, digits, - and ." errors={errors}>{input("name", { disabled: !!of })}</Field>
          <Field id="namespace" label="Namespace" errors={errors}>{input("namespace", { disabled: !!of })}</Field>
          <Field id="archiver" label="Archiver" hint="varve standalone ignores it." errors={errors}>{input("archiver")}</Field>
          <Field id="provider" label="Protocol" errors={errors}>{select("provider", [["", "default of the archive"], ["CA", "Channel Access"], ["PVA", "pvAccess"]])}</Field>
          <Field id="pvs" label="PVs" hint="One name per line, at most 1,000. PVs that are in the group already keep their own settings." errors={errors}>
            {(a) => <textarea rows={8} spellcheck={false} {...a} value={f.pvs} onInput={(e) => set({ pvs: (e.target as HTMLTextAreaElement).value })} />}
          </Field>
          <Field id="properties" label="Fields of the record" hint="Archived with the PV, such as DESC EGU." errors={errors}>{input("properties")}</Field>
        </fieldset>
        <fieldset>
          <legend>What is stored</legend>
          <Field id="mode" label="Mode" errors={errors}>{select("mode", [["Monitor", "Monitor: every update that passes"], ["Scan", "Scan: the value at each multiple of a period"]])}</Field>
          {scan ? <Field id="period" label="Period" hint="At least 100ms, such as 1s or 5m." errors={errors}>{input("period")}</Field> : (
            <>
              <Field id="absolute" label="Deadband" hint="In the unit of the PV. Smaller changes are dropped." errors={errors}>{input("absolute", { inputMode: "decimal" })}</Field>
              <Field id="relative" label="Relative deadband" hint="A fraction of the last stored value: 0.01 is one percent." errors={errors}>{input("relative", { inputMode: "decimal" })}</Field>
              <Field id="maxRate" label="Samples per second, at most" errors={errors}>{input("maxRate", { inputMode: "decimal" })}</Field>
            </>
          )}
        </fieldset>
        <fieldset>
          <legend>How long it is kept</legend>
          <Field id="raw" label="Raw samples" hint="Such as 30d or 2y. Empty: forever." errors={errors}>{input("raw")}</Field>
          <Field id="rollups" label="Rollups" hint="From fine to coarse. An empty time is forever." errors={errors}>
            {(a) => <div role="group" {...a} aria-invalid={undefined}><Rollups f={f} set={set} /></div>}
          </Field>
          <Field id="deletionPolicy" label="When the group is deleted" errors={errors}>{select("deletionPolicy", [["Retain", "its data stays"], ["Delete", "data that no other group archives is deleted"]])}</Field>
        </fieldset>
        <fieldset>
          <legend>Capture</legend>
          <Field id="redundancy" label="Engines per PV" errors={errors}>{select("redundancy", [["1", "1"], ["2", "2: no sample is lost when an engine fails"]])}</Field>
          <Field id="expiresAt" label="Capture ends" hint="Such as 2027-01-31T12:00:00Z. Empty: never." errors={errors}>{input("expiresAt")}</Field>
          <div class="field"><label><input type="checkbox" checked={f.paused} onChange={(e) => set({ paused: (e.target as HTMLInputElement).checked })} /> Paused</label></div>
        </fieldset>
      </form>
      <Result check={check} others={errors.get("") ?? []} manifest={manifest} spec={of && spec} fields={f} />
    </div>
  );
}

function Rollups({ f, set }: { f: Fields; set: (part: Partial<Fields>) => void }) {
  const change = (i: number, part: { every?: string; keep?: string }) => set({ rollups: f.rollups.map((r, k) => (k === i ? { ...r, ...part } : r)) });
  return (
    <>
      {f.rollups.map((r, i) => (
        <div class="pair" key={i}>
          <label>every <input type="text" size={6} value={r.every} onInput={(e) => change(i, { every: (e.target as HTMLInputElement).value })} /></label>
          <label>kept <input type="text" size={6} value={r.keep} onInput={(e) => change(i, { keep: (e.target as HTMLInputElement).value })} /></label>
          <button type="button" aria-label={`Remove rollup ${i + 1}`} onClick={() => set({ rollups: f.rollups.filter((_, k) => k !== i) })}>Remove</button>
        </div>
      ))}
      {f.rollups.length < 8 && <button type="button" onClick={() => set({ rollups: [...f.rollups, { every: "", keep: "" }] })}>Add a rollup</button>}
    </>
  );
}

interface ResultProps {
  check: ReturnType<typeof useCheck>;
  others: string[];
  manifest: { [key: string]: Json };
  spec?: Spec;
  fields: Fields;
}

/** Result shows what the check says, and the manifest to copy. */
function Result({ check, others, manifest, spec, fields }: ResultProps) {
  const [said, say] = useState("");
  const c = check.checked;
  const valid = c && c.errors.length === 0 && !check.waits && !check.error;
  const patch = spec && patchOf(spec, manifest.spec as Spec);
  const command = patch && `kubectl patch archivegroup ${fields.name} -n ${fields.namespace} --type merge -p ${quoted(JSON.stringify({ spec: patch }))}`;
  const copy = (text: string, what: string) => {
    if (!navigator.clipboard) return say(`The browser does not allow copying: select the text of ${what}.`);
    navigator.clipboard.writeText(text).then(() => say(`Copied ${what}.`), () => say(`The browser does not allow copying: select the text of ${what}.`));
  };
  const n = c?.errors.length ?? 0;
  return (
    <section class="result" aria-label="Manifest" data-valid={check.waits ? "waits" : valid ? "yes" : "no"}>
      <h2>Manifest</h2>
      <div role="status">
        {check.error ? <p class="missing">The manifest was not checked: {check.error} <button type="button" onClick={check.again}>Check again</button></p>
          : check.waits || !c ? <p class="dim">Checking…</p>
          : valid ? <p class="fine"><span aria-hidden="true">✔ </span>A cluster would accept it.</p>
          : <p class="severity-2"><span aria-hidden="true">✖ </span>{n === 1 ? "There is one error." : `There are ${n} errors.`}</p>}
        {said && <p>{said}</p>}
      </div>
      {others.length > 0 && <ul class="errors">{others.map((e) => <li key={e}>{e}</li>)}</ul>}
      {valid && c.warnings.map((w) => <p class="missing" key={w}>{w}</p>)}
      {valid && c.group && <p class="dim">Stored: {c.group.settings.sampling}. Kept: {c.group.settings.retention}.</p>}
      {c?.manifest && <pre class="yaml" tabIndex={0} aria-label="Manifest in YAML">{c.manifest}</pre>}
      {valid && <button type="button" class="copy" onClick={() => copy(c.manifest!, "the manifest")}>Copy the manifest</button>}
      <p class="dim">Commit it to the repository of your groups, or apply it: <code>kubectl apply -f FILE</code>. For varve standalone, save it in the folder of <code>--file</code>. This page changes nothing.</p>
      {valid && spec && (command
        ? <><h3>Only the change</h3><pre class="patch" tabIndex={0} aria-label="Patch">{command}</pre><button type="button" onClick={() => copy(command, "the command")}>Copy the command</button></>
        : <p class="dim">Nothing differs from the settings in effect.</p>)}
    </section>
  );
}
