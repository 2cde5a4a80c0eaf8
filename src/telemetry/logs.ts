import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, destination as openFile, pino } from 'pino';
import type { ContentListener } from '../domain/contents.ts';
import type { EventListener } from '../domain/events.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { describeContentLine } from './content-log-lines.ts';
import { describeError } from './error-description.ts';
import { describeEvent } from './log-catalogue.ts';
import { createRedaction, REDACTED, SECRET_PATHS } from './secrets.ts';

export interface LoggerOptions {
  /** Lowest log level that is written. */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** If true, logs messages and stacks of errors that could quote texts of a conversation (default false). */
  readonly showsContent?: boolean;
  /** Secrets to remove from lines, in addition to those that are recognized by their form. */
  readonly secrets?: readonly string[];
  /** If true, writes lines for a terminal instead of JSON (default false). */
  readonly isPretty?: boolean;
  /** Stream to which log lines are written (default: standard output). */
  readonly destination?: DestinationStream;
}

const STDOUT = 1;

/**
 * Creates a logger that writes one JSON object per line. `time` is in ms since epoch, `level` is a word. `trace_id` and
 * `span_id` are added inside a span. Secrets are always removed.
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
      // Escapes control characters, which could change a terminal. The JSON values stay the same.
      hooks: { streamWrite: (line) => escapeActing(redact(line)) },
    },
    isPretty ? prettyLines(destination) : destination,
  );
}

/**
 * Returns the ids of the active span under OpenTelemetry's names for log fields, so that trace viewers find the
 * lines.
 */
function readSpanIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return {};
  return { trace_id: active.traceId, span_id: active.spanId };
}

/** Creates a listener that logs every worker event. */
export function logEvents(logger: Logger): EventListener {
  return (event) => {
    const { level, message, fields, error } = describeEvent(event);
    if (!logger.isLevelEnabled(level)) return;
    logger[level]({ ...fields, ...(error !== undefined && { error }) }, message);
  };
}

/** Creates a listener that logs message texts at level `info`. */
export function logContents(logger: Logger): ContentListener {
  return (event) => {
    const { message, fields } = describeContentLine(event);
    logger.info(fields, message);
  };
}

/** A parsed log line. */
interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: number;
  readonly msg?: string;
}

/** Fields of every line that the terminal format leaves out. */
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

/** Puts quotes around values with spaces or unusual characters. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
}
