// The button that goes to the issuer, if the archive names one.

import { useEffect, useRef, useState } from "preact/hooks";
import { begin, hostOf, loginOf } from "./login";

/** useIssuer returns the host of the issuer, or "" while it is unknown and if the archive names none. */
export function useIssuer(wanted = true): string {
  const [host, setHost] = useState("");
  useEffect(() => {
    let left = false;
    if (wanted) void loginOf().then((l) => left || setHost(l ? hostOf(l.issuer) : ""), () => undefined);
    return () => { left = true; };
  }, [wanted]);
  return host;
}

interface Props {
  /** Whether the issuer must ask for a password, although it knows the user. */
  anew: boolean;
  /** The page to show after the login; by default the current one. */
  back?: string;
}

export function LoginButton({ anew, back }: Props) {
  const host = useIssuer();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [host]);
  if (!host) return null;
  const start = () => {
    setBusy(true);
    setError("");
    begin(anew, back).catch((err: Error) => {
      setError(err.message);
      setBusy(false);
    });
  };
  return (
    <>
      <button ref={button} type="button" disabled={busy} onClick={start}>Log in at {host}</button>
      {error && <span role="alert" class="severity-2">{error}</span>}
    </>
  );
}
