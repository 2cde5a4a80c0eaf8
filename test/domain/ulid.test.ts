import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UlidSource } from '../../src/domain/ulid.ts';

/** Decodes the 26 digits of a ULID to its 48 bits of time and 80 random bits. */
function decode(id: string): { readonly timeMs: number; readonly random: bigint } {
  const value = id
    .split('')
    .reduce((sum, digit) => sum * 32n + BigInt('0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit)), 0n);
  return { timeMs: Number(value >> 80n), random: value & ((1n << 80n) - 1n) };
}

/** Generates one id at each of the given times, with random bytes of one value. */
function generate(timesMs: readonly number[], byte: number): string[] {
  let nowMs = 0;
  const source = new UlidSource({ now: () => nowMs }, (bytes) => bytes.fill(byte));
  return timesMs.map((timeMs) => {
    nowMs = timeMs;
    return source.next();
  });
}

test('a ULID of a new millisecond contains its time and 80 random bits', () => {
  const timeMs = fc.nat({ max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(timeMs, fc.nat({ max: 255 }), (now, byte) => {
      const [id = ''] = generate([now], byte);
      expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
      expect(decode(id)).toEqual({ timeMs: now, random: BigInt(`0x${byte.toString(16).padStart(2, '0').repeat(10)}`) });
    }),
  );
});

test('ULIDs ascend even if the clock stands still or goes back', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 2 }), fc.constantFrom(0, 7, 255), (timesMs, byte) => {
      const ids = generate(timesMs, byte);
      expect(ids).toEqual([...new Set(ids)].toSorted());
    }),
  );
});

test('a second ULID of the same millisecond is the previous ULID plus one, also when the lower half of its random bits overflows', () => {
  let drawn = 0;
  const source = new UlidSource({ now: () => 1 }, (bytes) => {
    drawn += 1;
    // The upper half is 0 and the lower half has all bits set.
    bytes.fill(0, 0, 5);
    bytes.fill(255, 5, 10);
  });
  const randoms = Array.from({ length: 1_000 }, () => decode(source.next()).random);
  expect(randoms.every((random, index) => index === 0 || random === (randoms[index - 1] ?? 0n) + 1n)).toBe(true);
  expect(drawn).toBe(1);
});

test('a ULID that follows the highest ULID of a millisecond uses the next millisecond', () => {
  const [first = '', second = ''] = generate([1, 1], 255);
  expect([decode(first).timeMs, decode(second).timeMs]).toEqual([1, 2]);
});
