import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { TurnLease } from '../domain/lease.ts';
import type { LogEntry } from '../domain/message.ts';
import { TURN_STATES, type TurnState } from '../domain/turn.ts';
import { ExistingKeys } from './existing-keys.ts';
import type { Keyspace } from './keys.ts';
import { decodeLogEntry } from './log.ts';
import { PackReader } from './packs.ts';
import { callStore, corruptRecord } from './records.ts';
import type { Subscriber } from './redis/subscriber.ts';
import { decodeStatus, type ScriptDefinition, scriptBinder } from './script.ts';
import {
  decodeEntries,
  type Entry,
  encodeBatch,
  encodeNotes,
  NOTES,
  type NoteBatch,
  type NotedValue,
  type PieceBatch,
  type StreamEntry,
} from './stream-entries.ts';
import { type OwnerWrite, turnLeaseArgs } from './turn-claims.ts';

/** Most stream entries of one page. A reply of 10,000 entries would block Redis. */
const PAGE_ENTRIES = 1_000;
/** Most entries that the script itself returns. A reader that is up to date needs no second command. */
const FEW_ENTRIES = 16;
/** Most bytes of one page. A single log entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

/**
 * Most packed log entries of one page. They are sent to Redis, because the script knows which entries belong to a turn.
 */
const PACKED_AT_ONCE = 200;
const PACKED_BYTES = 500_000;

/** Pieces may be lost: readers complete each step from the log (I18). */
export function openStreamWriter(redis: Redis, keyspace: Keyspace) {
  const existing = new ExistingKeys(redis);
  return {
    isFollowed: (conversation: ConversationRef, turn: string) => existing.ask(keyspace.stream(conversation, turn)),
    appendPieces: scriptBinder(redis, keyspace)(appendPiecesScript),
    /** Reads the values that readers got of the turn's tool calls, oldest first. */
    async readValues(conversation: ConversationRef, turn: string): Promise<readonly NotedValue[]> {
      const key = keyspace.stream(conversation, turn);
      const values: NotedValue[] = [];
      for (let after = '-'; ; ) {
        const found = await callStore(() => redis.xrange(key, after, '+', 'COUNT', PAGE_ENTRIES));
        for (const entry of decodeEntries(found.filter(([, [name]]) => name === NOTES))) {
          if ('noted' in entry) values.push(...entry.noted.notes.flatMap((note) => ('data' in note ? note : [])));
        }
        const last = found.at(-1)?.[0];
        if (last === undefined || found.length < PAGE_ENTRIES) return values;
        after = `(${last}`;
      }
    },
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
      // The subscription is not awaited. If it fails, the reader polls.
      subscriber.join(channel, listener).then(listener, () => undefined);
      return () => subscriber.leave(channel, listener);
    },
  };
}

export type StreamNotices = ReturnType<typeof openStreamNotices>;

const followTurnScript: ScriptDefinition<[conversation: ConversationRef, turn: string], void> = {
  file: 'follow-turn',
  args: ([, turn]) => ({ turn }),
  decode: () => undefined,
};

export type AppendedPieces = OwnerWrite<'appended' | 'not_followed'>;

/** Limits of a turn's stream. Beyond a limit the oldest pieces are removed. Readers then take the step from the log. */
export const STREAM_LIMITS = {
  /**
   * Number of newest batches that are always kept. Up to a hundred older batches may remain, because Redis trims
   * roughly.
   */
  batches: 10_000,
  /** Most bytes of a stream. Beyond this, the older half is removed. The text of any model answer fits in. */
  bytes: 2_097_152,
  /**
   * ms for which the stream is kept after the settlement, as `STREAM_KEPT_MS` of lua/shared/stream.lua says. A browser
   * that lost its connection comes back within 5 minutes.
   */
  keptMs: 300_000,
} as const;

const appendPiecesScript: ScriptDefinition<[lease: TurnLease, batch: PieceBatch | NoteBatch], AppendedPieces> = {
  file: 'append-pieces',
  // Lists only the keys that the script uses: the names of all keys would take longer to encode than the pieces.
  keys: ([{ conversation, turn }], keyspace) => ({
    c: keyspace.key(conversation, 'c'),
    mb: keyspace.key(conversation, 'mb'),
    turnKey: keyspace.turn(conversation, turn),
    stream: keyspace.stream(conversation, turn),
  }),
  args: ([lease, batch]) => {
    const fields = 'notes' in batch ? encodeNotes(batch) : encodeBatch(batch);
    const bytes = fields.reduce((sum, field) => sum + Buffer.byteLength(field), 0);
    return {
      ...turnLeaseArgs(lease),
      maxBatches: STREAM_LIMITS.batches,
      maxBytes: STREAM_LIMITS.bytes,
      bytes,
      rest: fields,
    };
  },
  decode: decodeStatus,
};

export interface StreamPage {
  readonly state: TurnState;
  /** Start of the wait, if the turn waits. All waits of a step at the gate of its model count as one. */
  readonly waitingSince?: number;
  /** The first turn of the mailbox, if that turn waits and the turn of this page is queued behind it. */
  readonly behind?: { readonly turn: string; readonly since: number };
  readonly head: number;
  /** Either `afterSeq` or the seq of the turn's user message, the larger one. */
  readonly start: number;
  /** Messages after `start` that this turn, or a turn that steered it, appended. */
  readonly log: readonly LogEntry[];
  readonly entries: readonly StreamEntry[];
  /** Id of the last stream entry that was read, even if `entries` leaves it out. */
  readonly position: string;
  readonly hasMoreLog: boolean;
  readonly hasMoreEntries: boolean;
}

type Progress = Omit<StreamPage, 'entries' | 'position' | 'hasMoreEntries'> & {
  /** New entries of the stream, if they are few. If there are more, `last` is the id of the last entry. */
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
 * Reads a page of a turn. If the stream has many new entries, they are read after the log. That read ends where the
 * stream ended when the log was read. Entries never change, so the two reads show one moment.
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

/** Returns the first entries, as many as fit in a page, and at least one. */
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
  args: ([{ turn, afterSeq, after }, packed]) => ({
    turn,
    seq: afterSeq,
    maxBytes: PAGE_BYTES,
    after,
    maxEntries: FEW_ENTRIES,
    rest: packed,
  }),
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
