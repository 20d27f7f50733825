// The dialog for the token. The browser keeps the focus in it, and Escape closes it.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { logOut } from "./login";
import { LoginButton, useIssuer } from "./loginbutton";
import { decline, forget, open, use, useAccess } from "./token";

/** TokenDialog is open while the archive asks for a token, or while the user enters one. */
export function TokenDialog() {
  const { why } = useAccess();
  return why === undefined ? null : <Dialog why={why} />;
}

function Dialog({ why }: { why: string }) {
  const { token, loggedIn } = useAccess();
  const issuer = useIssuer();
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
        <h2 id="token-title">{title(why, token, loggedIn, issuer)}</h2>
        {why && token && <p role="alert" class="severity-2">The archive refused the token: {why}.</p>}
        {issuer && <p class="buttons"><LoginButton anew={!why && !!token} />{loggedIn && <button type="button" onClick={() => void logOut()}>Log out</button>}</p>}
        <label>{issuer ? "Or a token" : "Token"} <input
          type="password" autocomplete="off" spellcheck={false} autofocus={!issuer} value={text} aria-invalid={!!error} aria-describedby={error ? "token-error" : "token-hint"}
          onInput={(e) => { setText(e.currentTarget.value); setError(""); }}
        /></label>
        {error && <p id="token-error" role="alert" class="severity-2">{error}</p>}
        <p id="token-hint" class="dim">{!issuer && "Ask the administrators of the archive for a token. "}This tab keeps the token until you close it.</p>
        <p class="buttons">
          <button type="submit">Use the token</button>
          <button type="button" onClick={decline}>Cancel</button>
          {token && !loggedIn && <button type="button" onClick={() => forget()}>Forget the token</button>}
        </p>
      </form>
    </dialog>
  );
}

function title(why: string, token: string, loggedIn: boolean, issuer: string): string {
  if (!why || token) return loggedIn ? (why ? "Log in again" : "You are logged in") : "Token";
  return issuer ? "The archive asks you to log in" : "The archive asks for a token";
}

/** TokenButton opens the dialog, if the archive takes tokens. */
export function TokenButton() {
  const { token, loggedIn, taken } = useAccess();
  const issuer = useIssuer(taken);
  if (!token && !taken) return null;
  return <button type="button" class="quiet" onClick={open}>{loggedIn ? "Logged in" : token ? "Token in use" : issuer ? "Log in" : "Enter a token"}</button>;
}
