import type { MemoryDatabase } from '../../src/memory-store/database.ts';
import { ID_MARK } from './templates.ts';

/** JSON in which maps and sets are lists; the same value gives the same text. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (one instanceof Map) return [...(one as Map<unknown, unknown>)];
    if (one instanceof Set) return [...(one as Set<unknown>)];
    if (one instanceof Error) return String(one);
    return one;
  });
}

/** Values that are only shown: nobody decides anything by them. The last two say whether an event reports a wait. */
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
 * As `toText`, but for what makes no difference to anything that may still happen. An epoch is a name: a new one is larger than
 * all before it, and else they are only compared.
 * @param isKnown whether a wake may still come up: in a queue, or in somebody's hands
 */
export function toEssence(value: unknown, isKnown: (wake: string) => boolean = () => true): string {
  return JSON.stringify(value, (key, one: unknown) => {
    if (ONLY_SHOWN.has(key)) return undefined;
    if (key === 'epoch' && typeof one === 'number') return one === 0 ? 0 : `${ID_MARK}e${one}`;
    if (key === 'wake' && typeof one === 'string' && !isKnown(one)) return '';
    if (one instanceof Map) return [...(one as Map<unknown, unknown>)];
    if (one instanceof Set) return [...(one as Set<unknown>)];
    if (one instanceof Error) return String(one);
    return one;
  });
}

/** All that the stores hold, as text. */
export function textOfDatabase({
  conversations,
  gone,
  ready,
  sweeps,
  lastSweepMsByShard: sweptAt,
}: MemoryDatabase): string {
  return toText([conversations, gone, sortEntries(ready), sortEntries(sweeps), sweptAt]);
}

export function sortEntries(map: ReadonlyMap<string, number>): (readonly [string, number])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
