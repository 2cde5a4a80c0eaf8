import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TermIndex } from '../../../src/domain/evidence/term-index.ts';

test('an index numbers texts in the order in which they are first seen', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 })), (texts) => {
      const index = new TermIndex();
      const distinct = [...new Set(texts)];
      expect(texts.map((text) => index.add(text))).toEqual(texts.map((text) => distinct.indexOf(text)));
      expect(index.size).toBe(distinct.length);
    }),
  );
});
