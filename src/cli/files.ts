import { appendFile, type FileHandle, open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { TurnfoldError } from '../domain/errors.ts';

const STDIN = '-';

interface NumberedLine {
  readonly number: number;
  readonly line: string;
}

/** Reads lines, of standard input for `-`. Skips blank lines. @throws not_found if the file does not exist */
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

export function nameFile(path: string): string {
  return path === STDIN ? 'standard input' : path;
}

export async function readTextFile(path: string): Promise<string> {
  return (await readBytes(path)).toString();
}

/** Reads a file, or standard input for `-`. @throws not_found if the file does not exist */
export async function readBytes(path: string): Promise<Buffer> {
  try {
    return path === STDIN ? await buffer(process.stdin) : await readFile(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Creates the file if it does not exist. @throws invalid_input if it cannot be written */
export async function checkWritable(path: string): Promise<void> {
  try {
    await appendFile(path, '');
  } catch (cause) {
    throw new TurnfoldError('invalid_input', `${path}: cannot be written: ${explainFile(cause)}`, {
      field: path,
      cause,
    });
  }
}

/** Refuses a folder, which can be opened but not read. */
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

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder, but a file is needed',
};

function unreadable(path: string, cause: unknown): TurnfoldError {
  const why = explainFile(cause);
  return new TurnfoldError('not_found', `${nameFile(path)}: cannot be read: ${why}`, { field: path, cause });
}

function explainFile(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return FILE_ERRORS[code] === undefined ? code : `${FILE_ERRORS[code]} (${code})`;
}
