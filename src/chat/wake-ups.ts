/**
 * Signs that a lost connection may work again. `restored`: the browser shows the page again from its back-forward cache,
 * or has found a network. Connections of before are then dead, although no error says so.
 */
export type WakeUp = 'shown' | 'restored';

const EVENTS: Readonly<Record<string, WakeUp>> = {
  online: 'restored',
  pageshow: 'restored',
  focus: 'shown',
  visibilitychange: 'shown',
};

type Listener = (wakeUp: WakeUp) => void;

/**
 * Calls the listener when the browser is online or shown again. Outside of browsers, it never calls.
 * @returns a function that ends the listening
 */
export function listenForWakeUps(listener: Listener): () => void {
  const page = globalThis as unknown as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
  const hear = (event: Event): void => {
    // A page that is loaded for the first time has no connection to renew.
    if (event.type === 'pageshow' && (event as Event & { persisted?: boolean }).persisted !== true) return;
    const wakeUp = EVENTS[event.type];
    if (wakeUp !== undefined) listener(wakeUp);
  };
  for (const name of Object.keys(EVENTS)) page.addEventListener?.(name, hear);
  return () => {
    for (const name of Object.keys(EVENTS)) page.removeEventListener?.(name, hear);
  };
}
