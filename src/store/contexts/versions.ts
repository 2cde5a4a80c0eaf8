import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Version } from '../../domain/version.ts';
import { callRedis } from '../connection.ts';
import { decodeVersion } from '../decode-version.ts';
import type { Keyspace } from '../keys.ts';

/** Kept versions, oldest first. Version 0 is never stored. */
export async function listVersions(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<Version[]> {
  const key = keyspace.key(conversation, 'ver');
  const texts = Object.entries(await callRedis(() => redis.hgetall(key)));
  return texts.map(([field, text]) => decodeVersion({ key, field }, text)).toSorted((a, b) => a.number - b.number);
}

export async function readVersion(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  number: number,
): Promise<Version | undefined> {
  const [key, field] = [keyspace.key(conversation, 'ver'), String(number)];
  const text = await callRedis(() => redis.hget(key, field));
  return text === null ? undefined : decodeVersion({ key, field }, text);
}
