import { fieldError, isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { runToEnd } from '../domain/interruptible.ts';
import { parseJsonText, readJsonText } from '../domain/json-text.ts';
import { isMapping } from '../domain/parse.ts';
import { LINE_BOUNDS, type OpenedConversation, openConversationLine } from '../wire/histories/conversation-line.ts';
import { detectFormat, FORMAT_NAMES, findFormat } from '../wire/histories/detect-format.ts';
import { isReadByLine } from '../wire/histories/formats/chat-lists.ts';
import type { FileRecord, ForeignConversation, HistoryFormat } from '../wire/histories/formats/format.ts';
import { type HistoryOptions, type ReadHistory, readHistoryInSlices } from '../wire/histories/history.ts';
import type { HistoryNote } from '../wire/histories/notes.ts';
import { nameFile, readLines } from './files.ts';
import { type Output, reportRefusal } from './output.ts';

export interface FileOptions {
  readonly from?: string;
  /** If true, a history that would have to be repaired is refused. */
  readonly strict?: boolean;
  readonly json?: boolean;
}

interface ConversationFile {
  readonly path: string;
  readonly output: Output;
  readonly options?: FileOptions;
  /** Returns the error to print, or throws to end the command. */
  readonly onRefusal?: (error: unknown) => unknown;
}

interface FileConversation extends ReadHistory {
  readonly id: string;
}

/** Maximum notes shown for each conversation. `--json` prints all notes. */
const SHOWN_NOTES = 5;

/** Reports an invalid conversation, and processes the others. @returns the exit code: 1 for an invalid one */
export async function eachConversation(
  { path, output, options: { from, strict, json } = {}, onRefusal = (error) => error }: ConversationFile,
  handle: (conversation: FileConversation, text: string) => Promise<void>,
): Promise<number> {
  let exitCode = 0;
  let isEmpty = true;
  let hasOpened = false;
  for await (const { id: place, text, open } of openHistories(path, from)) {
    let id = place;
    isEmpty = false;
    try {
      const conversation = open();
      hasOpened = true;
      id = conversation.id;
      const history = conversation.readHistory({ isStrict: strict });
      if (json !== true) for (const note of describeNotes(id, history.notes)) output.note(note);
      await handle({ id, ...history }, text);
    } catch (error) {
      // If the file is no conversation file, every line is wrong. Then one error is enough.
      if (!hasOpened) throw nameWrongFile(error, path);
      exitCode = reportRefusal(output, id, onRefusal(error), json);
    }
  }
  if (isEmpty) output.note(`turnfold: ${nameFile(path)} has no conversations`);
  return exitCode;
}

function nameWrongFile(cause: unknown, path: string): unknown {
  if (!isTurnfoldError(cause)) return cause;
  const why = `expected one conversation per line, {"id", "messages"}: ${cause.message}`;
  return new TurnfoldError(cause.code, `${nameFile(path)}: ${why}`, { field: path, cause });
}

function describeNotes(id: string, notes: readonly HistoryNote[]): string[] {
  const shown = notes.slice(0, SHOWN_NOTES).map(({ at, kind, what, count = 1 }) => {
    const place = count === 1 ? at : `${at} and ${count - 1} more`;
    return `${id}: ${place}: ${kind.replace('_', ' ')}: ${what}`;
  });
  const more = notes.length - shown.length;
  return more > 0 ? [...shown, `${id}: ${more} more notes, which --json prints`] : shown;
}

const OWN = 'turnfold';
const FILE_FORMATS: readonly string[] = [OWN, ...FORMAT_NAMES];

interface FileEntry {
  readonly id: string;
  /** Text that was read since the previous entry. */
  readonly text: string;
  readonly open: () => OpenedConversation;
}

/** Reads turnfold's own format line by line, and files of other programs whole. */
async function* openHistories(path: string, from?: string): AsyncGenerator<FileEntry> {
  if (from !== undefined && !FILE_FORMATS.includes(from)) {
    throw fieldError('invalid_input', '--from', `expected ${FILE_FORMATS.join(', ')}`);
  }
  const foreign: string[] = [];
  let isOwn: boolean | undefined;
  for await (const { number, line } of readLines(path)) {
    isOwn ??= from === undefined ? isOwnLine(line) : from === OWN;
    if (isOwn) yield { id: `line-${number}`, text: `${line}\n`, open: () => openConversationLine(line, number) };
    else foreign[number - 1] = line;
  }
  if (isOwn !== false) return;
  // Restores the blank lines that were skipped: some formats need them, and errors name lines by their numbers.
  const lines = Array.from(foreign, (line: string | undefined) => line ?? '');
  const { records, problem } = readRecords(lines.join('\n'));
  const format = chooseFormat(records, from);
  if (format.status === 'chosen')
    yield* openForeign(path, lines.join('\n'), { format: format.format, records, problem });
  // A conversation file may have a wrong line before the first conversation.
  else if (from === undefined && lines.some(isOwnLine)) yield* openLines(lines);
  else throw new TurnfoldError('invalid_input', `${nameFile(path)}: ${format.why}`, { field: path });
}

function* openLines(lines: readonly string[]): Generator<FileEntry> {
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    yield { id: `line-${index + 1}`, text: `${line}\n`, open: () => openConversationLine(line, index + 1) };
  }
}

/** True for a line in turnfold's own format, whose messages need no importer. */
function isOwnLine(line: string): boolean {
  const value = readJsonText(line, LINE_BOUNDS);
  return isMapping(value) && Array.isArray(value['messages']) && isReadByLine(value, detectFormat([{ value, at: '' }]));
}

interface ForeignFile extends Records {
  readonly format: HistoryFormat;
}

function* openForeign(path: string, text: string, { format, records, problem }: ForeignFile): Generator<FileEntry> {
  const conversations = format.read(records);
  const used = new Set<string>();
  for (const [index, conversation] of conversations.entries()) {
    const id = nameConversation(conversation, path, used);
    const isLast = index === conversations.length - 1;
    const notes = isLast && problem !== undefined ? [...conversation.notes, problem] : conversation.notes;
    const readHistory = (options?: HistoryOptions): ReadHistory =>
      runToEnd(readHistoryInSlices({ ...conversation, notes }, options));
    yield { id, text: index === 0 ? text : '', open: () => ({ id, readHistory }) };
  }
}

interface Records {
  readonly records: readonly FileRecord[];
  /** Note on a line that the writing program did not finish. */
  readonly problem?: HistoryNote | undefined;
}

function readRecords(text: string): Records {
  const lines = text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  const [first, ...others] = lines;
  if (first === undefined) return { records: [] };
  const isLines = others.length > 0 && readJsonText(first.line, LINE_BOUNDS) !== undefined;
  if (!isLines) {
    // A document that exceeds a bound is refused, and must not be read as plain text.
    const value = /^\s*[[{]/.test(text) ? parseDocument(text) : undefined;
    return { records: [{ value: value ?? text, at: '' }] };
  }
  const records: FileRecord[] = [];
  for (const { line, number } of lines) {
    const at = `line ${number}`;
    const isLast = number === lines.at(-1)?.number;
    const value = isLast ? readJsonText(line, LINE_BOUNDS) : parseJsonText(line, at, LINE_BOUNDS);
    if (value !== undefined) records.push({ value, at });
    else {
      const what = 'the last line was not finished, and is left out';
      return { records, problem: { at, kind: 'repaired', what } };
    }
  }
  return { records };
}

function parseDocument(text: string): unknown {
  try {
    return parseJsonText(text, 'file', LINE_BOUNDS);
  } catch (error) {
    if (isTurnfoldError(error) && error.message.includes('not valid JSON')) return undefined;
    throw error;
  }
}

type Choice =
  | { readonly status: 'chosen'; readonly format: HistoryFormat }
  | { readonly status: 'unknown'; readonly why: string };

function chooseFormat(records: readonly FileRecord[], from: string | undefined): Choice {
  const named = from === undefined ? undefined : findFormat(from);
  if (named?.recognizes(records) === true) return { status: 'chosen', format: named };
  const found = detectFormat(records);
  if (found !== undefined && named === undefined) return { status: 'chosen', format: found };
  const why =
    found === undefined
      ? `in no known format. Known formats: one conversation per line, {"id", "messages"} (${OWN}), ${FORMAT_NAMES.join(', ')}`
      : `this looks like ${found.title}: use --from ${found.name}`;
  return { status: 'unknown', why };
}

/** The id in the file, or else the name of the file. A number makes a repeated id unique. */
function nameConversation({ id }: ForeignConversation, path: string, used: Set<string>): string {
  const file = nameFile(path).split(/[/\\]/).at(-1) ?? '';
  const given = (id ?? file.replace(/\.[A-Za-z]+$/, ''))
    .split(/[^A-Za-z0-9_.]+/)
    .filter((word) => word !== '')
    .join('-')
    .slice(0, 120);
  const base = given || 'conversation';
  let name = base;
  for (let number = 2; used.has(name); number += 1) name = `${base}-${number}`;
  used.add(name);
  return name;
}
