import type { Version } from '../../../src/domain/version.ts';
import { versionEvent } from '../../../src/store/version-args.ts';
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
  for (const old of numbers.slice(0, -Math.max(1, keepVersions))) conversation.versions.delete(old);
  emit(db, conversation, 'version_committed', versionEvent(version));
}
