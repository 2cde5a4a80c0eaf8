import { type FileHandle, open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { TurnfoldError } from '../domain/errors.ts';

/** Path that stands for standard input. */
const STDIN = '-';

interface NumberedLine {
  /** From 1, blank lines included. */
  readonly number: number;
  readonly line: string;
}

/** The lines of a file, or of standard input for `-`, without blank ones. @throws not_found */
export async function* readLines(path: string): AsyncGenerator<NumberedLine> {
  if (path === STDIN) {
    yield* numberLines(createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }));
    return;
  }
  const file = await openFile(path);
  try {
    yield* numberLines(file.readLines({ encoding: 'utf8' }));
  } finally {
    await file.close();
  }
}

async function* numberLines(lines: AsyncIterable<string>): AsyncGenerator<NumberedLine> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() !== '') yield { number, line: number === 1 ? line.replace(/^\uFEFF/, '') : line };
  }
}

/** Name of a file in errors. */
export function nameFile(path: string): string {
  return path === STDIN ? 'standard input' : path;
}

/** The text of a file, or of standard input for `-`. @throws not_found */
export async function readTextFile(path: string): Promise<string> {
  try {
    return path === STDIN ? await text(process.stdin) : await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Opening a folder succeeds and reading it fails, so a folder is rejected here. */
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
  return new TurnfoldError('not_found', `${nameFile(path)}: cannot be read (${why})`, { field: path, cause });
}
