import type { ContentEvent, ContentListener } from '../domain/contents.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

/**
 * One listener for several. A listener that throws breaks neither the core nor the others: they are told of it, as of any
 * other failure of the worker. Where none is left to tell, it is dropped, since telemetry must not stop a turn.
 */
export function combineListeners(...listeners: readonly EventListener[]): EventListener {
  const fail = (failed: Listener<WorkerEvent>, error: unknown): void => {
    const others = listeners.filter((listener) => listener !== failed);
    tellAll<WorkerEvent>(others, { type: 'worker_failed', where: 'listener', error }, () => undefined);
  };
  return (event) => tellAll<WorkerEvent>(listeners, event, fail);
}

/**
 * One listener for all that asked for contents; undefined: nobody did, and nothing is told.
 * @param onEvent told of one that throws
 */
export function combineContentListeners(
  listeners: readonly (ContentListener | undefined)[],
  onEvent: EventListener,
): ContentListener | undefined {
  const asked = listeners.filter((listener) => listener !== undefined);
  if (asked.length === 0) return undefined;
  return (event) => {
    tellAll<ContentEvent>(asked, event, (_, error) => {
      onEvent({ type: 'worker_failed', where: 'content listener', error });
    });
  };
}

type Listener<Event> = (event: Event) => unknown;

/** @param fail told of each listener that throws, at once, or whose promise is rejected, later */
function tellAll<Event>(
  listeners: readonly Listener<Event>[],
  event: Event,
  fail: (failed: Listener<Event>, error: unknown) => void,
): void {
  const failures = listeners.flatMap((listener) => {
    try {
      const given = listener(event);
      // An async listener is none of ours to wait for, but its rejection would end the process.
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
