import type { Version } from '../../../src/domain/version.ts';
import { shownKeys, versionEvent } from '../../../src/store/version-record.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { emit } from './mailbox.ts';

/** As lua/shared/put-version.lua. */
export function putVersion(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  version: Version,
  keepVersions: number,
): void {
  const { number, weight, base, baseTotal } = version;
  conversation.versions.set(number, structuredClone(version));
  Object.assign(conversation, { version: number, weight, base, baseTotal });
  const numbers = [...conversation.versions.keys()]
    .filter((kept) => !conversation.points.has(kept))
    .toSorted((a, b) => a - b);
  dropVersions(conversation, numbers.slice(0, -Math.max(1, keepVersions)));
  emit(db, conversation, 'version_committed', versionEvent(version));
}

/** What they show goes with them, unless a kept one shows it: at once, as in Redis where versions are small. */
function dropVersions({ versions, summaries }: MemoryConversation, numbers: readonly number[]): void {
  const dropped = numbers.flatMap((number) => versions.get(number) ?? []);
  for (const number of numbers) versions.delete(number);
  const shown = new Set([...versions.values()].flatMap(shownKeys));
  for (const key of dropped.flatMap(shownKeys)) if (!shown.has(key)) summaries.delete(key);
}
