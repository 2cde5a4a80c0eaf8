import type { Database } from '../../src/store/embedded/database.ts';
import { listConversations } from '../store/stored-conversation.ts';
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
export function listOwners(db: Database): string[] {
  const owners = listConversations(db).flatMap(({ owner, pass, summaryRecords }) => [
    owner,
    pass?.owner,
    ...[...summaryRecords.values()].map((record) => (typeof record === 'string' ? undefined : record.owner)),
  ]);
  return owners.filter((owner) => owner !== undefined);
}

/** The whole content of the stores, as text. */
export function textOfDatabase(db: Database): string {
  return toText(
    db
      .keys()
      .toSorted()
      .map((key) => [key, listFields(db, key), db.endOf(key)]),
  );
}

/** The value of a key, as a list. The order in which fields were written makes no difference. */
export function listFields(db: Database, key: string): readonly (readonly [string, unknown])[] {
  switch (db.typeOf(key)) {
    case 'hash':
      return [...(db.get(key, 'hash') ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
    case 'zset':
      return (db.get(key, 'zset')?.entries ?? []).map(({ member, score }) => [member, score]);
    case 'stream':
      return (db.get(key, 'stream')?.between('-', '+') ?? []).map(({ id, fields }) => [id, fields]);
    case 'list':
      return (db.get(key, 'list') ?? []).map((value) => [value, '']);
    case 'set':
      return [...(db.get(key, 'set') ?? [])].toSorted().map((value) => [value, '']);
    default:
      return [['', db.get(key, 'string')]];
  }
}
