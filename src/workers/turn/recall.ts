import { z } from 'zod';
import type { Tool } from '../../domain/agent.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry, Role } from '../../domain/message.ts';
import type { ContextReader, ContextStore } from '../../domain/ports/context-store.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import { RECALL, RecallSearch, readQuery, recallText } from '../../domain/recall.ts';
import { START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';

/** Tokens of a recall answer if the model gives no `limit`. The limit for tool results may allow fewer. */
const ANSWER_TOKENS = 1_000;

/** Characters of an excerpt before and after each match. Fewer if the answer has too few tokens left. */
const REACH = 120;
const ROOM_A_REACH = 8;

/** Tokens reserved for the JSON around the hits or messages. */
const FRAME_TOKENS = 40;

const seqSchema = z.number().int().min(1);

const input = z
  .object({
    query: z.string().trim().min(1).max(400).optional().describe('words, an id or a path to search for'),
    from: seqSchema.optional().describe('number (seq) of the first message to read or search'),
    to: seqSchema.optional().describe('number (seq) of the last message to read or search'),
    ref: z.string().min(1).max(64).optional().describe('the reference of a clipped result, to read it whole'),
    offset: z.number().int().min(0).optional().describe('characters of the first message, or of that result, to skip'),
    limit: z.number().int().min(100).optional().describe(`tokens of the answer, ${ANSWER_TOKENS} unless given`),
  })
  .refine(({ query, from, to, ref }) => (query ?? from ?? to ?? ref) !== undefined, {
    message: 'give a query to search, a range (from, to) of messages to read, or the ref of a clipped result',
  })
  .refine(({ query, from, to, ref }) => ref === undefined || (query ?? from ?? to) === undefined, {
    path: ['ref'],
    message: 'must be given alone: leave out query, from and to',
  })
  .refine(({ from = 1, to = Infinity }) => from <= to, { path: ['to'], message: 'must not be less than from' });

type RecallInput = z.infer<typeof input>;

export interface RecallPlace {
  readonly conversation: ConversationRef;
  readonly contexts: Pick<ContextStore, 'readLog' | 'readText' | 'readVersion'>;
  readonly state: Pick<ConversationState, 'head' | 'size'>;
}

interface ReadMessage {
  readonly seq: number;
  readonly role: Role;
  readonly text: string;
}

interface Hit {
  readonly seq: number;
  readonly role: Role;
  readonly excerpt: string;
}

/**
 * The built-in tool `recall`, with which an agent searches and reads its own conversation, including messages that
 * compaction archived.
 */
export class Recall implements Pick<Tool, 'name' | 'description' | 'input'> {
  readonly name = RECALL;
  readonly description =
    'Searches and reads earlier messages of this conversation, also those that you no longer see. With a query it returns hits, ' +
    'best first: number of the message (seq), role and an excerpt. With from and to it returns those messages in full, and ' +
    '"next" to continue. With the ref of a clipped result it returns that result. The answer is a record, not a new request.';
  readonly input = input;
  readonly #counter: TokenCounter;
  readonly #maxTokens: number;

  /** @param maxTokens limit for the tokens of a recall answer, as for other tool results */
  constructor(counter: TokenCounter, maxTokens: number) {
    this.#counter = counter;
    this.#maxTokens = maxTokens;
  }

  /** Returns the recall tool for one conversation. That tool can read no other conversation. */
  open(place: RecallPlace): Tool {
    const { name, description } = this;
    const run = (given: RecallInput, { signal }: { readonly signal: AbortSignal }): Promise<string> => {
      const { query, ref } = given;
      if (ref !== undefined) return this.#readWhole(place, { ...given, ref });
      return query === undefined ? this.#read(place, given, signal) : this.#search(place, { ...given, query }, signal);
    };
    return { name, description, input, retry: 'safe', run };
  }

  async #search(
    place: RecallPlace,
    { query, limit, ...range }: RecallInput & { readonly query: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { contexts, conversation, state } = place;
    const { version: number } = state.size;
    const version = await contexts.readVersion(conversation, number);
    const search = new RecallSearch(readQuery(query), (version ?? START_VERSION).segments);
    for await (const entries of readBatches(place, seqsOf(place, range), signal)) {
      await eventLoopShare.run(addAll(search, entries));
    }
    const ranked = search.rank();
    const compose = async (room: number): Promise<object> => {
      const reach = Math.min(REACH, Math.floor(room / ROOM_A_REACH));
      const hits = await this.#takeFitting(room, this.#excerpts(place, { search, ranked, reach }, signal));
      const more = ranked.length - hits.length;
      const note = ranked.length === 0 ? 'nothing found' : 'not archived: you see these messages';
      return { hits, ...(more > 0 && { more }), ...(!search.hasArchived && { note }) };
    };
    return this.#composeWithin(limit, compose);
  }

  async *#excerpts(
    place: RecallPlace,
    { search, ranked, reach }: { readonly search: RecallSearch; readonly ranked: readonly number[]; reach: number },
    signal: AbortSignal,
  ): AsyncGenerator<Hit> {
    for await (const entries of readBatches(place, ranked, signal)) {
      for (const { seq, message } of entries) {
        yield { seq, role: message.role, excerpt: await eventLoopShare.run(search.excerpt(message, reach)) };
      }
    }
  }

  async #takeFitting<Item>(room: number, items: AsyncIterable<Item>): Promise<Item[]> {
    const taken: Item[] = [];
    let left = room;
    for await (const item of items) {
      left -= await this.#count(item);
      if (left < 0) break;
      taken.push(item);
    }
    return taken;
  }

  async #read(place: RecallPlace, { offset = 0, limit, ...range }: RecallInput, signal: AbortSignal): Promise<string> {
    const compose = async (room: number): Promise<object> => {
      const messages: ReadMessage[] = [];
      let left = room;
      for await (const entries of readBatches(place, seqsOf(place, range), signal)) {
        for (const { seq, message } of entries) {
          const skipped = messages.length === 0 ? offset : 0;
          const whole: ReadMessage = { seq, role: message.role, text: recallText(message).slice(skipped) };
          const fitting = await this.#fit(whole, left);
          const isWhole = fitting.text.length === whole.text.length;
          // Only the first message of a recall answer is cut, because it can be too large for any answer. Every other
          // message is returned in full, if necessary by the next recall call.
          if (!isWhole && messages.length > 0) return { messages, next: { from: seq } };
          messages.push(fitting);
          if (!isWhole) return { messages, next: { from: seq, offset: skipped + fitting.text.length } };
          left -= await this.#count(fitting);
        }
      }
      return { messages };
    };
    return this.#composeWithin(limit, compose);
  }

  /** Lets the model read the full text of a tool result that was clipped in its context. */
  async #readWhole(
    { contexts, conversation }: RecallPlace,
    { ref, offset = 0, limit }: RecallInput & { readonly ref: string },
  ): Promise<string> {
    const whole = await contexts.readText(conversation, ref);
    if (whole === undefined) return JSON.stringify({ note: 'no stored text has this ref' });
    const left = { ref, text: whole.slice(offset) };
    return this.#composeWithin(limit, async (room) => {
      const fitting = await this.#fit(left, room);
      const end = offset + fitting.text.length;
      return { ...fitting, ...(end < whole.length && { next: { ref, offset: end } }) };
    });
  }

  /**
   * Returns the longest start of the item's text whose tokens are within `room`. The cost does not grow with the length
   * of the text.
   */
  async #fit<Item extends { readonly text: string }>(item: Item, room: number): Promise<Item> {
    for (let tokens = room; tokens > 0; ) {
      const cut = { ...item, text: await this.#counter.clipStart(item.text, tokens) };
      const counted = await this.#count(cut);
      if (counted <= room) return cut;
      tokens = Math.floor((tokens * room) / counted);
    }
    return { ...item, text: '' };
  }

  /**
   * Composes a recall answer of at most `limit` tokens. The composed JSON may have more tokens than its parts. In that
   * case the parts are composed again with fewer tokens.
   */
  async #composeWithin(limit: number | undefined, compose: (room: number) => Promise<object>): Promise<string> {
    const maxTokens = Math.min(limit ?? ANSWER_TOKENS, this.#maxTokens);
    for (let room = maxTokens - FRAME_TOKENS; ; ) {
      const answer = JSON.stringify(await compose(room));
      const excess = (await this.#counter.count(answer)) - maxTokens;
      if (excess <= 0 || room <= 0) return answer;
      room -= excess;
    }
  }

  /** Counts the tokens of one hit or message as JSON, with its separator. */
  async #count(item: unknown): Promise<number> {
    return (await this.#counter.count(JSON.stringify(item))) + 1;
  }
}

function seqsOf({ state }: RecallPlace, { from = 1, to = state.head }: RecallInput): Iterable<number> {
  return countSeqs(from, Math.min(to, state.head));
}

function* addAll(search: RecallSearch, entries: readonly LogEntry[]): Generator<void, void> {
  for (const entry of entries) {
    yield;
    yield* search.add(entry);
  }
}

/**
 * Approximate bytes of one read of the log. Parsing that many bytes takes about a millisecond. A single message may be
 * four times as large.
 */
const BATCH_BYTES = 262_144;

/**
 * Number of log entries in the first read, when the size of entries is not known. Each further read may have twice as
 * many.
 */
const FIRST_ENTRIES = 4;
const MAX_ENTRIES = 128;

interface LogPlace {
  readonly contexts: Pick<ContextReader, 'readLog'>;
  readonly conversation: ConversationRef;
}

/**
 * Reads the log entries with the numbers `seqs`, in that order and in batches of limited size. Skips numbers without an
 * entry.
 */
async function* readBatches(
  { contexts, conversation }: LogPlace,
  seqs: Iterable<number>,
  signal: AbortSignal,
): AsyncGenerator<readonly LogEntry[]> {
  let size = FIRST_ENTRIES;
  for (const batch of takeBatches(seqs, () => size)) {
    signal.throwIfAborted();
    const entries = await contexts.readLog(
      conversation,
      batch.map((seq) => ({ from: seq, to: seq })),
    );
    const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
    yield batch.flatMap((seq) => bySeq.get(seq) ?? []);
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const fitting = Math.floor((size * BATCH_BYTES) / Math.max(1, bytes));
    size = Math.max(1, Math.min(fitting, size * 2, MAX_ENTRIES));
  }
}

/** Yields all sequence numbers from `from` to `to`, both included. */
function* countSeqs(from: number, to: number): Generator<number> {
  for (let seq = from; seq <= to; seq += 1) yield seq;
}

function* takeBatches(seqs: Iterable<number>, size: () => number): Generator<readonly number[]> {
  let batch: number[] = [];
  for (const seq of seqs) {
    batch.push(seq);
    if (batch.length < size()) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
