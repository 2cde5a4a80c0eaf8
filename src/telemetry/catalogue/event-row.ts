import type { Attributes } from '@opentelemetry/api';
import type { WorkerEvent } from '../../domain/events.ts';
import type { SpanSubject } from '../../domain/tracing.ts';
import type { Instruments } from '../instruments.ts';

export type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;

/** One worker event as operators see it. */
interface EventRow<Event> {
  readonly log: (event: Event) => LogLine;
  readonly count?: (event: Event, instruments: Instruments) => void;
  readonly span?: (event: Event) => SpanUpdate;
}

export type EventRows = { readonly [Type in WorkerEvent['type']]: EventRow<EventOf<Type>> };

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Error to log. The logger leaves out its message if the message could quote texts of a conversation. */
  readonly error?: unknown;
}

export interface SpanUpdate {
  /** Kinds of span that this update changes. */
  readonly of: readonly SpanSubject['kind'][];
  readonly attributes: Attributes;
  /** Value of `error.type`, which marks the span as failed. null: not failed, even if an exception follows. */
  readonly error?: string | null | undefined;
  /** Name of a span event, which then gets the attributes instead of the span. */
  readonly eventName?: string;
}

export function line(
  level: LogLine['level'],
  message: string,
  fields: LogLine['fields'] = {},
  error?: unknown,
): LogLine {
  return { level, message, fields, error };
}

/** Copies named fields, so that a new field of an event does not reach the logs by accident. */
export function pick<Event, Name extends keyof Event>(event: Event, ...names: readonly Name[]): Pick<Event, Name> {
  return Object.fromEntries(names.map((name) => [name, event[name]])) as Pick<Event, Name>;
}
