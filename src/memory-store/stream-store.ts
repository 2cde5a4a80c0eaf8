import type { ConversationRef } from '../domain/ids.ts';
import type { TurnLease } from '../domain/ports/turn-store.ts';
import {
  type AppendedPieces,
  type PieceBatch,
  STREAM_LIMITS,
  type StreamEntry,
  type StreamedCompaction,
  type StreamNotices,
  type StreamPage,
  type StreamQuery,
  type StreamReader,
  type StreamWriter,
} from '../domain/ports/turn-streams.ts';
import { isSettled, type Waiting } from '../domain/turn.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import type { MemoryStream, MemoryTurn } from './turn-record.ts';

/** Opens the streams of turns in memory. The contract tests in test/store run against these and against Redis. */
export function openMemoryStreamStore(db: MemoryDatabase): StreamWriter & StreamReader & StreamNotices {
  return {
    isFollowed: async (ref, turn) => findStream(db, db.find(ref), turn) !== undefined,
    appendPieces: async (lease, batch) => appendPieces(db, lease, batch),
    followTurn: async (ref, turn) => {
      const conversation = db.isGone(ref) ? undefined : db.find(ref);
      const record = conversation?.turnRecords.get(turn);
      if (record === undefined || isSettled(record.state)) return;
      if (conversation?.streams.has(turn) === false)
        conversation.streams.set(turn, { entries: [], count: 0, bytes: 0 });
    },
    readStream: async (query) => readStream(db, query),
    listen: (ref, turn, notify) => {
      const name = nameStream(ref, turn);
      const readers = db.readers.get(name) ?? new Set();
      db.readers.set(name, readers);
      const reader = (): void => notify();
      readers.add(reader);
      reader();
      return () => void readers.delete(reader);
    },
  };
}

/** Notifies the readers of a turn, as `notify_readers` of `lua/shared/stream.lua` does in Redis. */
export function notifyReaders(db: MemoryDatabase, { ref }: MemoryConversation, turn: string): void {
  for (const notify of db.readers.get(nameStream(ref, turn)) ?? []) notify();
}

/** Starts the retention of a settled turn's pieces, as `end_stream` of `lua/shared/stream.lua` does in Redis. */
export function endStream(db: MemoryDatabase, conversation: MemoryConversation, turn: string): void {
  const stream = conversation.streams.get(turn);
  if (stream !== undefined) stream.until = db.now() + STREAM_LIMITS.keptMs;
  notifyReaders(db, conversation, turn);
}

/** Adds a committed version, as `stream_compaction` of `lua/shared/stream.lua` does in Redis. */
export function streamCompaction(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  compaction: Omit<StreamedCompaction, 'head'>,
): void {
  const [turn = ''] = conversation.mailbox;
  const stream = findStream(db, conversation, turn);
  if (stream === undefined) return;
  const head = conversation.log.length;
  add(stream, (id) => ({ id, compaction: { ...compaction, head } }));
  notifyReaders(db, conversation, turn);
}

/** Counts the streams that have not expired. */
export function countStreams(db: MemoryDatabase, conversation: MemoryConversation): number {
  return [...conversation.streams.keys()].filter((turn) => findStream(db, conversation, turn) !== undefined).length;
}

function findStream(
  db: MemoryDatabase,
  conversation: MemoryConversation | undefined,
  turn: string,
): MemoryStream | undefined {
  const stream = conversation?.streams.get(turn);
  return (stream?.until ?? Number.POSITIVE_INFINITY) > db.now() ? stream : undefined;
}

function add(stream: MemoryStream, make: (id: string) => StreamEntry): void {
  stream.count += 1;
  stream.entries.push(make(`${stream.count}-0`));
  if (stream.entries.length > STREAM_LIMITS.batches) stream.entries.shift();
}

function appendPieces(db: MemoryDatabase, lease: TurnLease, batch: PieceBatch): AppendedPieces {
  const { turn, owner, epoch } = lease;
  const conversation = db.find(lease.conversation);
  const isOwned = conversation?.owner === owner && conversation.epoch === epoch && conversation.mailbox[0] === turn;
  if (conversation === undefined || !isOwned) return { status: 'fenced' };
  const stream = findStream(db, conversation, turn);
  if (stream === undefined) return { status: 'not_followed' };
  add(stream, (id) => ({ id, batch: structuredClone(batch) }));
  for (const piece of batch.pieces) stream.bytes += Buffer.byteLength(piece.kind === 'call' ? piece.name : piece.text);
  if (stream.bytes > STREAM_LIMITS.bytes) {
    stream.entries.splice(0, Math.ceil(stream.entries.length / 2));
    stream.bytes = Math.floor(stream.bytes / 2);
  }
  notifyReaders(db, conversation, turn);
  return { status: 'appended' };
}

/** All waits of a step at the gate of its model are one for readers. */
function findStart(
  { suspendedSince }: MemoryTurn,
  { isHeld, step, since }: NonNullable<MemoryTurn['waiting']>,
): number {
  return (isHeld === true ? suspendedSince.get(step) : undefined) ?? since;
}

function readStream(
  db: MemoryDatabase,
  { conversation: ref, turn, after, afterSeq }: StreamQuery,
): StreamPage | undefined {
  const conversation = db.isGone(ref) ? undefined : db.find(ref);
  const record = conversation?.turnRecords.get(turn);
  if (conversation === undefined || record === undefined) return undefined;
  const { log } = conversation;
  const { state, waiting, inputSeq = 0 } = record;
  const start = Math.max(afterSeq, inputSeq);
  const tail = log.slice(start);
  const isPart = (writer: string): boolean =>
    writer === turn || conversation.turnRecords.get(writer)?.steeredInto === turn;
  const end = tail.findIndex((entry) => !isPart(entry.turn ?? ''));
  const [read = 0] = after.split('-').map(Number);
  const [ahead = turn] = conversation.mailbox;
  const wait = ahead === turn || state !== 'queued' ? undefined : findWait(conversation, ahead);
  const stream = findStream(db, conversation, turn);
  const entries = (stream?.entries ?? []).filter(({ id }) => Number.parseInt(id, 10) > read);
  return {
    state,
    ...(state === 'waiting' && waiting && { waitingSince: findStart(record, waiting) }),
    ...(wait !== undefined && { behind: { turn: ahead, since: wait.since } }),
    head: log.length,
    start,
    log: end === -1 ? tail : tail.slice(0, end),
    entries,
    position: entries.at(-1)?.id ?? after,
    hasMoreLog: false,
    hasMoreEntries: false,
  };
}

function findWait(conversation: MemoryConversation, turn: string): Waiting | undefined {
  const { state, waiting } = conversation.turnRecords.get(turn) ?? {};
  return state === 'waiting' ? waiting : undefined;
}

function nameStream({ tenant, id }: ConversationRef, turn: string): string {
  return `${tenant}/${id}/${turn}`;
}
