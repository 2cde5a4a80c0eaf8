import { versionEvent } from '../domain/event-record.ts';
import { shownKeys, type Version, weighVersion } from '../domain/version.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { emit } from './mailbox.ts';
import { schedulePacking } from './pack-store.ts';
import { streamCompaction } from './stream-store.ts';

/** Makes a context version the live one and drops old versions, as `lua/shared/put-version.lua` does in Redis. */
export function putVersion(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  version: Version,
  keepVersions: number,
): void {
  const { number, base, baseTotal, cause, tokensBefore, tokensAfter, archived } = version;
  conversation.versions.set(number, structuredClone(version));
  Object.assign(conversation, { version: number, weight: weighVersion(version), base, baseTotal });
  const numbers = [...conversation.versions.keys()]
    .filter((kept) => !conversation.points.has(kept))
    .toSorted((a, b) => a - b);
  dropVersions(conversation, numbers.slice(0, -Math.max(1, keepVersions)));
  schedulePacking(db, conversation, db.now());
  emit(db, conversation, 'version_committed', versionEvent(version));
  if (cause === 'pass') streamCompaction(db, conversation, { version: number, tokensBefore, tokensAfter, archived });
}

/** Drops old context versions and their summaries. A summary that a kept version shows stays. */
function dropVersions({ versions, summaries }: MemoryConversation, numbers: readonly number[]): void {
  const dropped = numbers.flatMap((number) => versions.get(number) ?? []);
  for (const number of numbers) versions.delete(number);
  const shown = new Set([...versions.values()].flatMap(shownKeys));
  for (const key of dropped.flatMap(shownKeys)) if (!shown.has(key)) summaries.delete(key);
}
