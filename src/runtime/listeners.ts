import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import type { Tracing } from '../domain/ports/tracing.ts';
import { combineContentListeners, combineListeners } from '../telemetry/listeners.ts';
import { createTraces } from '../telemetry/traces.ts';

export interface ListenerOptions {
  /** told what the workers do */
  readonly onEvent?: EventListener;
  /** told what was said to models and tools, and by them. Nobody is, unless given: contents are in no event */
  readonly onContent?: ContentListener;
  /** puts the same into spans (default: not) */
  readonly tracesContent?: boolean;
  /** of the process: taken out of what was said */
  readonly secrets?: readonly string[];
}

/** Whom the workers of a process tell. */
export interface Listeners {
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** Spans hear of events as everybody does who listens: what they began they also end. */
export function createListeners(options: ListenerOptions): Listeners {
  const { tracing, listener, contentListener } = createTraces(options);
  const onEvent = combineListeners(listener, options.onEvent ?? (() => undefined));
  const asked = [options.onContent, options.tracesContent === true ? contentListener : undefined];
  return { onEvent, onContent: combineContentListeners(asked, onEvent), tracing };
}
