import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TermIndex } from '../../../src/compaction/evidence/term-index.ts';

test('a term index numbers texts in the order in which they were first added', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 })), (texts) => {
      const index = new TermIndex();
      const distinct = [...new Set(texts)];
      expect(texts.map((text) => index.add(text))).toEqual(texts.map((text) => distinct.indexOf(text)));
      expect(index.size).toBe(distinct.length);
    }),
  );
});

test('a term index finds a part of a longer text only if this part was added', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, maxLength: 3 })), fc.string({ minLength: 1 }), (texts, longer) => {
      const index = new TermIndex();
      for (const text of texts) index.add(text);
      for (let from = 0; from < longer.length; from += 1) {
        const known = index.findPart(longer, from, from + 1);
        expect(known === undefined ? undefined : index.textOf(known)).toBe(
          texts.includes(longer[from] as string) ? longer[from] : undefined,
        );
      }
    }),
  );
});

/** Texts whose hashes have the same lowest bits, so that they compete for the same slots. */
function textsOfOneSlot(count: number): string[] {
  const texts: string[] = [];
  for (let number = 0; texts.length < count; number += 1) {
    const text = `text${number}`;
    let hash = 0x811c9dc5;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    if (((hash ^ (hash >>> 15)) & 0xfff) === 0) texts.push(text);
  }
  return texts;
}

test('a term index keeps texts apart whose hashes lead to the same slot', () => {
  const texts = [...textsOfOneSlot(200), ...Array.from({ length: 5_000 }, (_, number) => `other${number}`)];
  const index = new TermIndex();
  const numbers = texts.map((_, number) => number);
  expect(texts.map((text) => index.add(text))).toEqual(numbers);
  expect(texts.map((text) => index.add(text))).toEqual(numbers);
  expect(texts.map((text) => index.findPart(`<${text}>`, 1, 1 + text.length))).toEqual(numbers);
  expect(index.findPart('absent', 0, 6)).toBeUndefined();
});
