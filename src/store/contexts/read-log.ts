import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SeqRange } from '../../domain/version.ts';
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
  return chunks.flatMap((seqs, chunk) =>
    seqs.flatMap((seq, index) => {
      const text = texts[chunk]?.[index] ?? null;
      return text === null ? [] : [decodeLogEntry(Number(seq), text)];
    }),
  );
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
