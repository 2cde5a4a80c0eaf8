import type { EventListener, WorkerEvent } from '../domain/events.ts';

/**
 * One listener for several. A listener that throws breaks neither the core nor the others: they are told of it, as of any
 * other failure of the worker. Where none is left to tell, it is dropped, since telemetry must not stop a turn.
 */
export function combineListeners(...listeners: readonly EventListener[]): EventListener {
  return (event) => {
    const failures = tellAll(listeners, event);
    for (const { failed, error } of failures) {
      const others = listeners.filter((listener) => listener !== failed);
      tellAll(others, { type: 'worker_failed', where: 'listener', error });
    }
  };
}

function tellAll(
  listeners: readonly EventListener[],
  event: WorkerEvent,
): { readonly failed: EventListener; readonly error: unknown }[] {
  return listeners.flatMap((listener) => {
    try {
      listener(event);
      return [];
    } catch (error) {
      return [{ failed: listener, error }];
    }
  });
}
