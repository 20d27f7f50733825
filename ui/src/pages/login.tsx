// Login: where the issuer sends the browser back, and where a user is after logging out.

import { useEffect, useState } from "preact/hooks";
import { LoginButton } from "../loginbutton";
import { finish, type LoginError } from "../login";
import { Page } from "../page";
import { follow } from "../router";
import type { Look } from "../theme";

export default function Login({ look }: { look: Look }) {
  const [working, setWorking] = useState(location.search !== "");
  const [failed, setFailed] = useState<LoginError>();
  useEffect(() => {
    if (location.search === "") return;
    finish(location.search).catch((err: LoginError) => {
      setFailed(err);
      setWorking(false);
    });
  }, []);
  if (working) return <Page look={look} title="Log in" state="loading"><p role="status">The archive gets a token for you.</p></Page>;
  return (
    <Page look={look} title="Log in" state={failed ? "failed" : "ready"}>
      {failed ? <p class="banner" role="alert">You are not logged in. {failed.message}</p> : <p role="status">You are logged out. The issuer may still know you, and then log you in without a password.</p>}
      <p class="buttons"><LoginButton anew={false} back={failed?.back ?? "./"} /> <a href={failed?.back ?? "./"} onClick={follow}>Go on without logging in</a></p>
    </Page>
  );
}
