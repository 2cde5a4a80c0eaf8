import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, destination as openFile, pino } from 'pino';
import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { describeError } from './error-description.ts';
import { describeContentLine, describeEvent } from './log-catalogue.ts';
import { createRedaction, REDACTED, SECRET_PATHS } from './secrets.ts';

export interface LoggerOptions {
  /** Lowest level that is logged. */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Logs messages and stacks of errors that could quote contents, at any level (false). */
  readonly showsContent?: boolean;
  /** Secrets to redact, in addition to those found by their form. */
  readonly secrets?: readonly string[];
  /** Writes lines for a terminal instead of JSON (false). */
  readonly isPretty?: boolean;
  /** Stream to write to (standard output). */
  readonly destination?: DestinationStream;
}

const STDOUT = 1;

/**
 * Creates a logger that writes one JSON object a line. `time` is in ms since epoch, `level` is a word. `trace_id` and
 * `span_id` are added inside a span. Secrets are always redacted.
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
      // Control characters are escaped for terminals. JSON values stay the same.
      hooks: { streamWrite: (line) => escapeActing(redact(line)) },
    },
    isPretty ? prettyLines(destination) : destination,
  );
}

/** OpenTelemetry's names for log fields, so that trace viewers find the lines. */
function readSpanIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return {};
  return { trace_id: active.traceId, span_id: active.spanId };
}

/** Listener that logs every event. */
export function logEvents(logger: Logger): EventListener {
  return (event) => {
    const { level, message, fields, error } = describeEvent(event);
    if (!logger.isLevelEnabled(level)) return;
    logger[level]({ ...fields, ...(error !== undefined && { error }) }, message);
  };
}

/** Listener that logs contents at `info`. */
export function logContents(logger: Logger): ContentListener {
  return (event) => {
    const { message, fields } = describeContentLine(event);
    logger.info(fields, message);
  };
}

/** A line of createLogger. */
interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: number;
  readonly msg?: string;
}

/** Fields that every line has, of no interest at a terminal. */
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'event']);

/** Formats log lines for a terminal: `12:00:00.000 INFO  turn completed conversation=c1 turn=t1 durationMs=12`. */
function prettyLines(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(`${escapeActing(formatLine(JSON.parse(line) as Line))}\n`) };
}

function formatLine(line: Line): string {
  const time = new Date(line.time).toISOString().slice(11, 23);
  const fields = Object.entries(line).filter(([key]) => !HIDDEN.has(key));
  const shown = fields.map(([key, value]) => ` ${key}=${formatValue(value)}`).join('');
  return `${time} ${line.level.toUpperCase().padEnd(5)} ${line.msg ?? ''}${shown}`;
}

/** Quotes values with spaces or unusual characters. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
}
