import type { Redis } from 'ioredis';
import type { KeptTexts, VersionStore } from '../../domain/ports/version-store.ts';
import { type Summary, summarySchema } from '../../domain/version.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { readJson } from '../record-fields.ts';

/** Texts of one command, about: each may be as large as a message. */
const BATCH = 10;
const SUMMARY = 'k:';
const WHOLE = 'x:';

/**
 * Reads without a script: a text never changes. What else lies in `txt:` is no text: inputs of queued turns, and keys of texts
 * that may be shown no more.
 */
export function bindReadTexts(redis: Redis, keyspace: Keyspace): VersionStore['readTexts'] {
  return async (conversation, cursor) => {
    const key = keyspace.key(conversation, 'cp');
    const [next, flat] = await callStore(() => redis.hscan(key, cursor, 'COUNT', BATCH));
    const summaries = new Map<string, Summary>();
    const whole = new Map<string, string>();
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [field, text] = flat.slice(index, index + 2) as [string, string];
      const name = field.slice(SUMMARY.length);
      if (field.startsWith(SUMMARY)) summaries.set(name, readJson({ key, field }, text, summarySchema));
      if (field.startsWith(WHOLE)) whole.set(name, text);
    }
    return { summaries, whole, next };
  };
}

/** Texts as fields of `txt:`. */
export function encodeTexts({ summaries, whole }: KeptTexts): (readonly [string, string])[] {
  return [
    ...[...summaries].map(([key, summary]) => [`${SUMMARY}${key}`, JSON.stringify(summary)] as const),
    ...[...whole].map(([hash, text]) => [`${WHOLE}${hash}`, text] as const),
  ];
}
