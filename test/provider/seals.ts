/**
 * Replaces a provider's cryptography. A seal, which stands for a signature, contains hashes of the contents for which
 * it is valid. Another server can therefore check it without a record.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from './json.ts';

const HASH_LENGTH = 16;

export function hash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, HASH_LENGTH);
}

/** Returns the same text for equal JSON values, in any order of keys. */
export function canonicalize(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member as JsonObject).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** The contents for which the signature of a thinking block is valid. */
export interface Bond {
  /** Text of the thinking. */
  readonly thinking: string;
  /** Seal of the previous thinking block, or ''. */
  readonly previous: string;
  readonly system: string;
  readonly tools: string;
  /** Everything between the tools and the block, except thinking. */
  readonly messages: string;
}

const BOUND = ['thinking', 'previous', 'system', 'tools', 'messages'] as const satisfies readonly (keyof Bond)[];

export function seal(bond: Bond): string {
  return `Eq${BOUND.map((part) => hash(part, bond[part])).join('')}`;
}

/** @returns the parts that differ from those in the seal, or undefined if this server did not issue the seal */
export function findBroken(given: string, bond: Bond): (keyof Bond)[] | undefined {
  const expected = seal(bond);
  if (given.length !== expected.length || !given.startsWith('Eq')) return undefined;
  const partOf = (text: string, index: number): string => text.slice(2 + index * HASH_LENGTH).slice(0, HASH_LENGTH);
  return BOUND.filter((_part, index) => partOf(given, index) !== partOf(expected, index));
}

/** Returns `encrypted_content` of the Responses API, which is valid only for its item and model (wire rule R6). */
export function encrypt(id: string, model: string): string {
  return `gAAAAA${hash('encrypted', id, model)}`;
}
