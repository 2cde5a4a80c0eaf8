import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Version } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { callStore } from '../corrupt-record.ts';
import { decodeVersion } from '../decode-version.ts';
import type { Keyspace } from '../keys.ts';

/** Kept versions, oldest first. Version 0 is never stored. */
export async function listVersionRecords(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<Version[]> {
  const key = keyspace.key(conversation, 'ver');
  const texts = Object.entries(await callStore(() => redis.hgetall(key)));
  const versions = await eventLoopShare.run(decodeInSlices(key, texts));
  return versions.toSorted((a, b) => a.number - b.number);
}

/** A yield after each version: 200 are kept, and each may have thousands of segments. */
function* decodeInSlices(key: string, texts: readonly (readonly [string, string])[]): Sliced<Version[]> {
  const versions: Version[] = [];
  for (const [field, text] of texts) {
    versions.push(decodeVersion({ key, field }, text));
    yield;
  }
  return versions;
}

export async function readVersion(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  number: number,
): Promise<Version | undefined> {
  const [key, field] = [keyspace.key(conversation, 'ver'), String(number)];
  const text = await callStore(() => redis.hget(key, field));
  return text === null ? undefined : decodeVersion({ key, field }, text);
}
