import type { MemoryDatabase } from '../../src/memory-store/database.ts';
import { ID_MARK } from './templates.ts';

/** JSON with maps and sets as lists. Equal values give equal texts. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => listEntries(one));
}

function listEntries(one: unknown): unknown {
  if (one instanceof Map || one instanceof Set) return [...one];
  return one instanceof Error ? String(one) : one;
}

/** Fields that no decision depends on. */
const ONLY_SHOWN: ReadonlySet<string> = new Set([
  'acceptedAt',
  'settledAt',
  'requestedAt',
  'at',
  'timestamp',
  'durationMs',
  'taken',
  'isFirstClaim',
]);

/**
 * Like `toText`, without the fields that cannot influence what happens next. An epoch becomes a name, because epochs are only
 * compared for equality.
 * @param isKnown true for a wake that is in a queue or in a call in flight. Another wake never appears again
 */
export function toEssence(value: unknown, isKnown: (wake: string) => boolean = () => true): string {
  return JSON.stringify(value, (key, one: unknown) => {
    if (ONLY_SHOWN.has(key)) return undefined;
    if (key === 'epoch' && typeof one === 'number') return one === 0 ? 0 : `${ID_MARK}e${one}`;
    if (key === 'wake' && typeof one === 'string' && !isKnown(one)) return '';
    return listEntries(one);
  });
}

/** Lists the owners of turns, passes and summaries. */
export function listOwners(db: MemoryDatabase): string[] {
  const owners = [...db.conversations.values()].flatMap(({ owner, pass, summaryRecords }) => [
    owner,
    pass?.owner,
    ...[...summaryRecords.values()].map((record) => (record.kind === 'claim' ? record.owner : undefined)),
  ]);
  return owners.filter((owner) => owner !== undefined);
}

/** The whole content of the stores, as text. */
export function textOfDatabase(db: MemoryDatabase): string {
  const { conversations, gone, ready, sweeps, lastSweepMsByShard } = db;
  return toText([conversations, gone, sortEntries(ready), sortEntries(sweeps), lastSweepMsByShard]);
}

export function sortEntries(map: ReadonlyMap<string, number>): (readonly [string, number])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
