import type { EventListener, EventScope, WorkerEvent } from '../domain/events.ts';
import type { EventRows, LogLine, SpanUpdate } from './catalogue/event-row.ts';
import { PASS_EVENTS } from './catalogue/pass-events.ts';
import { TURN_EVENTS } from './catalogue/turn-events.ts';
import { WORKER_EVENTS } from './catalogue/worker-events.ts';
import type { Instruments } from './instruments.ts';

/**
 * All worker events, one row each: log line, metrics and span. The compiler reports an event without a row.
 *
 * Workers know neither logs nor metrics nor spans. They emit an event of `domain/events.ts`, whose fields are facts. A
 * row decides which facts operators see, and under which name. So log texts, metrics and attributes can change without
 * a change of the workers. A review sees the three views of an event side by side.
 *
 * - `log` is required. A message holds no ids, so that lines can be counted by message. `describeEvent` adds the ids of
 *   tenant, conversation, turn and pass as fields.
 * - `count` updates instruments of the metric catalogue (`metric-catalogue.ts`). Ids are never labels, because each
 *   new label value is a permanent series.
 * - `span` changes the span in which the event occurred. OpenTelemetry's context knows this span, so events hold no
 *   span ids. Events outside of spans have no `span`.
 *
 * Message texts are no facts of these events. They are separate events (`contents.ts`), which are off by default.
 */
const EVENTS: EventRows = { ...TURN_EVENTS, ...PASS_EVENTS, ...WORKER_EVENTS };

/** TypeScript cannot express that the row belongs to the type of this event. */
interface AnyRow {
  readonly log: (event: WorkerEvent) => LogLine;
  readonly count?: (event: WorkerEvent, instruments: Instruments) => void;
  readonly span?: (event: WorkerEvent) => SpanUpdate;
}

function rowOf(event: WorkerEvent): AnyRow {
  return EVENTS[event.type] as AnyRow;
}

export function describeEvent(event: WorkerEvent): LogLine {
  const line = rowOf(event).log(event);
  return { ...line, fields: { event: event.type, ...readScope(event), ...line.fields } };
}

export function readScope({ tenant, conversation, turn, passId }: Partial<EventScope>): LogLine['fields'] {
  return { tenant, conversation, turn, pass: passId };
}

export function countEvents(instruments: Instruments): EventListener {
  return (event) => rowOf(event).count?.(event, instruments);
}

export function describeUpdate(event: WorkerEvent): SpanUpdate | undefined {
  return rowOf(event).span?.(event);
}
