import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { markText } from '../../inspector/src/version/marked-text.ts';

test('marked text marks every place of an identifier, and the longer of two identifiers at one place', () => {
  expect(markText('order W123 and W1234, W123', ['W123', 'W1234'])).toEqual([
    { text: 'order ' },
    { text: 'W123', mark: 'W123' },
    { text: ' and ' },
    { text: 'W1234', mark: 'W1234' },
    { text: ', ' },
    { text: 'W123', mark: 'W123' },
  ]);
});

test('marked text loses no character, whatever the text and the identifiers contain', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '.', '*', '[', ']', '(', ')', '\\', '-', '|', '<b>') });
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 5 }), (given, identifiers) => {
      const pieces = markText(given, identifiers);
      expect(pieces.map((piece) => piece.text).join('')).toBe(given);
      for (const { text: shown, mark } of pieces) if (mark !== undefined) expect(identifiers).toContain(shown);
    }),
  );
});
