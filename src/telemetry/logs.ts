import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, destination as openFile, pino } from 'pino';
import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { describeError } from './error-description.ts';
import { describeContentLine, describeEvent } from './log-catalogue.ts';
import { createRedaction, REDACTED, SECRET_PATHS } from './secrets.ts';

export interface LoggerOptions {
  /** what is logged at least */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** also messages and stacks of errors that could quote contents (default: not at any level) */
  readonly showsContent?: boolean;
  /** never written, whatever they look like */
  readonly secrets?: readonly string[];
  /** lines for a terminal instead of JSON */
  readonly isPretty?: boolean;
  /** standard output unless told */
  readonly destination?: DestinationStream;
}

const STDOUT = 1;

/**
 * Writes one line an entry: JSON with `time` in ms since epoch and `level` as a word, `trace_id` and `span_id` where a span is
 * active. Secrets are redacted, whatever else is shown.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { level, showsContent = false, secrets = [], isPretty = false, destination = openFile(STDOUT) } = options;
  const redact = createRedaction(secrets);
  const describe = (error: unknown) => describeError(error, showsContent);
  return pino(
    {
      level,
      redact: { paths: [...SECRET_PATHS], censor: REDACTED },
      formatters: { level: (label) => ({ level: label }) },
      mixin: readSpanIds,
      serializers: { err: describe, error: describe },
      // Lines are often read at a terminal: as escapes, their values stay the same.
      hooks: { streamWrite: (line) => escapeActing(redact(line)) },
    },
    isPretty ? prettyLines(destination) : destination,
  );
}

/** Under the names that OpenTelemetry has for them in logs, by which a trace's lines are found. */
function readSpanIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return {};
  return { trace_id: active.traceId, span_id: active.spanId };
}

/** Writes the catalogue's line of every event. */
export function logEvents(logger: Logger): EventListener {
  return (event) => {
    const { level, message, fields, error } = describeEvent(event);
    if (!logger.isLevelEnabled(level)) return;
    logger[level]({ ...fields, ...(error !== undefined && { error }) }, message);
  };
}

/** Writes what was said, at `info`: whoever gives it contents has been asked for them. */
export function logContents(logger: Logger): ContentListener {
  return (event) => {
    const { message, fields } = describeContentLine(event);
    logger.info(fields, message);
  };
}

/** A line as createLogger writes it. */
interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: number;
  readonly msg?: string;
}

/** On every line alike: nothing that a person at a terminal reads for. */
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'event']);

/** Log lines for a terminal: `12:00:00.000 INFO  turn completed conversation=c1 turn=t1 durationMs=12`. */
function prettyLines(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(`${escapeActing(formatLine(JSON.parse(line) as Line))}\n`) };
}

function formatLine(line: Line): string {
  const time = new Date(line.time).toISOString().slice(11, 23);
  const fields = Object.entries(line).filter(([key]) => !HIDDEN.has(key));
  const shown = fields.map(([key, value]) => ` ${key}=${formatValue(value)}`).join('');
  return `${time} ${line.level.toUpperCase().padEnd(5)} ${line.msg ?? ''}${shown}`;
}

/** Quoted where its end could not be seen. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
}
