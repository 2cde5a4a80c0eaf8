import type { ContentEvent, ContentListener } from '../domain/contents.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

/**
 * One listener for several. A listener that throws breaks neither the core nor the others: they are told of it, as of any
 * other failure of the worker. Where none is left to tell, it is dropped, since telemetry must not stop a turn.
 */
export function combineListeners(...listeners: readonly EventListener[]): EventListener {
  return (event) => {
    const failures = tellAll<WorkerEvent>(listeners, event);
    for (const { failed, error } of failures) {
      const others = listeners.filter((listener) => listener !== failed);
      tellAll<WorkerEvent>(others, { type: 'worker_failed', where: 'listener', error });
    }
  };
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
    for (const { error } of tellAll<ContentEvent>(asked, event)) {
      onEvent({ type: 'worker_failed', where: 'content listener', error });
    }
  };
}

type Listener<Event> = (event: Event) => void;

function tellAll<Event>(
  listeners: readonly Listener<Event>[],
  event: Event,
): { readonly failed: Listener<Event>; readonly error: unknown }[] {
  return listeners.flatMap((listener) => {
    try {
      listener(event);
      return [];
    } catch (error) {
      return [{ failed: listener, error }];
    }
  });
}
