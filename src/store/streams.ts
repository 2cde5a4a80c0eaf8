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

/** A reply of 10,000 entries would block Redis. */
const PAGE_ENTRIES = 1_000;
/** Entries that the script itself returns. A reader that is up to date needs no second command. */
const FEW_ENTRIES = 16;
/** A single log entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

/** Packed log entries of one page. They are sent to Redis, which knows which ones belong to a turn. */
const PACKED_AT_ONCE = 200;
const PACKED_BYTES = 500_000;

/**
 * Streams of turns that a client follows, for their workers. Pieces are a convenience of readers: the log is the
 * truth, and a reader completes each step from it (I18).
 */
export function openStreamWriter(redis: Redis, keyspace: Keyspace) {
  const existing = new ExistingKeys(redis);
  return {
    isFollowed: (conversation: ConversationRef, turn: string) => existing.ask(keyspace.stream(conversation, turn)),
    appendPieces: scriptBinder(redis, keyspace)(appendPiecesScript),
  };
}

export type StreamWriter = ReturnType<typeof openStreamWriter>;

export function openStreamReader(redis: Redis, keyspace: Keyspace) {
  return {
    followTurn: scriptBinder(redis, keyspace)(followTurnScript),
    readStream: bindReadStream(redis, keyspace),
  };
}

export type StreamReader = ReturnType<typeof openStreamReader>;

/** Notices that a followed turn has new pieces, log entries or another state. A notice may be lost. */
export function openStreamNotices(subscriber: Subscriber, keyspace: Keyspace) {
  return {
    /** Calls `notify` at each notice, and once listening has begun. Returns the function that ends the notices. */
    listen(conversation: ConversationRef, turn: string, notify: () => void): () => void {
      const channel = keyspace.stream(conversation, turn);
      const listener = (): void => notify();
      // Not awaited: if the subscription fails, the reader polls.
      subscriber.join(channel, listener).then(listener, () => undefined);
      return () => subscriber.leave(channel, listener);
    },
  };
}

export type StreamNotices = ReturnType<typeof openStreamNotices>;

const followTurnScript: ScriptDefinition<[conversation: ConversationRef, turn: string], void> = {
  file: 'follow-turn',
  args: ([, turn]) => [turn],
  decode: () => undefined,
};

export type AppendedPieces = { readonly status: 'appended' | 'not_followed' } | Lost;

/** Beyond a limit the oldest pieces are removed. Readers then take the step from the log. */
export const STREAM_LIMITS = {
  /** Batches that are always kept. Up to a hundred older ones may remain, because Redis trims roughly. */
  batches: 10_000,
  /** The older half is removed. The text of any model answer fits in. */
  bytes: 2_097_152,
  /** A browser that lost its connection comes back within 5 minutes after the settlement. */
  keptMs: 300_000,
} as const;

/** A repeated call may write the pieces twice. */
const appendPiecesScript: ScriptDefinition<[lease: TurnLease, batch: PieceBatch], AppendedPieces> = {
  file: 'append-pieces',
  // Only the keys that the script uses: the names of all would take longer to encode than the pieces.
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

/** Changes of a turn since a position, as of one moment. */
export interface StreamPage {
  readonly state: TurnState;
  /** Present if the turn waits. All waits of a step at the gate of its model are one. */
  readonly waitingSince?: number;
  /** The first turn of the mailbox, if that turn waits and this one is queued behind it. */
  readonly behind?: { readonly turn: string; readonly since: number };
  readonly head: number;
  /** The larger one of `afterSeq` and the seq of the turn's user message. */
  readonly start: number;
  /** Messages behind `start` that the turn and those that steered it appended. */
  readonly log: readonly LogEntry[];
  readonly entries: readonly StreamEntry[];
  /** Last stream entry that was read, also if it is not in `entries`. */
  readonly position: string;
  readonly hasMoreLog: boolean;
  readonly hasMoreEntries: boolean;
}

type Progress = Omit<StreamPage, 'entries' | 'position' | 'hasMoreEntries'> & {
  /** New entries of the stream, if they are few. `last` is the id of the last one if there are more. */
  readonly few: readonly Entry[];
  readonly last: string;
  /** True if the first log entry is not in the log, but possibly in a pack. */
  readonly isPacked: boolean;
};

export interface StreamQuery {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly after: string;
  readonly afterSeq: number;
}

/**
 * If the stream has many new entries, they are read after the log, up to the end that the stream had then. Entries
 * never change, so the two reads show one moment.
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

/** As many of the first entries as fit, but at least one. */
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
