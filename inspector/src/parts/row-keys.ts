const NEXT = new Set(['j', 'ArrowDown']);
const PREVIOUS = new Set(['k', 'ArrowUp']);

/** Moves the focus among the elements with `data-row` of a list: j and k as in an editor, or the arrows. */
export function moveAmongRows(event: KeyboardEvent): void {
  const { key, currentTarget, target } = event;
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!isPlain || !(NEXT.has(key) || PREVIOUS.has(key)) || !(currentTarget instanceof HTMLElement)) return;
  const rows = [...currentTarget.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === target || (target instanceof Node && row.contains(target)));
  const next = NEXT.has(key) ? rows[at + 1] : rows[Math.max(0, at - 1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
