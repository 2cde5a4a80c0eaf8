import type { Redis } from 'ioredis';
import {
  type ModelCallKey,
  type Piece,
  type PieceBatch,
  STREAM_LIMITS,
  type StreamEntry,
  type StreamedCompaction,
  type StreamNotices,
  type StreamPage,
  type StreamReader,
  type StreamWriter,
} from '../domain/ports/turn-streams.ts';
import { TURN_STATES, type TurnState } from '../domain/turn.ts';
import { ExistingKeys } from './existing-keys.ts';
import type { Keyspace } from './keys.ts';
import { decodeLogEntry } from './log.ts';
import { PackReader } from './packs.ts';
import { callStore, corruptRecord } from './records.ts';
import type { Subscriber } from './redis/subscriber.ts';
import { decodeStatus, type ScriptDefinition, type ScriptOf, scriptBinder } from './script.ts';
import { turnLeaseArgs } from './turn-steps.ts';

/** Maximum stream entries of one page, because a reply of 10,000 entries would block Redis. */
const PAGE_ENTRIES = 1_000;
/** Maximum stream entries that the script returns. A reader that is up to date then needs no second command. */
const FEW_ENTRIES = 16;
/** Maximum bytes of the log entries of one page, because a single entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

/** Maximum packed log entries of one page, and their bytes: they are sent to Redis, which knows which ones belong to a turn. */
const PACKED_AT_ONCE = 200;
const PACKED_BYTES = 500_000;

/** Opens the streams of turns in Redis. */
export function openStreamStore(redis: Redis, keyspace: Keyspace): StreamWriter & StreamReader {
  const bind = scriptBinder(redis, keyspace);
  // A worker asks four times a second for each answer in flight.
  const existing = new ExistingKeys(redis);
  return {
    isFollowed: (conversation, turn) => existing.ask(keyspace.stream(conversation, turn)),
    appendPieces: bind(appendPiecesScript),
    followTurn: bind(followTurnScript),
    readStream: bindReadStream(redis, keyspace),
  };
}

export function openStreamNotices(subscriber: Subscriber, keyspace: Keyspace): StreamNotices {
  return {
    listen(conversation, turn, notify) {
      const channel = keyspace.stream(conversation, turn);
      const listener = (): void => notify();
      // The subscription is not awaited. If the subscription fails, the reader polls.
      subscriber.join(channel, listener).then(listener, () => undefined);
      return () => subscriber.leave(channel, listener);
    },
  };
}

const followTurnScript: ScriptOf<StreamReader['followTurn']> = {
  file: 'follow-turn',
  args: ([, turn]) => [turn],
  decode: () => undefined,
};

const appendPiecesScript: ScriptOf<StreamWriter['appendPieces']> = {
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

type Progress = Omit<StreamPage, 'entries' | 'position' | 'hasMoreEntries'> & {
  /** New entries of the stream, if they are few. */
  readonly few: readonly Entry[];
  /** Id of the last entry of the stream, if there are more. */
  readonly last: string;
  /** True if the first log entry of the page is not in the log. It may be in a pack. */
  readonly isPacked: boolean;
};

/**
 * Makes the function that reads a page. If the stream has many new entries, they are read after the log, up to the end
 * that the stream had then. Entries of a stream never change, so the two reads show one moment.
 */
function bindReadStream(redis: Redis, keyspace: Keyspace): StreamReader['readStream'] {
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

const readProgressScript: ScriptDefinition<
  [...Parameters<StreamReader['readStream']>, packed: readonly string[]],
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

/** First letters of the names under which a stream entry holds its pieces. */
const LETTERS = { text: 't', reasoning: 'r', call: 'c', arguments: 'a' } as const satisfies Record<
  Piece['kind'],
  string
>;

/**
 * Encodes a batch as fields of a stream entry, one for each piece. Its name is a letter with numbers: `t<at>`, `r<at>`,
 * `c<call>` or `a<call>.<at>`. Before the first name stands the key of the model call, because each further string of an
 * entry makes a replay slower. The tokens of the text stand last, under the name `n`, for `lua/shared/stopped.lua`.
 */
function encodeBatch({ seq, step, epoch, attempt, pieces, textTokens }: PieceBatch): string[] {
  const fields = pieces.flatMap((piece, index) => {
    const before = index === 0 ? `${seq} ${step} ${epoch} ${attempt} ` : '';
    return [before + namePiece(piece), piece.kind === 'call' ? piece.name : piece.text];
  });
  return textTokens === undefined ? fields : [...fields, 'n', String(textTokens)];
}

function namePiece(piece: Piece): string {
  const letter = LETTERS[piece.kind];
  if (piece.kind === 'call') return `${letter}${piece.call}`;
  return piece.kind === 'arguments' ? `${letter}${piece.call}.${piece.at}` : `${letter}${piece.at}`;
}

type Entry = readonly [id: string, fields: readonly string[]];

/**
 * Decodes entries of a stream. Entries that a later release wrote in another form are skipped. Neighbors share the key
 * of their model call, so the key is decoded once: the replay of a long answer has thousands of entries.
 */
function decodeEntries(entries: readonly Entry[]): StreamEntry[] {
  let known = '';
  let key: ModelCallKey | undefined;
  const decoded: StreamEntry[] = [];
  for (const [id, fields] of entries) {
    const [first = ''] = fields;
    const end = first.lastIndexOf(' ');
    if (first === 'head') {
      const compaction = decodeCompaction(fields);
      if (compaction !== undefined) decoded.push({ id, compaction });
      continue;
    }
    if (first.slice(0, end) !== known) {
      known = first.slice(0, end);
      key = decodeCallKey(known);
    }
    if (key !== undefined) decoded.push({ id, batch: { ...key, pieces: decodePieces(fields, end + 1) } });
  }
  return decoded;
}

function decodeCallKey(text: string): ModelCallKey | undefined {
  const numbers = text.split(' ').map(Number);
  const [seq = 0, step = 0, epoch = 0, attempt = 0] = numbers;
  const isKey = numbers.length === 4 && numbers.every((number) => Number.isSafeInteger(number) && number > 0);
  return isKey ? { seq, step, epoch, attempt } : undefined;
}

/** @param from place in the first field at which the name of its piece begins */
function decodePieces(fields: readonly string[], from: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const piece = decodePiece(fields[at] ?? '', at === 0 ? from : 0, fields[at + 1] ?? '');
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

function decodePiece(field: string, from: number, text: string): Piece | undefined {
  const name = field.slice(from + 1);
  if (field[from] === LETTERS.arguments) {
    const [call = -1, at = -1] = name.split('.').map(Number);
    return isIndex(call) && isIndex(at) ? { kind: 'arguments', call, at, text } : undefined;
  }
  const at = Number(name);
  if (name === '' || !isIndex(at)) return undefined;
  switch (field[from]) {
    case LETTERS.text:
      return { kind: 'text', at, text };
    case LETTERS.reasoning:
      return { kind: 'reasoning', at, text };
    case LETTERS.call:
      return { kind: 'call', call: at, name: text };
    default:
      return undefined;
  }
}

function isIndex(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** Decodes a committed version. A version that a restore or a rollback made is no compaction. */
function decodeCompaction(flat: readonly string[]): StreamedCompaction | undefined {
  const fields = new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])));
  if (fields.get('cause') !== 'pass') return undefined;
  const read = (name: string): number => Number(fields.get(name));
  const compaction = {
    version: read('version'),
    tokensBefore: read('before'),
    tokensAfter: read('after'),
    archived: read('archived'),
    head: read('head'),
  };
  return Object.values(compaction).every(Number.isSafeInteger) ? compaction : undefined;
}
