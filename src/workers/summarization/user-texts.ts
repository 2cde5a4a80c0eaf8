import { setImmediate as nextTurn } from 'node:timers/promises';
import { readRecords } from '../../compaction/evidence/read-records.ts';
import type { TextRecord } from '../../compaction/evidence/records.ts';
import { breakAfter, breakBefore } from '../../compaction/evidence/word-breaks.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';

const OPEN = '<users>';
const CLOSE = '</users>';
/** The tag `<users>` in a user's text. It is escaped, so that the text cannot end the list `<users>`. */
const OWN_TAG = /<(?=[\s/]*(?:users)\b)/gi;
const GAP = '…';

/** Least tokens of a clipped piece, because a shorter piece would be useless. */
const MIN_CLIPPED_TOKENS = 16;
/** Tokens of a gap, with the blanks around it and the line end. */
const GAP_TOKENS = 3;
/** Characters of scripts without blanks between words, and their punctuation. */
const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\u3000-\u303f\u30fc\uff00-\uff65]/u;
/** Share of a clipped text that its start keeps. The end keeps the rest: requests often stand behind a pasted text. */
const START_SHARE = 0.6;

/**
 * Copies the users' texts of a range, so that no summarizer can lose or change them. Repeated lines are copied once.
 * Above the limit, the longest texts are clipped in the middle first. Then the oldest texts are left out, except for
 * the first, which usually states the topic.
 * @returns '' if the range has no text of a user, undefined if the limit allows none of the texts
 */
export async function copyUserTexts(
  counter: TokenCounter,
  entries: readonly LogEntry[],
  maxTokens: number,
): Promise<string | undefined> {
  const texts = foldRepeats(entries.filter(hasUserText));
  if (texts.length === 0) return '';
  for (let room = maxTokens; room > 0; ) {
    const text = await copyWithin(counter, texts, room);
    const over = text === undefined ? 0 : (await counter.count(text)) - maxTokens;
    if (over <= 0) return text;
    room -= over;
  }
  return undefined;
}

export function hasUserText({ message: { role, content } }: LogEntry): boolean {
  return role === 'user' && content.trim() !== '';
}

export function withoutUserTexts(text: string): string {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  return end === -1 ? text : text.slice(end + CLOSE.length).trimStart();
}

/** Reads the copied texts in order. Clipped texts are returned as they were copied. */
export function readCopiedTexts(text: string): string[] {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  if (end === -1) return [];
  const list = text.slice(OPEN.length, end).trim();
  return list.split(/\n(?=\d{1,9}: )/).map((copied) => copied.replace(/^\d{1,9}: /, '').trimEnd());
}

interface UserText {
  readonly seq: number;
  readonly text: string;
}

/** Least characters of a repeated line. Fewer characters in a row may be the same by chance. */
const MIN_REPEATED_CHARS = 80;

function foldRepeats(entries: readonly LogEntry[]): UserText[] {
  const known = new Set<string>();
  return entries.map(({ seq, message }) => {
    const lines = message.content.replace(OWN_TAG, '&lt;').split('\n');
    const kept: string[] = [];
    let repeated: string[] = [];
    const endRun = (): void => {
      const isLong = repeated.reduce((sum, line) => sum + line.length, 0) >= MIN_REPEATED_CHARS;
      for (const line of isLong ? [GAP] : repeated) kept.push(line);
      repeated = [];
    };
    for (const line of lines) {
      if (known.has(line)) repeated.push(line);
      else {
        endRun();
        kept.push(line);
      }
    }
    endRun();
    for (const line of lines) known.add(line);
    return { seq, text: kept.join('\n') };
  });
}

async function copyWithin(
  counter: TokenCounter,
  texts: readonly UserText[],
  maxTokens: number,
): Promise<string | undefined> {
  const [first, ...others] = texts as readonly [UserText, ...UserText[]];
  const frame = [OPEN, ...(others.length === 0 ? [] : [describeLeft(others.length)]), CLOSE, ''];
  const room = maxTokens - counter.countSync(frame.join('\n'));
  const taken: UserText[] = [];
  const sizes: number[] = [];
  let limit = 0;
  for (const text of [first, ...others.toReversed()]) {
    const size = GAP_TOKENS + (await counter.count(`${text.seq}: ${text.text}`));
    const shared = shareTokens([...sizes, size], room);
    if (shared < Math.min(MIN_CLIPPED_TOKENS, size)) break;
    taken.push(text);
    sizes.push(size);
    limit = shared;
  }
  if (taken.length === 0) return undefined;
  const missing = texts.length - taken.length;
  const lines: string[] = [];
  for (const [index, text] of taken.entries())
    lines.push((sizes[index] as number) <= limit ? render(text) : await clip(counter, text, limit));
  const [opening = '', ...newest] = lines;
  return [OPEN, opening, ...(missing === 0 ? [] : [describeLeft(missing)]), ...newest.toReversed(), CLOSE, ''].join(
    '\n',
  );
}

/** @returns the size to which the largest texts are cut so that all fit, or the largest size */
function shareTokens(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (sizes.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Math.max(...sizes);
}

function render({ seq, text }: UserText): string {
  return `${seq}: ${text}`;
}

async function clip(counter: TokenCounter, { seq, text }: UserText, maxTokens: number): Promise<string> {
  const room = maxTokens - counter.countSync(`${seq}: `) - GAP_TOKENS;
  const records = await readAll(text);
  const first = await counter.clipStart(text, Math.ceil(room * START_SHARE));
  const last = await counter.clipEnd(text.slice(first.length), room - Math.ceil(room * START_SHARE));
  const end = cutEnd(text, records, { from: endOfStart(text, records, first.length), to: text.length - last.length });
  const rest = await counter.clipStart(text.slice(0, text.length - last.length), room - (await counter.count(end)));
  const start = text.slice(0, endOfStart(text, records, rest.length));
  const gap = text.charAt(start.length) === '\n' ? `\n${GAP}\n` : ` ${GAP} `;
  return `${seq}: ${start.trimEnd()}${gap}${end.trimStart()}`.trimEnd();
}

const RECORDS_A_TURN = 256;

async function readAll(text: string): Promise<TextRecord[]> {
  const records: TextRecord[] = [];
  for (const record of readRecords({ part: 'user', text })) {
    records.push(record);
    if (records.length % RECORDS_A_TURN === 0) await nextTurn();
  }
  return records;
}

/** Finds where the kept start of a text ends. A sentence may be cut between words, because its subject stands first. */
function endOfStart(text: string, records: readonly TextRecord[], limit: number): number {
  const before = records.reduce((end, record) => (record.end <= limit ? Math.max(end, record.end) : end), 0);
  const at = records.findIndex(({ start, end }) => start < limit && end > limit);
  if (before > 0 && !isSentence(records, at)) return before;
  const space = endOfWords(text, limit);
  return Math.max(before, isSentence(records, at) || !text.includes(',') ? space : text.lastIndexOf(',', limit - 1));
}

/** Finds the last blank up to `limit`, or the last word in a script without blanks. */
function endOfWords(text: string, limit: number): number {
  const space = text.charAt(limit) === ' ' ? limit : text.lastIndexOf(' ', limit - 1);
  const word = breakBefore(text, limit);
  return word > space && WITHOUT_BLANKS.test(text.charAt(word - 1)) ? word : space;
}

/** True for a record that may be a sentence: a part of a line, or a line that is the whole text. */
function isSentence(records: readonly TextRecord[], at: number): boolean {
  const { line, field } = records[at] ?? {};
  if (field !== undefined || line === undefined) return false;
  return records.length === 1 || [at - 1, at + 1].some((other) => records[other]?.line === line);
}

interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Finds the kept end of a text. It begins with a record whose owner (heading or key) is shown, or with that owner. */
function cutEnd(text: string, records: readonly TextRecord[], { from, to }: Gap): string {
  const isFree = ({ owner }: TextRecord): boolean => owner === undefined || owner.end <= from;
  const owned = records.find(({ start }) => start >= to);
  // Only a sentence may be cut inside. A part of another record, such as a path or a number, would be a false value.
  const last = records.length - 1;
  if (owned === undefined)
    return isSentence(records, last) && isFree(records[last] as TextRecord) ? text.slice(breakAfter(text, to)) : '';
  const free = records.find((record) => record.start >= to && isFree(record));
  const end = free === undefined ? '' : text.slice(free.start);
  const named = nameOwner(owned, text.slice(owned.start));
  return end.length >= named.length / 2 ? end : named;
}

/** Names the owner of a record at the start of a clipped end. @returns '' if the owner is longer than the text */
function nameOwner({ owner }: TextRecord, text: string): string {
  const owners: string[] = [];
  for (let next = owner; next !== undefined; next = next.owner) owners.unshift(next.text.trim());
  const named = owners.join(` ${GAP} `);
  return named.length > text.length ? '' : `${named} ${GAP} ${text}`;
}

function describeLeft(count: number): string {
  return `(${count} more, in the log)`;
}
