import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import type { Tracing } from '../domain/tracing.ts';
import type { QueueErrorListener } from '../jobs/bullmq/queue-connection.ts';
import { combineContentListeners, combineListeners } from '../telemetry/listeners.ts';
import { createTraces } from '../telemetry/traces.ts';
import { BrokenDelivery } from '../workers/turn/turn-delivery.ts';

export interface ListenerOptions {
  /** Receives the events of the workers, such as settled turns and ended compactions. */
  readonly onEvent?: EventListener;
  /** Receives texts of requests, answers and tool calls. Absent: these texts are not collected. */
  readonly onContent?: ContentListener;
  /** Adds the texts of requests, answers and tool calls to trace spans (false). */
  readonly tracesContent?: boolean;
  /** Secrets of this process, which are removed from texts. */
  readonly secrets?: readonly string[];
}

export interface Listeners {
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** Tracing receives every event, because events end the spans. */
export function createListeners(options: ListenerOptions): Listeners {
  const { tracing, listener, contentListener } = createTraces(options);
  const onEvent = combineListeners(listener, options.onEvent ?? (() => undefined));
  const onContents = [options.onContent, options.tracesContent === true ? contentListener : undefined];
  return { onEvent, onContent: combineContentListeners(onContents, onEvent), tracing };
}

/** Turns errors of the queue into events. The failure of a delivery names its conversation and turn. */
export function reportTo(onEvent: EventListener): QueueErrorListener {
  return (error, where) => {
    const details = error instanceof BrokenDelivery ? { ...error.scope, error: error.cause } : { error };
    onEvent({ type: 'worker_failed', where, ...details });
  };
}
