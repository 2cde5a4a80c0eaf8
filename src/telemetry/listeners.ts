import type { ContentEvent, ContentListener } from '../domain/contents.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

/** If a listener throws, the others receive `worker_failed`. Telemetry must not stop a turn, so nothing is thrown. */
export function combineListeners(...listeners: readonly EventListener[]): EventListener {
  const fail = (failed: Listener<WorkerEvent>, error: unknown): void => {
    const others = listeners.filter((listener) => listener !== failed);
    notifyAll<WorkerEvent>(others, { type: 'worker_failed', where: 'listener', error }, () => undefined);
  };
  return (event) => notifyAll<WorkerEvent>(listeners, event, fail);
}

/** Undefined without listeners, so that workers collect no texts. @param onEvent receives failures of listeners */
export function combineContentListeners(
  listeners: readonly (ContentListener | undefined)[],
  onEvent: EventListener,
): ContentListener | undefined {
  const present = listeners.filter((listener) => listener !== undefined);
  if (present.length === 0) return undefined;
  return (event) => {
    notifyAll<ContentEvent>(present, event, (_, error) => {
      onEvent({ type: 'worker_failed', where: 'content listener', error });
    });
  };
}

type Listener<Event> = (event: Event) => unknown;

function notifyAll<Event>(
  listeners: readonly Listener<Event>[],
  event: Event,
  fail: (failed: Listener<Event>, error: unknown) => void,
): void {
  const failures = listeners.flatMap((listener) => {
    try {
      const returned: unknown = listener(event);
      // The promise of an async listener is not awaited, but an unhandled rejection would end the process.
      if (typeof returned === 'object' && returned !== null)
        void settle(returned).catch((error: unknown) => fail(listener, error));
      return [];
    } catch (error) {
      return [{ listener, error }];
    }
  });
  for (const { listener, error } of failures) fail(listener, error);
}

async function settle(returned: unknown): Promise<void> {
  await returned;
}
