import { briefCall, clipAtWord } from '../../compaction/evidence/call-line.ts';
import type { MatchedMessage, RankedLine } from '../../compaction/recall/matched-message.ts';
import type { LinePlace } from '../../compaction/recall/message-lines.ts';
import type { RecallQuery } from '../../compaction/recall/recall-query.ts';
import { scanWords } from '../../compaction/recall/words.ts';
import { seqOfCallId } from '../../domain/ids.ts';
import type { LogEntry, Message, ToolCall } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { type LogPlace, readEntries } from './line-indexes.ts';

/** Tokens of an answer if the model gave no `limit`. The limit for tool results may allow fewer. */
export const ANSWER_TOKENS = 1_000;

const LAST_LINE_TOKENS = 40;
const MAX_CALL_CHARS = 80;

/** Tokens by which the next attempt is smaller than needed, because each attempt counts the whole answer. */
const SPARE_TOKENS = 8;

type Compose = (room: number) => Promise<string>;

/** Composes an answer within a limit. Its tokens may exceed the sum of its parts, so it may be composed again. */
export async function composeWithin(counter: TokenCounter, maxTokens: number, compose: Compose): Promise<string> {
  for (let room = maxTokens - LAST_LINE_TOKENS; ; ) {
    const answer = await compose(room);
    const excess = (await counter.count(answer)) - maxTokens;
    if (excess <= 0 || room <= 0) return answer;
    room -= excess + SPARE_TOKENS;
  }
}

/**
 * Frames a text by more backticks than any run in it has. So no line can end the frame or look like another message.
 */
export function frameText(title: string, text: string): string {
  if (text === '') return `${title} no text`;
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${title}\n${fence}\n${text}\n${fence}`;
}

export function titleOf({ seq, message }: LogEntry, calls: ReadonlyMap<string, ToolCall>, part = ''): string {
  return `message ${seq} (${nameAuthor(message, calls)})${part}:`;
}

function nameAuthor(
  { role, toolCallId = '', isError, stopped }: Message,
  calls: ReadonlyMap<string, ToolCall>,
): string {
  if (role !== 'tool') return stopped === true ? `${role}, stopped` : role;
  const call = calls.get(toolCallId);
  const result = isError === true ? 'failed tool result' : 'tool result';
  return call === undefined ? result : `${result} of ${clipAtWord(briefCall(call, MAX_CALL_CHARS), MAX_CALL_CHARS)}`;
}

/**
 * Reads the tool calls that results in `entries` answer. A call's id names its message.
 * @param entries results, and messages whose calls need no further reading
 */
export async function readCalls(
  place: LogPlace,
  entries: readonly LogEntry[],
  how: Parameters<typeof readEntries>[2],
): Promise<ReadonlyMap<string, ToolCall>> {
  const calls = new Map<string, ToolCall>();
  const addAll = (read: readonly LogEntry[]): void => {
    for (const { message } of read) for (const call of message.toolCalls ?? []) calls.set(call.id, call);
  };
  addAll(entries);
  const missing = new Set<number>();
  for (const { seq, message } of entries) {
    const { toolCallId } = message;
    if (toolCallId === undefined || calls.has(toolCallId)) continue;
    const from = seqOfCallId(toolCallId);
    if (Number.isSafeInteger(from) && from >= 1 && from < seq) missing.add(from);
  }
  for await (const read of readEntries(place, [...missing], how)) addAll(read);
  return calls;
}

/** Weight of a line for each line of its message that was chosen before, and of a line without a new word. */
const NEXT_LINE_SHARE = 0.97;
const KNOWN_SHARE = 0.75;
/** A line of twice this many words counts a fifth less, because it takes room from other lines. */
const SHORT_WORDS = 12;
const LENGTH_EXPONENT = 0.3;
/** Maximum lines to choose from, and number of lines in a row that may not fit. */
const MAX_CANDIDATES = 384;
const MAX_MISSES = 6;
/** Tokens for the line breaks and dots around a line whose neighbours are not shown. */
const GAP_TOKENS = 4;
/** Characters to show on each side of a match in a line that is too long, for each token of the answer's limit. */
const REACH_SHARE = 1 / 8;

export interface Found {
  readonly query: RecallQuery;
  readonly ranked: readonly RankedLine[];
  readonly messages: ReadonlyMap<number, MatchedMessage>;
  readonly calls: ReadonlyMap<string, ToolCall>;
  readonly count: number;
  /** Cache of token counts, because an answer may be composed more than once. */
  readonly counts: Map<string, number>;
  readonly notes: readonly string[];
}

/** Writes the best matching lines that fit, by message, and a last line about the lines that were left out. */
export async function writeFound(found: Found, room: number, counter: TokenCounter): Promise<string> {
  const { count, notes } = found;
  const chosen = new ChosenLines(found, room, counter);
  await chosen.choose();
  const more = Math.max(0, count - chosen.matches);
  const last = [count === 0 ? 'No line matches.' : describeMore(more, found.ranked[0]?.seq ?? 1), ...notes];
  return [...chosen.write(), last.filter((text) => text !== '').join(' ')].filter((text) => text !== '').join('\n');
}

function describeMore(more: number, seq: number): string {
  if (more === 0) return '';
  const lines = more === 1 ? '1 more line matches' : `${more} more lines match`;
  return `${lines}. Narrow the query, or read a whole message, e.g. with from: ${seq}, to: ${seq}.`;
}

interface Block {
  readonly message: MatchedMessage;
  readonly title: string;
  readonly lines: Set<number>;
  /** The part to show of a line that is too long. */
  cut?: string;
}

class ChosenLines {
  matches = 0;
  readonly #found: Found;
  readonly #counter: TokenCounter;
  readonly #room: number;
  readonly #blocks = new Map<number, Block>();
  /** Words of the chosen lines. */
  readonly #words = new Set<string>();
  readonly #wordsByLine = new Map<RankedLine, readonly string[]>();
  #left: number;

  constructor(found: Found, room: number, counter: TokenCounter) {
    this.#found = found;
    this.#room = room;
    this.#left = room;
    this.#counter = counter;
  }

  /** Chooses lines by score. A line counts less for each word that stands in chosen lines already. */
  async choose(): Promise<void> {
    const open = this.#found.ranked.slice(0, MAX_CANDIDATES);
    for (let misses = 0; misses < MAX_MISSES; ) {
      const best = this.#takeBest(open);
      if (best === undefined) break;
      const isTaken = await this.#take(best);
      if (!isTaken && this.#blocks.size === 0) return this.#cut(best);
      misses = isTaken ? 0 : misses + 1;
    }
  }

  /** Takes the best line out of a list that is sorted by score. A line counts at most its score. */
  #takeBest(open: RankedLine[]): RankedLine | undefined {
    let [best, bestScore] = [-1, 0];
    for (const [at, line] of open.entries()) {
      if (line.score <= bestScore) break;
      const score = this.#worthOf(line);
      if (score > bestScore) [best, bestScore] = [at, score];
    }
    return best === -1 ? undefined : open.splice(best, 1)[0];
  }

  #worthOf(line: RankedLine): number {
    const { seq, score } = line;
    const words = this.#wordsOf(line);
    let fresh = 0;
    for (const word of words) if (!this.#words.has(word)) fresh += 1;
    // An outcome says something new about its call, even in words of other outcomes.
    const share = line.isOutcome ? 1 : fresh / Math.max(1, words.length);
    const taken = this.#blocks.get(seq)?.lines.size ?? 0;
    const length = 1 + Math.max(0, words.length - SHORT_WORDS) / SHORT_WORDS;
    return score * (KNOWN_SHARE + (1 - KNOWN_SHARE) * share) * NEXT_LINE_SHARE ** taken * length ** -LENGTH_EXPONENT;
  }

  #wordsOf(line: RankedLine): readonly string[] {
    const known = this.#wordsByLine.get(line);
    if (known !== undefined) return known;
    const { lines, places } = this.#found.messages.get(line.seq) as MatchedMessage;
    const words: string[] = [];
    const [start, end] = places[line.line] ?? [0, 0];
    scanWords(lines.folded, start, end, (from, to) => words.push(lines.folded.slice(from, to)));
    this.#wordsByLine.set(line, words);
    return words;
  }

  write(): string[] {
    return [...this.#blocks.values()].map(({ message, title, lines, cut }) =>
      frameText(
        title,
        cut ??
          writeLines(
            message,
            [...lines].toSorted((a, b) => a - b),
          ),
      ),
    );
  }

  async #take(ranked: RankedLine): Promise<boolean> {
    const { seq, line } = ranked;
    const known = this.#blocks.get(seq);
    const block = known ?? this.#open(seq);
    const place = block.message.places[line];
    if (place === undefined || block.lines.has(line)) return true;
    const frame = known === undefined ? frameText(block.title, '\n') : '';
    const text = block.message.lines.text.slice(...place);
    const isNext = block.lines.has(line - 1) || block.lines.has(line + 1);
    const tokens = (await this.#count(`${frame}${text}`)) + (isNext ? 1 : GAP_TOKENS);
    if (tokens > this.#left) return false;
    this.#left -= tokens;
    for (const word of this.#wordsOf(ranked)) this.#words.add(word);
    if (ranked.isMatch) this.matches += 1;
    block.lines.add(line);
    this.#blocks.set(seq, block);
    return true;
  }

  async #count(text: string): Promise<number> {
    const known = this.#found.counts.get(text);
    if (known !== undefined) return known;
    const tokens = await this.#counter.count(text);
    this.#found.counts.set(text, tokens);
    return tokens;
  }

  #cut({ seq, line }: RankedLine): void {
    const block = this.#open(seq);
    const { text, folded } = block.message.lines;
    const [start, end] = block.message.places[line] ?? [0, 0];
    const searched = folded.slice(start, end);
    const word = this.#found.query.words.find(({ text: one }) => searched.includes(one))?.text ?? '';
    const at = start + searched.indexOf(word);
    const reach = Math.max(1, Math.floor(this.#room * REACH_SHARE));
    const shown = text.slice(Math.max(start, at - reach), Math.min(end, at + word.length + reach));
    this.#blocks.set(seq, { ...block, cut: `…${shown.toWellFormed()}…` });
    this.matches = 1;
  }

  #open(seq: number): Block {
    const message = this.#found.messages.get(seq) as MatchedMessage;
    return { message, title: titleOf(message.entry, this.#found.calls), lines: new Set() };
  }
}

/** Writes lines of a message, given in ascending order. `…` stands for lines that are left out. */
function writeLines({ lines: { text }, places }: MatchedMessage, lines: readonly number[]): string {
  const runs: LinePlace[][] = [];
  for (const [at, line] of lines.entries()) {
    const place = places[line];
    if (place === undefined) continue;
    if (line - 1 === lines[at - 1]) runs.at(-1)?.push(place);
    else runs.push([place]);
  }
  return runs.map((run) => writeRun(text, run)).join('\n…\n');
}

function writeRun(text: string, run: readonly LinePlace[]): string {
  const written = run.map(
    ([start, end], at) => `${at > 0 && isLineStart(text, start) ? '\n' : ''}${text.slice(start, end)}`,
  );
  const [start, end] = [run[0]?.[0] ?? 0, run.at(-1)?.[1] ?? 0];
  return `${isLineStart(text, start) ? '' : '…'}${written.join('')}${isLineStart(text, end + 1) ? '' : '…'}`;
}

function isLineStart(text: string, at: number): boolean {
  return at === 0 || at > text.length || text[at - 1] === '\n';
}
