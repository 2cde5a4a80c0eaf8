import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import type { Tracing } from '../domain/ports/tracing.ts';
import { combineContentListeners, combineListeners } from '../telemetry/listeners.ts';
import { createTraces } from '../telemetry/traces.ts';

export interface ListenerOptions {
  /** Receives what the workers do. */
  readonly onEvent?: EventListener;
  /** Receives the contents of requests, answers and tool calls, which events leave out. Absent: contents are not collected. */
  readonly onContent?: ContentListener;
  /** Adds contents to spans (false). */
  readonly tracesContent?: boolean;
  /** Secrets of the process, redacted from contents. */
  readonly secrets?: readonly string[];
}

/** Listeners of the workers of a process. */
export interface Listeners {
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** The tracing listener receives all events, because it ends the spans. */
export function createListeners(options: ListenerOptions): Listeners {
  const { tracing, listener, contentListener } = createTraces(options);
  const onEvent = combineListeners(listener, options.onEvent ?? (() => undefined));
  const onContents = [options.onContent, options.tracesContent === true ? contentListener : undefined];
  return { onEvent, onContent: combineContentListeners(onContents, onEvent), tracing };
}
