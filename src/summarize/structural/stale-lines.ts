import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { GAP } from '../../compaction/evidence/record-lines.ts';
import { MARK } from '../../compaction/evidence/summary-records.ts';
import { endsSlice, forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import { parseObject } from '../../wire/calls.ts';
import { foldLine } from './text.ts';

/** A shorter result line, such as `status: paid`, may describe several things, so it never counts as repeated. */
const MIN_REPEATED_CHARS = 24;
/** Matches `key: value` in the agent's words. A longer value is a sentence. */
const STATED_VALUE =
  /^\W{0,4}([\p{L}_][\p{L}\p{N}_ .-]{0,40})["'`*]{0,3}\s?[:=：]["'`*\s]{0,4}\S{1,40}(?: \S{1,20}){0,2}$/u;
const KEYS = /(?<![\p{L}\p{N}_-])([\p{L}_][\p{L}\p{N}_-]{0,60})["'`]?\s?[:=：]/gu;
/** Separator of keys and values. Tested first, because most lines have none and so match no pattern below. */
const SEPARATOR = /[:=：]/;
/** One word that may name the subject of a call, such as a path or an order's id. */
const NAME = /^\S{1,200}$/;

interface StaleSource {
  readonly messages: readonly Message[];
  readonly fragments: readonly Fragment[];
  /** True if the message may stay in the context. Its lines need not be repeated. */
  readonly mayStay: (message: number) => boolean;
}

/**
 * Finds fragments that later fragments make useless: repeated lines, and values that a later line of the same key
 * replaces. A repeated user line stays at its first place, any other line at its last place.
 * @returns 1 for each useless fragment, by its index
 */
export function* findStale({ messages, fragments, mayStay }: StaleSource): Interruptible<Uint8Array> {
  const stale = new Uint8Array(fragments.length);
  const lines = new Set<string>();
  yield* forEachInSlices(fragments, ({ message, part, text }, index) => {
    if (part === 'user' && mayStay(message) && isRepeated(lines, text)) stale[index] = 1;
  });
  const subjects = findSubjects(messages);
  const values = new NewestValues();
  for (let index = fragments.length - 1; index >= 0; index -= 1) {
    if (endsSlice(index)) yield;
    const { message, part, text, owner } = fragments[index] as Fragment;
    if (part === 'user') continue;
    const isResult = part === 'result';
    // The same value under another owner has another meaning.
    const under = fragments[owner] === undefined ? '' : `\n${fragments[owner].text}`;
    const subject = isResult ? subjects.get(message) : '';
    const keys = part === 'call' || subject === undefined ? [] : keysOf(isResult, text);
    const isReplaced = values.areReplaced((subject ?? '') + under, keys, message);
    const said = isResult ? text + under : text;
    if (isReplaced || (mayStay(message) && isRepeated(lines, said, isResult ? MIN_REPEATED_CHARS : 0)))
      stale[index] = 1;
  }
  return stale;
}

function isRepeated(lines: Set<string>, text: string, minChars = 0): boolean {
  // Folding only shortens a line, so a short text is a short line.
  if (text.length < minChars) return false;
  const line = withoutMark(foldLine(text));
  if (line.length < minChars) return false;
  if (lines.has(line)) return true;
  lines.add(line);
  return false;
}

function withoutMark(line: string): string {
  const bare = line.replace(MARK, '');
  return bare.endsWith(GAP) ? bare.slice(0, -GAP.length).trimEnd() : bare;
}

function keysOf(isResult: boolean, text: string): string[] {
  if (!SEPARATOR.test(text)) return [];
  if (isResult) return [...text.matchAll(KEYS)].map(([, key = '']) => key);
  const key = STATED_VALUE.exec(text.trim())?.[1];
  return key === undefined ? [] : [key];
}

/** Newest message with each key of a subject. Messages are read backwards. */
class NewestValues {
  readonly #messageOf = new Map<string, Map<string, number>>();

  /** @returns true if each key has a value in a later message */
  areReplaced(subject: string, keys: readonly string[], message: number): boolean {
    const messageOf = this.#messageOf.get(subject) ?? new Map<string, number>();
    this.#messageOf.set(subject, messageOf);
    let replaced = 0;
    for (const key of keys) {
      const newest = messageOf.get(key) ?? message;
      messageOf.set(key, newest);
      if (newest > message) replaced += 1;
    }
    return keys.length > 0 && replaced === keys.length;
  }
}

/** One-word arguments of the call for each result, by the index of the result's message. */
function findSubjects(messages: readonly Message[]): Map<number, string> {
  const subjectOf = new Map<string, string>();
  const subjects = new Map<number, string>();
  for (const [index, { toolCalls = [], toolCallId = '' }] of messages.entries()) {
    for (const call of toolCalls) subjectOf.set(call.id, describeSubject(call));
    const subject = subjectOf.get(toolCallId) ?? '';
    if (subject !== '') subjects.set(index, subject);
  }
  return subjects;
}

function describeSubject({ arguments: text }: ToolCall): string {
  const names = Object.values(parseObject(text) ?? {})
    .map(String)
    .filter((value) => NAME.test(value));
  return names.toSorted().join(' ');
}
