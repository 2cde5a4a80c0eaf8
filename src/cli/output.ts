import { isTurnfoldError } from '../domain/errors.ts';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Output {
  readonly line: (text: string) => void;
  readonly note: (text: string) => void;
}

export const processOutput: Output = {
  line: (text) => process.stdout.write(`${text}\n`),
  note: (text) => process.stderr.write(`${text}\n`),
};

export function writeJson(output: Output, value: unknown): void {
  output.line(JSON.stringify(value));
}

/** Prints why a command failed and answers its exit code. */
export function reportError(output: Output, error: unknown, isJson: boolean): number {
  if (isTurnfoldError(error)) {
    output.note(isJson ? JSON.stringify({ error }) : `turnfold: ${error.code}: ${error.message}`);
    return 1;
  }
  output.note(`turnfold: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 70;
}
