import type { MemoryDatabase } from '../fakes/store/database.ts';

/** JSON in which maps and sets are lists; the same value gives the same text. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (one instanceof Map) return [...one.entries()];
    if (one instanceof Set) return [...one];
    if (one instanceof Error) return String(one);
    return one;
  }) as string;
}

/** All that the stores hold, as text. */
export function textOfDatabase({ conversations, gone, ready, sweeps, sweptAt }: MemoryDatabase): string {
  return toText([conversations, gone, [...ready].toSorted(), [...sweeps].toSorted(), sweptAt]);
}
