import { styleText } from 'node:util';
import { isTurnfoldError } from '../domain/errors.ts';
import { clipText, describeThrown, isError, readSafely } from '../domain/thrown.ts';
import { escapeActing } from '../domain/visible-text.ts';
import { LocalRedisError } from '../host/local-redis/local-redis.ts';
import { isRefusal } from '../store/redis/errors.ts';

/**
 * Every command writes through this interface.
 *
 * - `line` and `text` write results to standard output. `note` writes everything else to standard error. So a script
 *   reads results from a pipe, while a person still sees progress and advice.
 * - With `--json`, each result is one line. Errors are JSON on standard error, `{"error": {"code", "message"}}`.
 * - Every text is escaped here, because it may come from users and models, and a terminal obeys control characters. The
 *   linter forbids `process.stdout` elsewhere.
 */
export interface Output {
  readonly line: (text: string, tone?: Tone) => void;
  readonly text: (text: string, tone?: Tone) => void;
  readonly note: (text: string, tone?: Tone) => void;
}

type Tone = 'ok' | 'warning' | 'wrong' | 'heading';

const STYLES = { ok: 'green', warning: 'yellow', wrong: 'red', heading: 'bold' } as const;

/** A stream to write to. Only terminals have `hasColors`, which respects NO_COLOR, FORCE_COLOR and TERM. */
type Stream = Pick<NodeJS.WriteStream, 'write'> & { readonly hasColors?: () => boolean };

/** Each character is escaped alone, so an escape sequence that is split between two calls does no harm. */
export function openOutput(stdout: Stream, stderr: Stream): Output {
  return {
    line: (text, tone) => void stdout.write(`${paint(stdout, text, tone)}\n`),
    text: (text, tone) => void stdout.write(paint(stdout, text, tone)),
    note: (text, tone) => void stderr.write(`${paint(stderr, text, tone)}\n`),
  };
}

/** The text was escaped before, so it cannot contain colour codes of its own. */
function paint(stream: Stream, text: string, tone: Tone | undefined): string {
  const escaped = escapeActing(text);
  if (tone === undefined || stream.hasColors?.() !== true) return escaped;
  return styleText(STYLES[tone], escaped, { validateStream: false });
}

/** Size of the terminal, for commands that need the size. All commands write only through `Output`. */
export const terminal: Pick<NodeJS.WriteStream, 'columns' | 'isTTY'> = process.stdout;

export const processOutput = openOutput(process.stdout, process.stderr);

/** Exit code for an error with a code of turnfold. The other exit codes are from sysexits. */
const FAILED = 1;
/** Exit code for an unexpected error (EX_SOFTWARE). */
const BROKEN = 70;
/** Exit code if work was aborted at the shutdown deadline (EX_TEMPFAIL). */
export const CUT_OFF = 75;
/** Exit code if Redis refuses this client (EX_CONFIG). */
export const MISCONFIGURED = 78;
const STACK_CHARACTERS = 16_000;

export function writeJson(output: Output, value: unknown): void {
  output.line(JSON.stringify(value));
}

export function writeResult(
  output: Output,
  isJson: boolean | undefined,
  value: unknown,
  ...lines: readonly string[]
): void {
  if (isJson) writeJson(output, value);
  else for (const line of lines) output.line(line);
}

/** Prints an error. In JSON, an unexpected error gets the code `defect`. @returns the exit code */
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

/** With `--json`, the error is one of the results, so that each conversation has its line. @returns the exit code */
export function reportRefusal(output: Output, id: string, error: unknown, isJson = false): number {
  if (!isTurnfoldError(error)) throw error;
  if (isJson) writeJson(output, { id, error });
  output.note(`turnfold: ${id}: ${error.code}: ${error.message}`);
  return FAILED;
}
