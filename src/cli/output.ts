import { styleText } from 'node:util';
import { isTurnfoldError } from '../domain/errors.ts';
import { clipText, describeThrown, isError, readSafely } from '../domain/thrown.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { LocalRedisError } from '../local-redis/errors.ts';
import { isRefusal } from '../redis/errors.ts';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Output {
  readonly line: (text: string, tone?: Tone) => void;
  /** part of a line */
  readonly text: (text: string, tone?: Tone) => void;
  readonly note: (text: string, tone?: Tone) => void;
}

/** What a text means to a reader. A terminal shows it as a colour. */
export type Tone = 'ok' | 'warning' | 'wrong' | 'heading';

const STYLES = { ok: 'green', warning: 'yellow', wrong: 'red', heading: 'bold' } as const;

/** `hasColors` is a terminal's. It heeds NO_COLOR, FORCE_COLOR and TERM. */
type Stream = Pick<NodeJS.WriteStream, 'write'> & { readonly hasColors?: () => boolean };

/**
 * The one way of a command to a terminal. Messages, files, errors and JSON hold what users and models wrote, so everything is
 * escaped here, character by character: a sequence that is cut between two calls is escaped as well.
 */
export function openOutput(stdout: Stream, stderr: Stream): Output {
  return {
    line: (text, tone) => void stdout.write(`${paint(stdout, text, tone)}\n`),
    text: (text, tone) => void stdout.write(paint(stdout, text, tone)),
    note: (text, tone) => void stderr.write(`${paint(stderr, text, tone)}\n`),
  };
}

/** Our own colours come after the escapes: no text brings any. A pipe gets none. */
function paint(stream: Stream, text: string, tone: Tone | undefined): string {
  const escaped = escapeActing(text);
  if (tone === undefined || stream.hasColors?.() !== true) return escaped;
  return styleText(STYLES[tone], escaped, { validateStream: false });
}

/** The terminal behind standard output, if there is one: to be measured, not to be written to. */
export const terminal: Pick<NodeJS.WriteStream, 'columns' | 'isTTY'> = process.stdout;

export const processOutput = openOutput(process.stdout, process.stderr);

/** Exit codes: of a failure with a code, of a defect (EX_SOFTWARE of sysexits), of a Redis that refuses us (EX_CONFIG). */
const FAILED = 1;
const BROKEN = 70;
export const MISCONFIGURED = 78;
const STACK_CHARACTERS = 16_000;

export function writeJson(output: Output, value: unknown): void {
  output.line(JSON.stringify(value));
}

/** Prints why a command failed and answers its exit code. To programs what has no code, since it is ours, is a `defect`. */
export function reportError(output: Output, error: unknown, isJson = false): number {
  if (isTurnfoldError(error)) {
    if (isJson) output.note(JSON.stringify({ error }));
    else output.note(`turnfold: ${error.code}: ${error.message}`, 'wrong');
    return isRefusal(error) ? MISCONFIGURED : FAILED;
  }
  if (isError(error) && error instanceof LocalRedisError) {
    const { code, message, hint } = error;
    output.note(isJson ? JSON.stringify({ error: { code, message, hint } }) : `turnfold: ${code}: ${message}\n${hint}`);
    return FAILED;
  }
  const { message } = describeThrown(error);
  const read = readSafely(error, 'stack');
  const stack = typeof read === 'string' ? clipText(read, STACK_CHARACTERS) : message;
  output.note(isJson ? JSON.stringify({ error: { code: 'defect', message, stack } }) : `turnfold: ${stack}`);
  return BROKEN;
}

/**
 * Tells that one conversation of a file was refused; the others go on. Programs read it among the results, people among
 * the notes.
 * @returns the exit code
 */
export function reportRefusal(output: Output, id: string, error: unknown, isJson = false): number {
  if (!isTurnfoldError(error)) throw error;
  if (isJson) writeJson(output, { id, error });
  output.note(`turnfold: ${id}: ${error.code}: ${error.message}`);
  return FAILED;
}
