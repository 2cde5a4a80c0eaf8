import { type DestinationStream, type Logger, destination as openFile, pino } from 'pino';
import type { EventListener } from '../domain/events.ts';
import { describeError } from './error-description.ts';
import { describeEvent } from './log-catalogue.ts';
import { prettyLines } from './pretty-lines.ts';
import { hideUrlCredentials, REDACTED, SECRET_PATHS } from './secrets.ts';

export interface LoggerOptions {
  /** `debug` also tells messages and stacks of errors, which may quote contents */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** lines for a terminal instead of JSON */
  readonly isPretty?: boolean;
  /** standard output unless told */
  readonly destination?: DestinationStream;
}

const STDOUT = 1;

/** Writes one line an entry: JSON with `time` in ms since epoch and `level` as a word. Secrets are redacted. */
export function createLogger({ level, isPretty = false, destination = openFile(STDOUT) }: LoggerOptions): Logger {
  return pino(
    {
      level,
      redact: { paths: [...SECRET_PATHS], censor: REDACTED },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error, level === 'debug') },
      hooks: { streamWrite: hideUrlCredentials },
    },
    isPretty ? prettyLines(destination) : destination,
  );
}

/** Writes the catalogue's line of every event. */
export function logEvents(logger: Logger): EventListener {
  return (event) => {
    const { level, message, fields, error } = describeEvent(event);
    if (!logger.isLevelEnabled(level)) return;
    const told = error === undefined ? {} : { error: describeError(error, logger.isLevelEnabled('debug')) };
    logger[level]({ ...fields, ...told }, message);
  };
}
