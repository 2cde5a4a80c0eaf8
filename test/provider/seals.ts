/**
 * Stands in for a provider's cryptography: a seal holds hashes of what it is bound to, so that it can be checked without a
 * record of it, by another server too.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from './json.ts';

const HASH_LENGTH = 16;

export function hash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, HASH_LENGTH);
}

/** Equal for equal JSON, whatever the order of its keys. */
export function canonicalize(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member as JsonObject).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** What a thinking block is bound to. */
export interface Bond {
  /** what the model thought */
  readonly thinking: string;
  /** seal of the thinking block before it; '' where it was the first */
  readonly previous: string;
  readonly system: string;
  readonly tools: string;
  /** everything that was sent between the tools and the block, without thinking */
  readonly messages: string;
}

const BOUND = ['thinking', 'previous', 'system', 'tools', 'messages'] as const satisfies readonly (keyof Bond)[];

export function seal(bond: Bond): string {
  return `Eq${BOUND.map((part) => hash(part, bond[part])).join('')}`;
}

/** What of the bond the seal was not made for; undefined: it is no seal of ours. */
export function findBroken(given: string, bond: Bond): (keyof Bond)[] | undefined {
  const expected = seal(bond);
  if (given.length !== expected.length || !given.startsWith('Eq')) return undefined;
  const partOf = (text: string, index: number): string => text.slice(2 + index * HASH_LENGTH).slice(0, HASH_LENGTH);
  return BOUND.filter((_part, index) => partOf(given, index) !== partOf(expected, index));
}

/** What Responses calls `encrypted_content`: bound to its item and to the model that wrote it (R6). */
export function encrypt(id: string, model: string): string {
  return `gAAAAA${hash('encrypted', id, model)}`;
}
