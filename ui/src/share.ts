// Hands texts and files to the user.

import { request } from "./api";
import { download } from "./export";

export type Say = (text: string) => void;

/** copy copies a text, or shows it where the browser does not allow that. */
export function copy(text: string, what: string, say: Say) {
  if (!navigator.clipboard) return say(`${what} to copy: ${text}`);
  navigator.clipboard.writeText(text).then(() => say(`${what} was copied: ${text}`), () => say(`${what} to copy: ${text}`));
}

/** fetchFile saves an answer of the archive, or says why it cannot. */
export async function fetchFile(path: string, name: string, say: Say) {
  try {
    const res = await request(path, {}, true);
    download(await res.blob().catch(() => { throw new Error("The archive stopped answering, so there is no file."); }), name);
  } catch (err) {
    say((err as Error).message);
  }
}
