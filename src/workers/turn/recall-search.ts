import type { RankedLine } from '../../compaction/recall/line-ranking.ts';
import { type MatchedMessage, matchMessage, rankMatched } from '../../compaction/recall/matched-message.ts';
import type { LinePlace } from '../../compaction/recall/message-lines.ts';
import { type RecallQuery, readQuery } from '../../compaction/recall/recall-query.ts';
import type { ToolCall } from '../../domain/message.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { IndexedLog, LineIndexes } from './line-indexes.ts';
import { readEntries } from './log-batches.ts';
import { frameText, readCalls, titleOf } from './recall-answer.ts';

/**
 * Lines of the index that are looked up in the log for exact matches, by the tokens of the answer. A line with its title
 * has about 40 tokens, so that an answer shows half of them.
 */
const TOKENS_A_LINE = 24;
const MIN_LINES = 32;
const MAX_LINES = 256;
/** Bytes of messages that are read for them. The best message is read at any size. */
const MAX_READ_BYTES = 1_048_576;

/** Lines before and after a match that are shown if the answer has room. */
const NEIGHBOURS = 2;
/** Tokens of the line breaks and dots before and after a line that stands alone. */
const GAP_TOKENS = 4;
/** Characters around the match in a line that is too long for the answer, as a share of the answer's tokens. */
const REACH_SHARE = 1 / 8;

interface Search {
  readonly query: string;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Tokens of the answer. */
  readonly maxTokens: number;
}

interface Found {
  readonly query: RecallQuery;
  /** Matching lines, best first. */
  readonly ranked: readonly RankedLine[];
  readonly messages: ReadonlyMap<number, MatchedMessage>;
  readonly calls: ReadonlyMap<string, ToolCall>;
  /** Number of all matching lines. */
  readonly count: number;
  /** Tokens of the texts that were counted, because an answer may be composed more than once. */
  readonly counts: Map<string, number>;
  /** Sentences of the last line, after the number of further matches. */
  readonly notes: readonly string[];
}

/** Searches the log of a conversation. */
export async function searchLog(
  log: IndexedLog,
  { query: text, from = 1, to = log.state.head, maxTokens }: Search,
  { indexes, signal }: { readonly indexes: LineIndexes; readonly signal: AbortSignal },
): Promise<Found> {
  const query = readQuery(text);
  const { index, segments, hidden } = await indexes.open(log, signal);
  const most = Math.min(MAX_LINES, Math.max(MIN_LINES, Math.floor(maxTokens / TOKENS_A_LINE)));
  const scope = { from, to: Math.min(to, log.state.head), segments, hidden, most };
  const matches = await indexes.search(index, query, scope);
  const bytesOf = (seq: number): number => index.bytesOf(seq);
  const seqs = limitBytes(new Set(matches.ranked.map(({ seq }) => seq)), bytesOf);
  const messages = new Map<number, MatchedMessage>();
  for await (const entries of readEntries(log, seqs, { signal, bytesOf })) {
    for (const entry of entries) {
      messages.set(entry.seq, await eventLoopShare.run(matchMessage(entry, query, matches)));
    }
  }
  const entries = [...messages.values()].map(({ entry }) => entry);
  const calls = await readCalls(log, entries, { signal, bytesOf });
  const notes = [
    ...(query.words.length === 0 ? ['Search for a word, a number or more than one sign.'] : []),
    ...(matches.count > 0 && !matches.areArchived ? ['You still see these messages in your context.'] : []),
    ...(from < index.first
      ? [`Messages before ${index.first} are too old to be searched. Read them with from and to.`]
      : []),
  ];
  return {
    query,
    ranked: rankMatched(messages.values()),
    messages,
    calls,
    count: matches.count,
    counts: new Map(),
    notes,
  };
}

function limitBytes(seqs: Iterable<number>, bytesOf: (seq: number) => number): number[] {
  const taken: number[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    bytes += bytesOf(seq);
    if (bytes > MAX_READ_BYTES && taken.length > 0) break;
    taken.push(seq);
  }
  return taken;
}

/** Writes the best lines that fit into `room` tokens, grouped by message, with a last line about the others. */
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

/** Lines of one message that are shown. */
interface Block {
  readonly message: MatchedMessage;
  readonly title: string;
  readonly lines: Set<number>;
  /** Part of a line that is too long to be shown. */
  cut?: string;
}

class ChosenLines {
  /** Number of matching lines among the chosen ones. */
  matches = 0;
  readonly #found: Found;
  readonly #counter: TokenCounter;
  readonly #room: number;
  readonly #blocks = new Map<number, Block>();
  #left: number;

  constructor(found: Found, room: number, counter: TokenCounter) {
    this.#found = found;
    this.#room = room;
    this.#left = room;
    this.#counter = counter;
  }

  async choose(): Promise<void> {
    const { ranked } = this.#found;
    const [best] = ranked;
    while (this.matches < ranked.length && (await this.#take(ranked[this.matches] as RankedLine))) this.matches += 1;
    if (best !== undefined && this.matches === 0) this.#cut(best);
    else await this.#takeNeighbours(ranked.slice(0, this.matches));
  }

  async #takeNeighbours(taken: readonly RankedLine[]): Promise<void> {
    for (let distance = 1; distance <= NEIGHBOURS; distance += 1) {
      for (const { seq, line } of taken) {
        for (const neighbour of [line - distance, line + distance]) {
          if (!(await this.#take({ seq, line: neighbour }))) return;
        }
      }
    }
  }

  /** Writes each message with its chosen lines, the one with the best line first. */
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

  /** @returns false if the line does not fit */
  async #take({ seq, line }: Pick<RankedLine, 'seq' | 'line'>): Promise<boolean> {
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

  /** Shows the best line around a query word, because all of it does not fit. */
  #cut({ seq, line }: RankedLine): void {
    const block = this.#open(seq);
    const { text, folded } = block.message.lines;
    const [start, end] = block.message.places[line] ?? [0, 0];
    const searched = folded.slice(start, end);
    const word = this.#found.query.words.find((one) => searched.includes(one)) ?? '';
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

/**
 * Joins lines. `…` stands for lines, and for parts of long lines, that are left out.
 * @param lines numbers of lines, ascending
 */
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
