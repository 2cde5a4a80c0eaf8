import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Version } from '../../domain/version.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';

/** Kept versions, oldest first. Version 0 is never stored. */
export async function listVersions(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<Version[]> {
  const texts = await callRedis(() => redis.hvals(keyspace.key(conversation, 'ver')));
  return texts.map((text) => JSON.parse(text) as Version).toSorted((a, b) => a.number - b.number);
}

export async function readVersion(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  number: number,
): Promise<Version | undefined> {
  const text = await callRedis(() => redis.hget(keyspace.key(conversation, 'ver'), String(number)));
  return text === null ? undefined : (JSON.parse(text) as Version);
}
