// The search box: finds PVs by a part of their names, by a pattern with * and ?, or by words of their descriptions.
//
//   text ──▶ names that contain it, or similar ones ──┐
//     └────▶ PVs whose descriptions contain its words ┴──▶ list

import { useEffect, useRef, useState } from "preact/hooks";
import { search, searchDescriptions, type Names } from "./api";

export function Search({ plotted, onAdd }: { plotted: string[]; onAdd: (pv: string) => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Names>();
  const [described, setDescribed] = useState<Names>();
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
    setDescribed(undefined);
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
    // The archive may have to read the descriptions of all PVs, so the search waits until the user rests.
    const later = setTimeout(() => {
      if (wanted.length < 3 || /[*?]/.test(wanted)) return;
      searchDescriptions(wanted, abort.signal)
        .then(setDescribed)
        .catch((err: Error) => abort.signal.aborted || setDescribed({ names: [], incomplete: err.message }));
    }, 400);
    return () => {
      clearTimeout(timer);
      clearTimeout(later);
      abort.abort();
    };
  }, [text]);

  const more = described?.names.filter((pv) => found?.similar || !found?.names.includes(pv)) ?? [];
  const similar = found?.similar && more.length > 0 ? [] : (found?.names ?? []); // a description tells more than a similar name
  const names = [...similar, ...(found ? more : [])];
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
  const none = described ? "No name and no description matches." : "No name matches.";
  const message = error || (found && names.length === 0 ? none : found?.similar && similar.length > 0 ? `${none} Similar names:` : "");
  return (
    <div class="search" data-state={!text.trim() ? "empty" : error ? "error" : found ? "found" : "searching"}>
      <input
        ref={input} type="search" placeholder="Search PVs: a part of the name or description, or SR*:PRES   ( / )" aria-label="Search PVs" {...{ role: "combobox" as "searchbox" }}
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
                <small>{described?.descriptions?.[pv]}{plotted.includes(pv) && " plotted"}</small>
              </li>
            ))}
          </ul>
          {found?.next && <p>Only the first {similar.length} names are shown. Type more of the name.</p>}
          {described?.next && <p>Only the first {described.names.length} PVs with these words in their description are shown. Type more words.</p>}
          {described?.incomplete && <p>Some descriptions were not searched: {described.incomplete}</p>}
        </div>
      )}
    </div>
  );
}
