import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findLiterals, findWords } from '../../../src/models/structural/literals.ts';
import { clipCharacters, clipHead, clipMiddle, foldLine, takeEnds } from '../../../src/models/structural/text.ts';

function find(text: string): string[] {
  return [...findLiterals(text)].map((literal) => `${literal.kind} ${literal.text}`);
}

describe('literals', () => {
  test.each([
    ['see src/a.ts:12 and ./b/c', ['path src/a.ts', 'path ./b/c']],
    ['https://example.org/a?b=c#d.', ['path https://example.org/a?b=c#d']],
    ['Order #W1845024, user jo_doe_42', ['id #W1845024', 'id jo_doe_42']],
    ['550e8400-e29b-41d4-a716-446655440000', ['id 550e8400-e29b-41d4-a716-446655440000']],
    ['commit cceb444 by a.b@example.org', ['id cceb444', 'id a.b@example.org']],
    ['{"reservation":"ABCDEF","seat":"OK"}', ['id ABCDEF']],
    ['on 2024-05-17 at 2024-05-17T10:30:00Z', ['date 2024-05-17', 'date 2024-05-17T10:30:00Z']],
    ['"price": 152, status: 404', ['number 152', 'number 404']],
    ['$1204 and 77 of 4096', ['number 1204', 'count 4096']],
    ['101: a\n102: b\n103: c\n250: d', ['number 101', 'count 102', 'count 103', 'number 250']],
    ['either/or, a/b, 10px, 250ms, 16GB, v1, <div></div>, 0x7f00a1b2', []],
    ['ERROR: IT FAILED', []],
    ['…/src/a.ts and src/b.ts…', []],
  ])('the literals (ids, paths, dates, numbers) found in %j are %j', (text, expected) => {
    expect(find(text)).toEqual(expected);
  });

  test('the words that the structural summarizer finds in any text are parts of the text, in order', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        let from = 0;
        for (const word of findWords(text)) {
          const at = text.indexOf(word, from);
          expect(at).toBeGreaterThanOrEqual(from);
          from = at;
        }
      }),
    );
  });
});

describe('clips', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 80 }),
    fc.array(fc.constantFrom('a', '😀', 'é'), { maxLength: 80 }).map((parts) => parts.join('')),
  );

  test.each([{ clip: clipCharacters }, { clip: clipHead }, { clip: clipMiddle }])(
    '$clip.name returns at most the given number of UTF-16 units, in whole code points',
    ({ clip }) => {
      fc.assert(
        fc.property(anyText, fc.nat(40), (text, maxChars) => {
          const clipped = clip(text, maxChars);
          expect(clipped.length).toBeLessThanOrEqual(maxChars);
          expect(clipped.isWellFormed()).toBe(true);
          expect(text.length > maxChars || clipped === text).toBe(true);
        }),
      );
    },
  );

  test('a huge text is shortened to its start and its end, and no literal (id, path or number) spans the gap', () => {
    const text = `start ${'😀/abc1234'.repeat(20_000)} end`;
    const taken = takeEnds(text);
    expect(taken.length).toBeLessThan(50_000);
    expect(taken).toMatch(/^start [^]*…\n…[^]* end$/);
    expect(taken.isWellFormed()).toBe(true);
  });

  test('folding a text to one line changes nothing the second time', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          fc.string({ unit: 'binary' }),
          fc.string({ unit: fc.constantFrom('#', '>', ' ', '`', '~', '\n', 'a') }),
        ),
        (text) => {
          const line = foldLine(text);
          expect(foldLine(line)).toBe(line);
          expect(line).not.toMatch(/^(?:# |> )|[\p{Cc}]|`{3}|~{3}|^\s|\s$/u);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
