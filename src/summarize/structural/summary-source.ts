import type { PartKind } from '../../compaction/evidence/fragments.ts';
import { type Fragment, type Ledger, readLedger } from '../../compaction/evidence/ledger.ts';
import { GAP } from '../../compaction/evidence/record-lines.ts';
import { MARK } from '../../compaction/evidence/summary-records.ts';
import { valueTermsInSlices } from '../../compaction/evidence/use-probability.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import type { SummaryRequest } from '../../domain/summarizer.ts';
import { parseObject } from '../../wire/calls.ts';
import { type CallPlaces, findCalls } from './call-places.ts';
import { estimateTokens } from './line-tokens.ts';
import { foldLine } from './text.ts';

/** Fragments from which a summary is chosen, by their indexes in the ledger. */
export interface SummarySource {
  readonly ledger: Ledger;
  /** The user's request, the messages to summarize, and later messages. */
  readonly messages: readonly Message[];
  /** Log number (seq) of the first message, assuming that the numbers have no gaps. */
  readonly firstSeq: number;
  readonly values: Float64Array;
  /** Tokens of each fragment, estimated until the fragment is counted. */
  readonly tokens: Float64Array;
  /** Fragments that stay in the context beside the summary. */
  readonly shown: readonly number[];
  readonly isOpen: Uint8Array;
  /** Index of the last fragment to summarize, or −1. */
  readonly newest: number;
  readonly calls: CallPlaces;
}

type SourceRequest = Pick<SummaryRequest, 'range' | 'messages' | 'later' | 'keptLater' | 'userTexts' | 'userRequest'>;

export function* readSource({
  range,
  messages,
  userRequest,
  userTexts = '',
  later = [],
  keptLater = 0,
}: SourceRequest): Interruptible<SummarySource> {
  const request: Message[] = userRequest === undefined ? [] : [{ role: 'user', content: userRequest }];
  const all = [...request, ...messages, ...later];
  const end = request.length + messages.length;
  const firstKept = all.length - Math.min(keptLater, later.length);
  const ledger = yield* readLedger(all);
  const { fragments, superseded } = ledger;
  yield;
  const values = yield* valueTermsInSlices(ledger);
  const stale = yield* findStale({
    messages: all,
    fragments,
    mayStay: (message) => message < end || message >= firstKept,
  });
  const tokens = new Float64Array(fragments.length);
  const isOpen = new Uint8Array(fragments.length);
  const shown: number[] = [];
  let newest = -1;
  for (const [index, fragment] of fragments.entries()) {
    const { message, part, text } = fragment;
    if (endsSlice(index)) yield;
    tokens[index] = estimateTokens(text) + 1;
    const isShown =
      message < request.length ||
      message >= firstKept ||
      (part === 'user' && isCopied(fragment, all[message], userTexts));
    if (message >= request.length && message < end && text.trim() !== '') newest = index;
    if (isShown) shown.push(index);
    else if (message < end && stale[index] === 0 && !(part === 'result' && superseded.has(message)) && !isFrame(text))
      isOpen[index] = 1;
  }
  openOwners(fragments, shown, isOpen);
  return {
    ledger,
    messages: all,
    firstSeq: range.from - request.length,
    values,
    tokens,
    shown: shown.filter((index) => isOpen[index] === 0),
    isOpen,
    newest,
    calls: findCalls(ledger, all),
  };
}

/** The owner of a chosen record is shown with that record, even if a copy of the user's text also shows the owner. */
function openOwners(fragments: readonly Fragment[], shown: readonly number[], isOpen: Uint8Array): void {
  const copied = new Set(shown.filter((index) => (fragments[index] as Fragment).part === 'user'));
  for (const [index, { part, owner }] of fragments.entries()) {
    if (part !== 'user' || isOpen[index] === 0) continue;
    for (let at = owner; at >= 0; at = (fragments[at] as Fragment).owner) if (copied.has(at)) isOpen[at] = 1;
  }
}

/** Characters before a fragment that are compared, too. They distinguish fragments with the same text in a copy. */
const CONTEXT_CHARS = 60;

function isCopied({ start, end }: Fragment, message: Message | undefined, userTexts: string): boolean {
  const { content = '' } = message ?? {};
  return userTexts.includes(content.slice(Math.max(0, start - CONTEXT_CHARS), end));
}

/**
 * Minimum characters of a result line that counts as repeated. Shorter lines, such as `status: paid`, may describe
 * several things.
 */
const MIN_REPEATED_CHARS = 24;
/** Matches `key: value` in the agent's words. A longer value is a sentence. */
const STATED_VALUE =
  /^\W{0,4}([\p{L}_][\p{L}\p{N}_ .-]{0,40})["'`*]{0,3}\s?[:=：]["'`*\s]{0,4}\S{1,40}(?: \S{1,20}){0,2}$/u;
const KEYS = /(?<![\p{L}\p{N}_-])([\p{L}_][\p{L}\p{N}_-]{0,60})["'`]?\s?[:=：]/gu;
/** Separator of keys and values. Most lines have no separator, and match neither pattern. */
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
function* findStale({ messages, fragments, mayStay }: StaleSource): Interruptible<Uint8Array> {
  const stale = new Uint8Array(fragments.length);
  const lines = new Set<string>();
  for (const [index, { message, part, text }] of fragments.entries()) {
    if (part === 'user' && mayStay(message) && isRepeated(lines, part, text)) stale[index] = 1;
    if (endsSlice(index)) yield;
  }
  const subjects = findSubjects(messages);
  const values = new NewestValues();
  for (let index = fragments.length - 1; index >= 0; index -= 1) {
    if (endsSlice(index)) yield;
    const { message, part, text, owner } = fragments[index] as Fragment;
    if (part === 'user') continue;
    const subject = part === 'result' ? subjects.get(message) : '';
    const keys = part === 'call' || subject === undefined ? [] : keysOf(part === 'result', text);
    const isReplaced = values.areReplaced(ownedText(fragments, subject ?? '', owner), keys, message);
    const said = part === 'result' ? ownedText(fragments, text, owner) : text;
    if (isReplaced || (mayStay(message) && isRepeated(lines, part, said))) stale[index] = 1;
  }
  return stale;
}

/** Text with its owner, because the same value under another owner has another meaning. */
function ownedText(fragments: readonly Fragment[], text: string, owner: number): string {
  return owner < 0 ? text : `${text}\n${(fragments[owner] as Fragment).text}`;
}

function isRepeated(lines: Set<string>, part: PartKind, text: string): boolean {
  // Folding only shortens a line, so a short text is a short line.
  if (part === 'result' && text.length < MIN_REPEATED_CHARS) return false;
  const line = withoutMark(foldLine(text));
  if (part === 'result' && line.length < MIN_REPEATED_CHARS) return false;
  if (lines.has(line)) return true;
  lines.add(line);
  return false;
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

const FRAME = /^<\/?(?:summary|users)\b[^<>]*>$/;

function withoutMark(line: string): string {
  const bare = line.replace(MARK, '');
  return bare.endsWith(GAP) ? bare.slice(0, -GAP.length).trimEnd() : bare;
}

function isFrame(line: string): boolean {
  return FRAME.test(line.trim());
}
