import type { Dump, DumpedKey } from './dump.ts';

/** Ids, hashes, numbers and names of turns, which differ between two runs. */
const VARYING =
  /^([0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{16,}|[\d.,:|-]+|t\d+|.*(compacted|reviewed|settled|forked|failed|approval|tools|scheduled|held|queued|talker|careful).*)$/;
/** Fields of a conversation and a turn that exist only for moments. A dump may catch them or not. */
const PASSING: ReadonlySet<string> = new Set(['owner', 'lease', 'wake', 'attempts', 'undo', 'steering', 'alone']);

/** Keys that exist only while a worker holds a lease. */
const LEASES: ReadonlySet<string> = new Set(['delivering', 'sweeping', 'measuring', 'sweep', 'worker']);

/**
 * Describes the form of each kind of key of the store: its type, its fields, and the names in JSON. Forms of BullMQ are left out.
 */
export function describeShapes({ keys }: Dump): string[] {
  const shapes = keys.filter(({ key }) => key.startsWith('{tf') && !LEASES.has(kindOf(key))).flatMap(describeKey);
  return [...new Set(shapes)].toSorted();
}

function describeKey({ key, type, rows }: DumpedKey): string[] {
  const kind = kindOf(key);
  if (type !== 'hash') return [`${kind}: ${type}`];
  const fields = rows.flatMap(([field, value]) => {
    const name = typeof field === 'string' ? field : '';
    if (PASSING.has(name)) return [];
    const shown = name
      .split(':')
      .map((part) => (VARYING.test(part) ? '*' : part))
      .join(':');
    return [
      `${kind}: hash, field ${shown}`,
      ...describeJson(value).map((path) => `${kind}: field ${shown}, JSON ${path}`),
    ];
  });
  return [`${kind}: hash`, ...fields];
}

/** `{tf3}:_:c:id` is of the kind `c`, `{tf3}:ready` of the kind `ready`. */
function kindOf(key: string): string {
  const [, first = '', second] = key.split(':');
  return first === '_' && second !== undefined ? second : first;
}

function describeJson(value: unknown): string[] {
  if (typeof value !== 'string' || !/^[{[]/.test(value)) return [];
  try {
    return Object.keys(JSON.parse(value) as object).filter((name) => !/^\d+$/.test(name));
  } catch {
    return [];
  }
}
