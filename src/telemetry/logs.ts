import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, destination as openFile, pino } from 'pino';
import { writeBoundedJson } from '../domain/bounded-json.ts';
import type { ContentListener } from '../domain/contents.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import { clipText, describeThrown, isError, readSafely, type ThrownFacts } from '../domain/thrown.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { describeContentLine } from './contents.ts';
import { describeEvent } from './event-catalogue.ts';
import { createRedaction, REDACTED, SECRET_PATHS } from './secrets.ts';

export interface LoggerOptions {
  /** Lowest log level that is written. */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** If true, logs messages and stacks of errors that could quote texts of a conversation (default false). */
  readonly showsContent?: boolean;
  /** Secrets to remove from lines, in addition to secrets that are recognized by their form. */
  readonly secrets?: readonly string[];
  /** If true, writes lines for a terminal instead of JSON (default false). */
  readonly isPretty?: boolean;
  /** Stream to which log lines are written (default: standard output). */
  readonly destination?: DestinationStream;
}

const STDOUT = 1;

/**
 * Writes one JSON object per line, with `time` in ms since epoch. Inside a span, the object has `trace_id` and
 * `span_id`. Secrets are always removed.
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
      // Control characters could change a terminal, so they are escaped. JSON values stay the same.
      hooks: { streamWrite: (line) => escapeActing(redact(line)) },
    },
    isPretty ? prettyLines(destination) : destination,
  );
}

/** Reads the ids of the active span. The fields have OpenTelemetry's names, by which trace viewers find the lines. */
function readSpanIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return {};
  return { trace_id: active.traceId, span_id: active.spanId };
}

export function logEvents(logger: Logger): EventListener {
  return (event) => {
    const { level, message, fields, error } = describeEvent(event);
    if (!logger.isLevelEnabled(level)) return;
    logger[level]({ ...fields, ...(error !== undefined && { error }) }, message);
  };
}

/** Logs message texts at level `info`. */
export function logContents(logger: Logger): ContentListener {
  return (event) => {
    const { message, fields } = describeContentLine(event);
    logger.info(fields, message);
  };
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: number;
  readonly msg?: string;
}

/** Fields that lines for a terminal leave out. */
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'event']);

/** Writes lines such as `12:00:00.000 INFO  turn completed conversation=c1 turn=t1 durationMs=12`. */
function prettyLines(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(`${escapeActing(formatLine(JSON.parse(line) as Line))}\n`) };
}

function formatLine(line: Line): string {
  const time = new Date(line.time).toISOString().slice(11, 23);
  const fields = Object.entries(line).filter(([key]) => !HIDDEN.has(key));
  const shown = fields.map(([key, value]) => ` ${key}=${formatValue(value)}`).join('');
  return `${time} ${line.level.toUpperCase().padEnd(5)} ${line.msg ?? ''}${shown}`;
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
}

const MAX_CAUSES = 3;
/** Characters of a stack that are read. A stack begins with the error message, which may have megabytes. */
const STACK_CHARACTERS = 16_000;
const FIELD_CHARACTERS = 300;
/** Characters of details, which should hold only figures and ids. Larger details are left out. */
const DETAILS_CHARACTERS = 4_000;

/**
 * Never throws. Messages of errors with a turnfold code quote no conversation. Others may: `JSON.parse` quotes its
 * input, and a provider may quote the request. So they are logged by name, code and place.
 * @param isVerbose true if the operator allowed texts in logs: adds all messages and stacks
 */
function describeError(error: unknown, isVerbose: boolean, depth = 0): Record<string, unknown> {
  const { name, message, code } = describeThrown(error);
  if (!isError(error)) return { name, message: isVerbose ? message : undefined };
  const stack = readSafely(error, 'stack');
  const facts = isTurnfoldError(error)
    ? { code, message, ...describeFault(error) }
    : {
        name,
        code: chooseCode({ name, message, code }),
        at: findPlace(error, stack),
        message: isVerbose ? message : undefined,
      };
  const reason = readSafely(error, 'cause');
  const cause = reason === undefined || depth === MAX_CAUSES ? undefined : describeError(reason, isVerbose, depth + 1);
  return {
    ...facts,
    stack: isVerbose && typeof stack === 'string' ? clipText(stack, STACK_CHARACTERS) : undefined,
    cause,
  };
}

function describeFault(error: object): Record<string, unknown> {
  const [field, details] = [readSafely(error, 'field'), readSafely(error, 'details')];
  const written = details === undefined ? undefined : writeBoundedJson(details, { maxCharacters: DETAILS_CHARACTERS });
  return {
    ...(typeof field === 'string' && { field: clipText(field, FIELD_CHARACTERS) }),
    ...(written?.status === 'written' && { details: JSON.parse(written.json) as unknown }),
  };
}

/** The code of a system call (`ECONNREFUSED`), or of Redis (`READONLY`, the first word of its reply). */
function chooseCode({ name, message, code }: ThrownFacts): string | undefined {
  const given = name === 'ReplyError' ? message.split(' ', 1)[0] : code;
  return given !== undefined && /^[A-Z][A-Z0-9_]{1,63}$/.test(given) ? given : undefined;
}

/** The message before the frames may contain lines that look like frames. */
function findPlace(error: object, stack: unknown): string | undefined {
  const message = readSafely(error, 'message');
  if (typeof message !== 'string' || typeof stack !== 'string') return undefined;
  const start = stack.indexOf(message);
  const frames = stack.slice(start + message.length, start + message.length + STACK_CHARACTERS);
  return start === -1 ? undefined : /^[ \t]*at (.+)$/m.exec(frames)?.[1];
}
