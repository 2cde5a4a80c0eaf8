import { renderCall } from '../../compaction/evidence/fragments.ts';
import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import { SPEAKER_MARKS, withoutMark } from '../../compaction/evidence/summary-records.ts';
import { endsSlice, forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import { parseObject } from '../../wire/calls.ts';
import { findReplacedText } from './replaced-text.ts';
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

interface StaleLines {
  /** 1 for each useless fragment, by its index. */
  readonly stale: Uint8Array;
  /** How often an outcome of a call was said, by the index of the last such fragment. */
  readonly repeated: ReadonlyMap<number, number>;
}

/**
 * Finds fragments that others make useless: repeated lines, values that a later line of the same key replaces, and old
 * lines of an agent's edits. A repeated user line stays at its first place, any other line at its last place. An outcome belongs to its
 * call, so equal outcomes of different calls are not repeated.
 */
export function* findStale({ messages, fragments, mayStay }: StaleSource): Interruptible<StaleLines> {
  const stale = new Uint8Array(fragments.length);
  const lines = new RepeatedLines(messages);
  yield* forEachInSlices(fragments, ({ message, part, text }, index) => {
    if (part === 'user' && mayStay(message) && lines.addPerson(text, index)) stale[index] = 1;
  });
  const subjects = findSubjects(messages);
  const replaced = new ReplacedText(messages);
  const values = new NewestValues();
  for (let index = fragments.length - 1; index >= 0; index -= 1) {
    if (endsSlice(index)) yield;
    const fragment = fragments[index] as Fragment;
    const { message, part, text, owner } = fragment;
    if (part === 'user') continue;
    if (replaced.has(fragment)) {
      stale[index] = 1;
      continue;
    }
    const isResult = part === 'result';
    // The same value under another owner has another meaning.
    const under = fragments[owner] === undefined ? '' : `\n${fragments[owner].text}`;
    const subject = isResult ? subjects.get(message) : '';
    const keys = part === 'call' || subject === undefined ? [] : keysOf(isResult, text);
    const isReplaced = values.areReplaced((subject ?? '') + under, keys, message);
    const isRepeated = mayStay(message) && lines.add({ message, part, text, under }, index);
    if (isReplaced || isRepeated) stale[index] = 1;
  }
  return { stale, repeated: lines.counts };
}

/** Old lines of the edits in the words of an agent. Fragments are asked for backwards. */
class ReplacedText {
  readonly #messages: readonly Message[];
  #message = -1;
  #places: ReturnType<typeof findReplacedText> = [];

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  has({ message, part, start }: Fragment): boolean {
    if (part !== 'statement') return false;
    if (message !== this.#message) this.#places = findReplacedText(this.#messages[message]?.content ?? '');
    this.#message = message;
    while ((this.#places.at(-1)?.[0] ?? 0) > start) this.#places.pop();
    const [from, to] = this.#places.at(-1) ?? [0, 0];
    return start >= from && start < to;
  }
}

/** Maximum characters of a result in one line that counts as the outcome of its call. */
const MAX_OUTCOME_CHARS = 400;
const COUNT = / \(×(\d{1,6})\)$/;

interface SaidLine extends Pick<Fragment, 'message' | 'part' | 'text'> {
  /** Text of the owner. */
  readonly under: string;
}

class RepeatedLines {
  readonly counts = new Map<number, number>();
  readonly #indexOf = new Map<string, number>();
  /** Calls of results that are outcomes, by the index of the result's message. */
  readonly #outcomes: ReadonlyMap<number, string>;
  readonly #messages: readonly Message[];

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
    this.#outcomes = findOutcomes(messages);
  }

  addPerson(text: string, index: number): boolean {
    return this.#add(withoutMark(foldLine(text)), index, 1);
  }

  /** @returns true if a later line says the same of the same thing */
  add({ message, part, text, under }: SaidLine, index: number): boolean {
    const isSummary = this.#messages[message]?.role === 'summary';
    const isCarried = isSummary && text.startsWith(SPEAKER_MARKS.result);
    const call = isCarried ? callOf(under) : this.#outcomes.get(message);
    const isPlain = part === 'result' && call === undefined;
    // Folding only shortens a line, so a short text is a short line.
    if (isPlain && text.length < MIN_REPEATED_CHARS) return false;
    const line = withoutMark(foldLine(text));
    const said = isSummary ? line.replace(COUNT, '') : line;
    if (said === '' || (isPlain && said.length < MIN_REPEATED_CHARS)) return false;
    const times = isSummary ? Number(COUNT.exec(line)?.[1] ?? 1) : 1;
    if (call !== undefined)
      return (isCarried && this.#indexOf.has(said)) || this.#add(`${said}\n→ ${call}`, index, times);
    return this.#add(part === 'result' ? said + under : said, index, 0);
  }

  #add(key: string, index: number, times: number): boolean {
    const last = this.#indexOf.get(key);
    if (last === undefined) this.#indexOf.set(key, index);
    this.counts.set(last ?? index, (this.counts.get(last ?? index) ?? 0) + times);
    return last !== undefined;
  }
}

/** Writes the first line of a call in the same way for a call of the log and of a summary. */
function callOf(text: string): string {
  return withoutMark(foldLine(text)).replace(COUNT, '');
}

/** Finds results that failed or have one short line, with the first lines of their calls. */
function findOutcomes(messages: readonly Message[]): Map<number, string> {
  const calls = new Map<string, ToolCall>();
  const outcomes = new Map<number, string>();
  for (const [index, message] of messages.entries()) {
    const { toolCalls = [], toolCallId, content } = message;
    for (const call of toolCalls) calls.set(call.id, call);
    const call = toolCallId === undefined ? undefined : calls.get(toolCallId);
    if (call === undefined) continue;
    const isLine = content.length <= MAX_OUTCOME_CHARS && !content.trim().includes('\n');
    if (isLine || readOutcome(message).status !== 'ok')
      outcomes.set(index, callOf(renderCall(call).split('\n', 1)[0] ?? ''));
  }
  return outcomes;
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
