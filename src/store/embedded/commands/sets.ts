import type { Commands } from '../database.ts';

export const SETS: Commands = {
  SADD: (database, key: string, ...members) => {
    const set = database.make(key, 'set');
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  },
  SREM: (database, key: string, ...members) => {
    if (database.get(key, 'set') === undefined) return 0;
    return database.edit(key, 'set', (set) => members.filter((member) => set.delete(member)).length);
  },
  SMEMBERS: (database, key: string) => [...(database.get(key, 'set') ?? [])],
  SISMEMBER: (database, key: string, member: string) => Number(database.get(key, 'set')?.has(member) === true),
  SCARD: (database, key: string) => database.get(key, 'set')?.size ?? 0,
};
