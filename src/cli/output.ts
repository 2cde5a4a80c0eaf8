import { isTurnfoldError } from '../domain/errors.ts';
import { LocalRedisError } from '../local-redis/errors.ts';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Output {
  readonly line: (text: string) => void;
  /** part of a line */
  readonly text: (text: string) => void;
  readonly note: (text: string) => void;
}

export const processOutput: Output = {
  line: (text) => process.stdout.write(`${text}\n`),
  text: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(`${text}\n`),
};

/** Exit codes: of a failure with a code, of a defect (EX_SOFTWARE of sysexits), of a login or an ACL to correct (EX_CONFIG). */
const FAILED = 1;
const BROKEN = 70;
const MISCONFIGURED = 78;

export function writeJson(output: Output, value: unknown): void {
  output.line(JSON.stringify(value));
}

/** Prints why a command failed and answers its exit code. To programs what has no code, since it is ours, is a `defect`. */
export function reportError(output: Output, error: unknown, isJson = false): number {
  if (isTurnfoldError(error)) {
    output.note(isJson ? JSON.stringify({ error }) : `turnfold: ${error.code}: ${error.message}`);
    return error.code === 'redis_denied' ? MISCONFIGURED : FAILED;
  }
  if (error instanceof LocalRedisError) {
    const { code, message, hint } = error;
    output.note(isJson ? JSON.stringify({ error: { code, message, hint } }) : `turnfold: ${code}: ${message}\n${hint}`);
    return FAILED;
  }
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
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
