// The search box: finds PVs by a part of their names, or by a pattern with * and ?.

import { useEffect, useRef, useState } from "preact/hooks";
import { search, type Names } from "./api";

export function Search({ plotted, onAdd }: { plotted: string[]; onAdd: (pv: string) => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Names>();
  const [error, setError] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.target instanceof HTMLInputElement) return;
      e.preventDefault();
      input.current!.focus();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  useEffect(() => {
    setFound(undefined);
    setAt(0);
    setError("");
    const wanted = text.trim();
    if (!wanted) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      search(wanted, abort.signal)
        .then(setFound)
        .catch((err: Error) => abort.signal.aborted || setError(err.message));
    }, 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const names = found?.names ?? [];
  const add = (pv: string) => onAdd(pv);
  const keys = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown") setAt(Math.min(at + 1, names.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (e.key === "Enter" && names[at]) add(names[at]);
    else if (e.key === "Escape") {
      setOpen(false);
      input.current!.blur();
    } else return;
    e.preventDefault();
  };
  const message = error || (found && names.length === 0 ? "No PV has such a name." : found?.similar ? "No PV has such a name. Similar ones:" : "");
  return (
    <div class="search" data-state={!text.trim() ? "empty" : error ? "error" : found ? "found" : "searching"}>
      <input
        ref={input} type="search" placeholder="Search PVs: a part of the name, or SR*:PRES   ( / )" aria-label="Search PVs" {...{ role: "combobox" as "searchbox" }}
        aria-expanded={open && names.length > 0} aria-controls="found" aria-activedescendant={open && names[at] ? `found-${at}` : undefined}
        autocomplete="off" spellcheck={false} value={text}
        onInput={(e) => { setText(e.currentTarget.value); setOpen(true); }}
        onFocus={() => setOpen(true)} onBlur={() => setOpen(false)} onKeyDown={keys}
      />
      {open && text.trim() && (
        <div class="found">
          {message && <p role="status">{message}</p>}
          <ul id="found" role="listbox" aria-label="PVs found">
            {names.map((pv, i) => (
              <li
                id={`found-${i}`} role="option" aria-selected={i === at} class={i === at ? "at" : ""} key={pv} data-pv={pv}
                ref={(el) => { if (i === at) el?.scrollIntoView({ block: "nearest" }); }}
                onMouseDown={(e) => { e.preventDefault(); add(pv); }}
              >
                <span>{pv}</span>
                {plotted.includes(pv) && <small>plotted</small>}
              </li>
            ))}
          </ul>
          {found?.next && <p>These are the first {names.length} names. Type more of the name.</p>}
        </div>
      )}
    </div>
  );
}
