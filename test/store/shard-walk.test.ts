import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { decodePage, NAMES_PER_SCRIPT, type PageReply, walkShards } from '../../src/store/shard-walk.ts';

/** Names of each shard, sorted. Every third name is examined without a row. */
type Shards = readonly (readonly string[])[];

const hasRow = (name: string): boolean => Number(name.split('-')[1]) % 3 !== 0;

function namesOf(counts: readonly number[]): Shards {
  return counts.map((count, shard) =>
    Array.from({ length: count }, (_, at) => `${shard}-${String(at).padStart(4, '0')}`),
  );
}

/** Pages through all shards, as a caller of a list does. */
async function readAll(shards: Shards, limit: number, perScript = NAMES_PER_SCRIPT): Promise<(readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  let from: { readonly shard: number; readonly name: string } | undefined;
  for (;;) {
    const { items, next } = await walkShards<string>({
      shards: shards.map((_, shard) => shard),
      from,
      limit,
      read: async (shard, after) => {
        const rest = (shards[shard] ?? []).filter((name) => name > after);
        const names = rest.slice(0, perScript);
        return {
          rows: names.filter(hasRow).map((name) => ({ name, item: name })),
          last: names.at(-1) ?? '',
          examined: names.length,
          isEnd: names.length === rest.length,
        };
      },
    });
    pages.push(items);
    if (next === undefined) return pages;
    from = { shard: Number(next.split('-')[0]), name: next };
  }
}

test('the pages of a list have each row of all shards once, in the order of shards and names', async () => {
  const counts = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 })), { minLength: 1, maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(counts, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), async (...given) => {
      const [sizes, limit, perScript] = given;
      const shards = namesOf(sizes);
      const pages = await readAll(shards, limit, perScript);
      expect(pages.flat()).toEqual(shards.flat().filter(hasRow));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
    }),
  );
});

test('a page ends early if many names without a row were examined', async () => {
  const shards = [Array.from({ length: 6_000 }, (_, at) => `0-${String(3 * at).padStart(5, '0')}`)];
  const pages = await readAll(shards, 10);
  expect(pages.flat()).toEqual([]);
  expect(pages.length).toBeGreaterThan(1);
});

test('a corrupt row is left out of its page, and another error is thrown', () => {
  const reply: PageReply<readonly [string, string]> = ['c', 3, 1, ['a', '1'], ['b', 'corrupt'], ['c', '3']];
  const decode = ([, value]: readonly [string, string]): number => {
    if (value === 'corrupt') throw new TurnfoldError('corrupt_record', 'no number');
    return Number(value);
  };
  expect(decodePage(reply, decode)).toEqual({
    last: 'c',
    examined: 3,
    isEnd: true,
    rows: [
      { name: 'a', item: 1 },
      { name: 'c', item: 3 },
    ],
  });
  const broken = (): never => {
    throw new TypeError('a bug');
  };
  expect(() => decodePage(reply, broken)).toThrow('a bug');
});
