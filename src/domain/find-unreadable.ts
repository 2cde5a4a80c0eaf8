/** Objects that are searched at most. A caller's mistake is near the top of the input. */
const MAX_OBJECTS = 10_000;

interface Place {
  readonly value: object;
  readonly path: readonly PropertyKey[];
}

/** Finds the path of the first property whose reading throws. The path is empty if all can be read. Never throws. */
export function findUnreadable(value: unknown): readonly PropertyKey[] {
  const seen = new Set<object>();
  const places: Place[] = isObject(value) ? [{ value, path: [] }] : [];
  for (const place of places) {
    if (seen.size === MAX_OBJECTS) break;
    if (seen.has(place.value)) continue;
    seen.add(place.value);
    const broken = addMembers(place, places);
    if (broken !== undefined) return broken;
  }
  return [];
}

/**
 * Adds the objects of a place to the search.
 * @returns the path of a property that cannot be read, if there is one
 */
function addMembers({ value, path }: Place, places: Place[]): readonly PropertyKey[] | undefined {
  let at = path;
  try {
    const isList = Array.isArray(value);
    for (const key of Object.keys(value).slice(0, MAX_OBJECTS)) {
      at = [...path, isList ? Number(key) : key];
      const member = Reflect.get(value, key) as unknown;
      if (isObject(member)) places.push({ value: member, path: at });
    }
    return undefined;
  } catch {
    return at;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
