// The dialog for the token. The browser keeps the focus in it, and Escape closes it.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { decline, forget, open, use, useAccess } from "./token";

/** TokenDialog is open while the archive asks for a token, or while the user enters one. */
export function TokenDialog() {
  const { why } = useAccess();
  return why === undefined ? null : <Dialog why={why} />;
}

function Dialog({ why }: { why: string }) {
  const { token } = useAccess();
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const d = dialog.current!;
    d.showModal();
    return () => d.close(); // gives the focus back
  }, []);
  const submit = (e: Event) => {
    e.preventDefault();
    const wanted = text.trim();
    if (!/^[\x21-\x7e]+$/.test(wanted)) return setError(wanted ? "A token has no spaces and no letters with accents." : "Paste the token here.");
    use(wanted);
  };
  return (
    <dialog ref={dialog} class="token" aria-labelledby="token-title" onKeyDown={(e) => e.stopPropagation()} onCancel={(e) => { e.preventDefault(); decline(); }}>
      <form onSubmit={submit}>
        <h2 id="token-title">{why && !token ? "The archive asks for a token" : "Token"}</h2>
        {why && token && <p role="alert" class="severity-2">The archive refused the token: {why}.</p>}
        <label>Token <input
          type="password" autocomplete="off" spellcheck={false} autofocus value={text} aria-invalid={!!error} aria-describedby={error ? "token-error" : "token-hint"}
          onInput={(e) => { setText(e.currentTarget.value); setError(""); }}
        /></label>
        {error && <p id="token-error" role="alert" class="severity-2">{error}</p>}
        <p id="token-hint" class="dim">Ask the administrators of the archive for a token. This tab keeps the token until you close it.</p>
        <p class="buttons">
          <button type="submit">Use the token</button>
          <button type="button" onClick={decline}>Cancel</button>
          {token && <button type="button" onClick={forget}>Forget the token</button>}
        </p>
      </form>
    </dialog>
  );
}

/** TokenButton opens the dialog, if the archive takes tokens. */
export function TokenButton() {
  const { token, taken } = useAccess();
  if (!token && !taken) return null;
  return <button type="button" class="quiet" onClick={open}>{token ? "Token in use" : "Enter a token"}</button>;
}
