// Dragging a trace to another lane: press on its name, move to a lane, release.

/** dropTarget has the name of the place where a trace can be dropped. */
export const dropTarget = "data-drop";

const near = 6; // px that the pointer moves before a drag begins

/** dragTrace follows the pointer after it was pressed on a trace, and calls drop with the place where
 * it is released. Escape ends the drag. */
export function dragTrace(e: PointerEvent, name: string, drop: (place: string) => void) {
  if (e.button !== 0) return;
  const from = { x: e.clientX, y: e.clientY };
  let ghost: HTMLElement | undefined;
  let over: Element | null = null;
  const begin = () => {
    ghost = document.createElement("div");
    ghost.className = "ghost";
    ghost.textContent = name;
    document.body.append(ghost);
    document.body.classList.add("dragging");
  };
  const mark = (place: Element | null) => {
    over?.classList.remove("over");
    over = place;
    over?.classList.add("over");
  };
  const move = (e: PointerEvent) => {
    if (!ghost && Math.hypot(e.clientX - from.x, e.clientY - from.y) < near) return;
    if (!ghost) begin();
    e.preventDefault();
    ghost!.style.translate = `${e.clientX + 12}px ${e.clientY + 8}px`;
    mark(document.elementFromPoint(e.clientX, e.clientY)?.closest(`[${dropTarget}]`) ?? null);
  };
  const end = () => {
    for (const [type, f] of Object.entries(listeners)) removeEventListener(type, f as EventListener, true);
    ghost?.remove();
    document.body.classList.remove("dragging");
    mark(null);
  };
  const up = () => {
    const place = ghost && over?.getAttribute(dropTarget);
    end();
    if (typeof place === "string") drop(place);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key !== "Escape") return;
    e.stopPropagation();
    end();
  };
  const listeners = { pointermove: move, pointerup: up, pointercancel: end, keydown: key };
  for (const [type, f] of Object.entries(listeners)) addEventListener(type, f as EventListener, true);
}
