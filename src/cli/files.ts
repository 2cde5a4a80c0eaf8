import { type FileHandle, open, readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { readPolicy } from '../domain/policy-input.ts';
import type { Output } from './output.ts';

/** Lines of a file that are not blank, with their numbers from 1. @throws not_found */
export async function* readLines(path: string): AsyncGenerator<{ readonly number: number; readonly line: string }> {
  const file = await openFile(path);
  let number = 0;
  try {
    for await (const line of file.readLines({ encoding: 'utf8' })) {
      number += 1;
      if (line.trim() !== '') yield { number, line: number === 1 ? line.replace(/^\uFEFF/, '') : line };
    }
  } finally {
    await file.close();
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

/**
 * Reads a policy as YAML, and tells its warnings.
 * @param path absent: an empty policy
 * @throws not_found, invalid_policy with the field
 */
export async function readPolicyFile(path: string | undefined, output: Output): Promise<PolicyInput> {
  if (path === undefined) return {};
  const text = await readTextFile(path);
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0]?.replace(/:$/, '') : 'not YAML';
    throw new TurnfoldError('invalid_policy', `${path}: ${why}`, { field: path, cause });
  }
  const { policy, warnings } = readPolicy(value);
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return policy;
}

/** A folder can be opened and fails at the first read: refused here, like what is not there. */
async function openFile(path: string): Promise<FileHandle> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    if (!(await file.stat()).isDirectory()) return file;
  } catch (cause) {
    throw unreadable(path, cause);
  }
  await file.close();
  throw unreadable(path, Object.assign(new Error('a folder'), { code: 'EISDIR' }));
}

function unreadable(path: string, cause: unknown): TurnfoldError {
  const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
  return new TurnfoldError('not_found', `${path}: cannot be read (${why})`, { field: path, cause });
}
