import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { wireFormats } from '../../wire/formats.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { nameFile, readTextFile } from '../files.ts';
import { type Output, reportError, writeJson } from '../output.ts';
import { readFormat } from '../read-format.ts';

export interface ValidateOptions {
  readonly format: string;
  readonly json?: boolean;
}

/** To a script, a request that breaks rules is an answer; a file that holds none is a failure. */
const BROKEN_RULES = 1;
const BAD_INPUT = 2;

/** Prints the rules of a format that a request body breaks, or that it breaks none. @returns the exit code: 0 where it breaks none */
export async function validateFile(path: string, options: ValidateOptions, output: Output): Promise<number> {
  let violations: readonly Violation[];
  try {
    const { validate } = wireFormats[readFormat(options.format)];
    violations = validate(parseBody(await readTextFile(path), path));
  } catch (error) {
    const exitCode = reportError(output, error, options.json);
    return isTurnfoldError(error) ? BAD_INPUT : exitCode;
  }
  if (options.json) writeJson(output, { violations });
  else if (violations.length === 0) output.line(`valid: no rule of ${options.format} is broken`);
  else for (const violation of violations) output.line(describeViolation(violation));
  return violations.length === 0 ? 0 : BROKEN_RULES;
}

/** @throws invalid_input */
function parseBody(text: string, path: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new TurnfoldError('invalid_input', `${nameFile(path)}: not JSON; expected one request body`, {
      field: path,
      cause,
    });
  }
}

const RULE_WIDTH = 'form'.length;

function describeViolation({ rule, path, message }: Violation): string {
  return `${rule.padEnd(RULE_WIDTH)}  ${path === '' ? 'request' : path}: ${message}`;
}
