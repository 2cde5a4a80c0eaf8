import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { Keyspace } from '../../src/store/keys.ts';
import { readPackName, unpack } from '../../src/store/packs.ts';

/**
 * Reads all log entries of a conversation by their seqs, packed or not, with plain commands.
 * @throws Error if an entry is in the log and in a pack, or in two packs
 */
export async function readLogTexts(
  redis: Redis,
  keyspace: Keyspace,
  ref: ConversationRef,
): Promise<Record<string, string>> {
  const [logKey, key] = [keyspace.key(ref, 'log'), keyspace.key(ref, 'pk')];
  // The log and the packs are read at one moment.
  const [log, packs] = (await redis.multi().hgetall(logKey).hgetallBuffer(key).exec()) as [
    [null, Record<string, string>],
    [null, Record<string, Buffer>],
  ];
  const texts: Record<string, string> = { ...log[1] };
  for (const [field, value] of Object.entries(packs[1])) {
    const packed = (await unpack({ key, field }, value)).values();
    for (const { from, to } of readPackName(key, field)) {
      for (let seq = from; seq <= to; seq += 1) {
        if (texts[seq] !== undefined) throw new Error(`${key}: entry ${seq} exists twice`);
        texts[seq] = packed.next().value ?? '';
      }
    }
  }
  return texts;
}
