import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parse as parseYaml } from 'yaml';
import { TurnfoldError } from '../domain/errors.ts';
import { type ReadPolicy, readPolicy } from '../domain/policy-input.ts';

/** Lines of a file that are not blank, with their numbers from 1. @throws not_found */
export async function* readLines(path: string): AsyncGenerator<{ readonly number: number; readonly line: string }> {
  const input = createReadStream(path, 'utf8');
  await new Promise<void>((resolve, reject) => {
    input.once('open', () => resolve());
    input.once('error', (cause) => reject(unreadable(path, cause)));
  });
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (line.trim() !== '') yield { number, line };
  }
}

/** @throws not_found */
export async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @throws not_found, invalid_policy with the field */
export async function readPolicyFile(path: string): Promise<ReadPolicy> {
  const text = await readTextFile(path);
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : 'not YAML';
    throw new TurnfoldError('invalid_policy', `${path}: ${why}`, { field: path, cause });
  }
  return readPolicy(value);
}

function unreadable(path: string, cause: unknown): TurnfoldError {
  const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
  return new TurnfoldError('not_found', `${path}: cannot be read (${why})`, { field: path, cause });
}
