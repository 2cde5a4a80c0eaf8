import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { SeqRange } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { decodeLogEntry } from '../log-entry.ts';

/** Entries of one command: one reply of 10,000 entries would hold every other command of Redis behind it. */
const CHUNK = 500;

/** Entries of the ranges, in their order. Reads without a script: an entry never changes. Seqs that no entry has are left out. */
export async function readLog(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  ranges: readonly SeqRange[],
): Promise<LogEntry[]> {
  const key = keyspace.key(conversation, 'log');
  const chunks = [...chunkSeqs(ranges)];
  const texts = await callRedis(() => Promise.all(chunks.map((seqs) => redis.hmget(key, ...seqs))));
  return await eventLoopShare.run(decodeInSlices(chunks, texts));
}

/** Yields after each chunk: 100,000 entries take about 0.3 s. */
function* decodeInSlices(
  chunks: readonly (readonly string[])[],
  texts: readonly (readonly (string | null)[])[],
): Sliced<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (const [chunk, seqs] of chunks.entries()) {
    for (const [index, seq] of seqs.entries()) {
      const text = texts[chunk]?.[index] ?? null;
      if (text !== null) entries.push(decodeLogEntry(Number(seq), text));
    }
    yield;
  }
  return entries;
}

function* chunkSeqs(ranges: readonly SeqRange[]): Generator<string[]> {
  let chunk: string[] = [];
  for (const { from, to } of ranges) {
    for (let seq = from; seq <= to; seq += 1) {
      chunk.push(String(seq));
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
