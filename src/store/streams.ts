import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import type { LogEntry } from '../domain/message.ts';
import { TURN_STATES, type TurnState } from '../domain/turn.ts';
import { ExistingKeys } from './existing-keys.ts';
import type { Keyspace } from './keys.ts';
import { decodeLogEntry } from './log.ts';
import { PackReader } from './packs.ts';
import { callStore, corruptRecord } from './records.ts';
import type { Subscriber } from './redis/subscriber.ts';
import { decodeStatus, type ScriptDefinition, scriptBinder } from './script.ts';
import { decodeEntries, type Entry, encodeBatch, type PieceBatch, type StreamEntry } from './stream-entries.ts';
import { turnLeaseArgs } from './turn-claims.ts';

/** Maximum stream entries of one page, because a reply of 10,000 entries would block Redis. */
const PAGE_ENTRIES = 1_000;
/** Maximum stream entries that the script returns. A reader that is up to date then needs no second command. */
const FEW_ENTRIES = 16;
/** Maximum bytes of the log entries of one page, because a single entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

/** Maximum packed log entries of one page, and their bytes: they are sent to Redis, which knows which ones belong to a turn. */
const PACKED_AT_ONCE = 200;
const PACKED_BYTES = 500_000;

/**
 * Opens the streams of turns that a client follows, for their workers. Pieces are a convenience of readers: the log is the
 * truth, and a reader completes each step from the log (invariant I18).
 */
export function openStreamWriter(redis: Redis, keyspace: Keyspace) {
  // A worker asks four times a second for each answer in flight.
  const existing = new ExistingKeys(redis);
  return {
    /** True once a reader has asked for the pieces of this turn. */
    isFollowed: (conversation: ConversationRef, turn: string) => existing.ask(keyspace.stream(conversation, turn)),
    appendPieces: scriptBinder(redis, keyspace)(appendPiecesScript),
  };
}

export type StreamWriter = ReturnType<typeof openStreamWriter>;

/** Opens the streams of turns for their readers. */
export function openStreamReader(redis: Redis, keyspace: Keyspace) {
  return {
    followTurn: scriptBinder(redis, keyspace)(followTurnScript),
    readStream: bindReadStream(redis, keyspace),
  };
}

export type StreamReader = ReturnType<typeof openStreamReader>;

/** Notifies a process that a followed turn has new pieces, log entries or another state. A notice may be lost. */
export function openStreamNotices(subscriber: Subscriber, keyspace: Keyspace) {
  return {
    /**
     * Calls `notify` at each notice, and once listening has begun.
     * @returns a function that stops the notices
     */
    listen(conversation: ConversationRef, turn: string, notify: () => void): () => void {
      const channel = keyspace.stream(conversation, turn);
      const listener = (): void => notify();
      // The subscription is not awaited. If the subscription fails, the reader polls.
      subscriber.join(channel, listener).then(listener, () => undefined);
      return () => subscriber.leave(channel, listener);
    },
  };
}

export type StreamNotices = ReturnType<typeof openStreamNotices>;

/** Asks workers to write the pieces of an unsettled turn from now on. */
const followTurnScript: ScriptDefinition<[conversation: ConversationRef, turn: string], void> = {
  file: 'follow-turn',
  args: ([, turn]) => [turn],
  decode: () => undefined,
};

export type AppendedPieces = { readonly status: 'appended' | 'not_followed' } | Lost;

/**
 * Limits of a turn's stream of pieces. When a limit is exceeded, the oldest pieces are removed. Readers then take the
 * step from the log.
 */
export const STREAM_LIMITS = {
  /** Number of batches that are always kept. Up to a hundred older ones may remain, because Redis trims roughly. */
  batches: 10_000,
  /** Bytes of pieces. Beyond this limit, the older half is removed. The text of any model answer fits in. */
  bytes: 2_097_152,
  /**
   * ms for which the pieces of a settled turn are kept (5 minutes). A browser that lost its connection comes back within
   * that time. The log holds everything but reasoning and compactions, so later readers need no pieces.
   */
  keptMs: 300_000,
} as const;

/** Writes pieces of a followed turn, unless the lease was lost. A repeated call may write the pieces twice. */
const appendPiecesScript: ScriptDefinition<[lease: TurnLease, batch: PieceBatch], AppendedPieces> = {
  file: 'append-pieces',
  // Only the keys that this script uses, because the names of all keys would take longer to encode than the pieces.
  keys: ([{ conversation, turn }], keyspace) => [
    keyspace.key(conversation, 'c'),
    keyspace.key(conversation, 'mb'),
    keyspace.turn(conversation, turn),
    keyspace.stream(conversation, turn),
  ],
  args: ([lease, batch]) => {
    const fields = encodeBatch(batch);
    const bytes = fields.reduce((sum, field) => sum + Buffer.byteLength(field), 0);
    return [...turnLeaseArgs(lease), STREAM_LIMITS.batches, STREAM_LIMITS.bytes, bytes, ...fields];
  },
  decode: decodeStatus,
};

/** Everything that a turn has done since a position, read at one moment. */
export interface StreamPage {
  readonly state: TurnState;
  /** Start of the wait, if the turn waits. All waits of a step at the gate of its model are one. */
  readonly waitingSince?: number;
  /** The first turn of the mailbox and the start of its wait, if that turn waits and this one is queued behind it. */
  readonly behind?: { readonly turn: string; readonly since: number };
  /** Number of the last entry in the conversation's log. */
  readonly head: number;
  /** The larger one of `afterSeq` and the number of the turn's user message. */
  readonly start: number;
  /** Messages behind `start` that the turn appended to the log, and those of turns that steered it. */
  readonly log: readonly LogEntry[];
  readonly entries: readonly StreamEntry[];
  /** Id of the last stream entry that was read, also if that entry is not in `entries`. */
  readonly position: string;
  /** True if further log entries exist that this page leaves out. */
  readonly hasMoreLog: boolean;
  /** True if further stream entries may exist that this page leaves out. */
  readonly hasMoreEntries: boolean;
}

type Progress = Omit<StreamPage, 'entries' | 'position' | 'hasMoreEntries'> & {
  /** New entries of the stream, if they are few. */
  readonly few: readonly Entry[];
  /** Id of the last entry of the stream, if there are more. */
  readonly last: string;
  /** True if the first log entry of the page is not in the log. It may be in a pack. */
  readonly isPacked: boolean;
};

export interface StreamQuery {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** Id of the last stream entry that the reader has, `0-0` for the start. */
  readonly after: string;
  /** Number of the last log entry that the reader has. */
  readonly afterSeq: number;
}

/**
 * Makes the function that reads a page. If the stream has many new entries, they are read after the log, up to the end
 * that the stream had then. Entries of a stream never change, so the two reads show one moment.
 */
function bindReadStream(redis: Redis, keyspace: Keyspace): (query: StreamQuery) => Promise<StreamPage | undefined> {
  const readProgress = scriptBinder(redis, keyspace)(readProgressScript);
  return async (query) => {
    const { conversation, turn, after } = query;
    let progress = await readProgress(query, []);
    if (progress?.isPacked === true) {
      const seqs = Array.from({ length: PACKED_AT_ONCE }, (_, at) => (progress?.start ?? 0) + 1 + at);
      const reader = new PackReader(redis, keyspace, conversation);
      const { found: packed } = await reader.find(seqs, Number.POSITIVE_INFINITY);
      // The script decides which entries belong to the turn.
      progress = await readProgress(query, fitInPage(seqs.map((seq) => packed.get(seq) ?? '')));
    }
    if (progress === undefined) return undefined;
    const { last, few, isPacked: _, ...page } = progress;
    const key = keyspace.stream(conversation, turn);
    const found =
      last === '' ? few : await callStore(() => redis.xrange(key, `(${after}`, last, 'COUNT', PAGE_ENTRIES));
    return {
      ...page,
      entries: decodeEntries(found),
      position: found.at(-1)?.[0] ?? after,
      hasMoreEntries: found.length === PAGE_ENTRIES,
    };
  };
}

/** Returns as many of the first entries as fit into a page, but at least one. */
function fitInPage(entries: readonly string[]): readonly string[] {
  let bytes = 0;
  const end = entries.findIndex((entry, at) => at > 0 && (bytes += Buffer.byteLength(entry)) > PACKED_BYTES);
  return end === -1 ? entries : entries.slice(0, end);
}

type ProgressReply =
  | []
  | [
      state: string,
      since: string,
      head: string,
      first: number,
      hasMore: number,
      last: string,
      log: string[],
      few: Entry[],
      isPacked: number,
      ahead: string,
      aheadSince: string,
    ];

/** @returns undefined if the turn does not exist */
const readProgressScript: ScriptDefinition<
  [...Parameters<(query: StreamQuery) => Promise<StreamPage | undefined>>, packed: readonly string[]],
  Progress | undefined
> = {
  file: 'read-stream',
  args: ([{ turn, afterSeq, after }, packed]) => [turn, afterSeq, PAGE_BYTES, after, FEW_ENTRIES, ...packed],
  decode: (reply, [{ conversation, turn }], keyspace) => {
    const answer = reply as ProgressReply;
    if (answer.length === 0) return undefined;
    const [word, since, head, first, hasMore, last, log, few, isPacked, ahead, aheadSince] = answer;
    const state = TURN_STATES.find((known): known is TurnState => known === word);
    if (state === undefined) throw corruptRecord(keyspace.turn(conversation, turn), 'state', 'the state is unknown');
    const key = keyspace.key(conversation, 'log');
    return {
      state,
      ...(since !== '' && { waitingSince: Number(since) }),
      ...(ahead !== '' && { behind: { turn: ahead, since: Number(aheadSince) } }),
      head: Number(head),
      start: first - 1,
      log: log.map((text, at) => decodeLogEntry(first + at, text, key)),
      hasMoreLog: hasMore === 1,
      last,
      few,
      isPacked: isPacked === 1,
    };
  },
};
