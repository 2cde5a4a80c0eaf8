import type { ContentEvent, ContentListener } from '../domain/contents.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

/**
 * Combines listeners. If a listener throws, the others receive a `worker_failed` event. If no other listener exists,
 * the error is dropped: telemetry must not stop a turn.
 */
export function combineListeners(...listeners: readonly EventListener[]): EventListener {
  const fail = (failed: Listener<WorkerEvent>, error: unknown): void => {
    const others = listeners.filter((listener) => listener !== failed);
    notifyAll<WorkerEvent>(others, { type: 'worker_failed', where: 'listener', error }, () => undefined);
  };
  return (event) => notifyAll<WorkerEvent>(listeners, event, fail);
}

/**
 * Combines content listeners. Undefined if there are none, so that contents are not collected.
 * @param onEvent receives the failure of a listener
 */
export function combineContentListeners(
  listeners: readonly (ContentListener | undefined)[],
  onEvent: EventListener,
): ContentListener | undefined {
  const asked = listeners.filter((listener) => listener !== undefined);
  if (asked.length === 0) return undefined;
  return (event) => {
    notifyAll<ContentEvent>(asked, event, (_, error) => {
      onEvent({ type: 'worker_failed', where: 'content listener', error });
    });
  };
}

type Listener<Event> = (event: Event) => unknown;

/** @param fail called for each listener that throws or whose promise rejects */
function notifyAll<Event>(
  listeners: readonly Listener<Event>[],
  event: Event,
  fail: (failed: Listener<Event>, error: unknown) => void,
): void {
  const failures = listeners.flatMap((listener) => {
    try {
      const given = listener(event);
      // Async listeners are not awaited, but an unhandled rejection would end the process.
      if (typeof given === 'object' && given !== null)
        void settle(given).catch((error: unknown) => fail(listener, error));
      return [];
    } catch (error) {
      return [{ listener, error }];
    }
  });
  for (const { listener, error } of failures) fail(listener, error);
}

async function settle(given: unknown): Promise<void> {
  await given;
}
