// A button that opens a small window beside it. Escape, or a click elsewhere, closes it.

import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";

interface Props {
  label: string;
  text: string;
  title?: string;
  class?: string;
  pressed?: boolean;
  /** What is in the window. close closes it. */
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, text, title, class: name, pressed, children }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const close = () => box.current?.hidePopover();
  // The content is removed only after the window has closed, so that the focus can return to the button.
  const toggled = (e: Event) => {
    if ((e as ToggleEvent).newState === "closed") setOpen(false);
  };
  const opening = (e: Event) => {
    if ((e as ToggleEvent).newState !== "open") return;
    setOpen(true);
    const at = button.current!.getBoundingClientRect();
    const style = box.current!.style;
    style.right = `${Math.max(4, document.documentElement.clientWidth - at.right)}px`;
    const above = at.top > innerHeight / 2;
    style.top = above ? "auto" : `${at.bottom + 4}px`;
    style.bottom = above ? `${innerHeight - at.top + 4}px` : "auto";
  };
  return (
    <>
      <button type="button" ref={button} class={name} aria-label={label} title={title ?? label} aria-expanded={open} aria-pressed={pressed} {...{ popovertarget: id }}>{text}</button>
      <div id={id} ref={box} class="popover" role="group" aria-label={label} {...{ popover: "auto" }} onBeforeToggle={opening} onToggle={toggled}>
        {open && children(close)}
      </div>
    </>
  );
}
