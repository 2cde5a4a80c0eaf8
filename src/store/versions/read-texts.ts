import type { Redis } from 'ioredis';
import type { KeptTexts, VersionStore } from '../../domain/ports/version-store.ts';
import { type Checkpoint, checkpointSchema } from '../../domain/version.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { readJson } from '../record-fields.ts';

/** Texts of one command, about: each may be as large as a message. */
const BATCH = 10;
const CHECKPOINT = 'k:';
const WHOLE = 'x:';

/**
 * Reads without a script: a text never changes. What else lies in `cp:` is no text: inputs of queued turns, and keys of texts
 * that may be shown no more.
 */
export function bindReadTexts(redis: Redis, keyspace: Keyspace): VersionStore['readTexts'] {
  return async (conversation, cursor) => {
    const key = keyspace.key(conversation, 'cp');
    const [next, flat] = await callRedis(() => redis.hscan(key, cursor, 'COUNT', BATCH));
    const checkpoints = new Map<string, Checkpoint>();
    const whole = new Map<string, string>();
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [field, text] = flat.slice(index, index + 2) as [string, string];
      const name = field.slice(CHECKPOINT.length);
      if (field.startsWith(CHECKPOINT)) checkpoints.set(name, readJson({ key, field }, text, checkpointSchema));
      if (field.startsWith(WHOLE)) whole.set(name, text);
    }
    return { checkpoints, whole, next };
  };
}

/** Texts as fields of `cp:`. */
export function encodeTexts({ checkpoints, whole }: KeptTexts): (readonly [string, string])[] {
  return [
    ...[...checkpoints].map(([key, checkpoint]) => [`${CHECKPOINT}${key}`, JSON.stringify(checkpoint)] as const),
    ...[...whole].map(([hash, text]) => [`${WHOLE}${hash}`, text] as const),
  ];
}
