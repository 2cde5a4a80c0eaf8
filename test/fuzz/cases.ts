import { inspect } from 'node:util';
import {
  type Arbitrary,
  anything,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  nat,
  oneof,
  string,
  tuple,
} from 'fast-check';
import { expect } from 'vitest';
import { writeBoundedJson } from '../../src/domain/bounded-json.ts';
import { isTurnfoldError, type TurnfoldError } from '../../src/domain/errors.ts';
import { clipText, describeThrown, readSafely } from '../../src/domain/thrown.ts';
import { HOSTILE_JSON, HOSTILE_THROWN } from '../fakes/hostile-values.ts';
import { holdsShortly, MAX_HELD_MS, maxHeldMs, measureHeldMs } from '../setup/held-loop.ts';

/** Configuration of a run: `FUZZ_SEED` selects other cases, `FUZZ_TIMES` runs more of them. */
export const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_712);
const TIMES = Number(process.env['FUZZ_TIMES'] ?? 1);

/** Creates the value of a case. A function, because fast-check inspects values, and some fail when they are read. */
export type Make<T = unknown> = () => T;

export interface Batch<T> {
  readonly cases: number;
  readonly input: Arbitrary<Make<T>>;
  /** Runs one case. Throws if the case broke a rule. */
  readonly run: (input: T) => Promise<void>;
  /** Serves a healthy conversation. Called repeatedly. */
  readonly serveNeighbour: () => Promise<void>;
}

/** Cases of this run. */
export function countCases(cases: number): number {
  return Math.ceil(cases * TIMES);
}

/** Number of cases between two turns of the healthy conversation. */
const NEIGHBOUR_EVERY = 100;

/**
 * Runs a batch of cases. Each must end as its rule says without blocking the event loop. A neighbour is served in
 * between. Building a case is not measured.
 */
export async function tryBatch<T>({ cases, input, run, serveNeighbour }: Batch<T>): Promise<void> {
  // Code that the first call compiles and loads is not measured.
  await serveNeighbour();
  let left = 0;
  let tried = 0;
  const property = asyncProperty(input, async (make) => {
    tried += 1;
    const value = make();
    const held = await measureHeldMs(() => run(value)).catch((cause: unknown) => {
      throw new Error(`a rule is broken by ${show(value)}`, { cause });
    });
    // Measured only when needed, because measuring this machine's limit takes a tenth of a second. The case runs again,
    // because the garbage of earlier cases can make one run longer.
    if (held >= MAX_HELD_MS && held >= maxHeldMs()) {
      const again = await holdsShortly(() => run(make()));
      expect(again, `the event loop was held by ${show(value)}`).toMatchObject({ isShort: true });
    }
    left -= 1;
    if (left > 0) return;
    left = NEIGHBOUR_EVERY;
    await serveNeighbour();
  });
  await assertProperty(property, { numRuns: countCases(cases), seed: SEED, endOnFailure: true });
  expect(tried).toBe(countCases(cases));
}

/** Returns the coded error of a failed call, or undefined if the call succeeds. */
export async function codedError(call: () => unknown): Promise<TurnfoldError | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!isTurnfoldError(error)) throw uncoded(error);
    expect(error.message.length, 'its message is bounded').toBeLessThan(3_000);
    expect((error.field ?? '').length, 'its field is bounded').toBeLessThan(1_000);
    return error;
  }
}

function uncoded(error: unknown): Error {
  const { name, message } = describeThrown(error);
  const stack = readSafely(error, 'stack');
  return new Error(
    `an error without a code: ${name}: ${message}\n${typeof stack === 'string' ? clipText(stack, 2_000) : ''}`,
  );
}

/** Hand-written values: without JSON, too large, or failing when they are read. */
const HOSTILE = [...HOSTILE_JSON, ...HOSTILE_THROWN];
const EDGES: readonly unknown[] = [
  '',
  ' ',
  '\0',
  '\uD800',
  'a/b',
  '../..',
  '{tf1}:_:c:x',
  '__proto__',
  'constructor',
  '\u001B]52;c;aGk=\u0007',
  'x'.repeat(300),
  'x'.repeat(1_048_577),
  `<${' '.repeat(100_000)}`,
  '9'.repeat(400),
  -1,
  -0,
  0.5,
  2 ** 31,
  2 ** 53,
  9e15,
  1e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  [],
  {},
  [null],
  [[[[]]]],
  true,
];

/** Any value, hand-written or of any structure. */
export function badValue(): Arbitrary<Make> {
  const shapes = anything({
    maxDepth: 3,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  return oneof(
    { arbitrary: constantFrom(...HOSTILE).map(([, make]) => make), weight: 3 },
    { arbitrary: constantFrom(...EDGES).map((value) => keep(value)), weight: 3 },
    { arbitrary: shapes.map((value) => keep(value)), weight: 3 },
    { arbitrary: string({ unit: 'binary' }).map((value) => keep(value)), weight: 1 },
  );
}

/** Makes a case of a value that can be read safely. */
export function keep<T>(value: T): Make<T> {
  return () => value;
}

/** JSON of any structure, as a file, a job or a record may contain. */
export function badJson(): Arbitrary<Make> {
  return badValue().map((make) => () => {
    const written = writeBoundedJson(make(), { maxCharacters: 2_000_000, maxDepth: 4_000 });
    return written.status === 'written' ? (JSON.parse(written.json) as unknown) : null;
  });
}

const WAYS = ['replace', 'replace', 'replace', 'remove', 'add', 'throw', 'keep'] as const;

/**
 * Valid values with a fault in one place, so that the fault lies behind the first checks.
 * @param bad value that is put there
 */
export function spoiled(valid: Arbitrary<unknown>, bad: Arbitrary<Make> = badValue()): Arbitrary<Make> {
  return tuple(valid, nat(), bad, constantFrom(...WAYS)).map(([value, place, makeWrong, way]) => () => {
    const wrong = makeWrong();
    const copy: unknown = structuredClone(value);
    const places = listPlaces(copy);
    const at = places[place % places.length];
    if (at === undefined) return wrong;
    // A list at the root holds the arguments of a call, which the test itself must read.
    spoil(at, way === 'throw' && at.holder === copy && Array.isArray(copy) ? 'replace' : way, wrong);
    return copy;
  });
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function spoil({ holder, key }: Place, way: (typeof WAYS)[number], wrong: unknown): void {
  const set = (name: string, property: PropertyDescriptor): unknown =>
    Object.defineProperty(holder, name, { configurable: true, enumerable: true, ...property });
  if (way === 'replace') set(key, { value: wrong, writable: true });
  if (way === 'add') set(typeof wrong === 'string' ? wrong : 'added', { value: wrong, writable: true });
  if (way === 'remove') Reflect.deleteProperty(holder, key);
  if (way === 'throw') {
    set(key, {
      get() {
        throw wrong;
      },
    });
  }
}

function listPlaces(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...listPlaces(holder[key])]);
}

/** Describes a value for the message of a failure. An error during the description must not hide the failure. */
function show(value: unknown): string {
  try {
    return inspect(value, { depth: 4, maxStringLength: 200, maxArrayLength: 10, breakLength: 200, getters: false });
  } catch {
    return 'a value that cannot be shown';
  }
}
