import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { clipMessage } from '../../../src/compaction/clip.ts';
import { readRecords } from '../../../src/compaction/evidence/read-records.ts';
import { readTerminal, showTerminal } from '../../../src/compaction/evidence/terminal-text.ts';
import { excerptMessage } from '../../../src/compaction/excerpt.ts';

const ESC = '\u001b';

test.each([
  ['colours', `${ESC}[1;31mFAIL${ESC}[0m src/a.ts ${ESC}[38;5;240m12 ms${ESC}[39m`, 'FAIL src/a.ts 12 ms'],
  ['cursor moves', `${ESC}[2K${ESC}[1Gdone${ESC}[?25h`, 'done'],
  ['a window title', `${ESC}]0;make test\u0007ok`, 'ok'],
  ['a link', `see ${ESC}]8;;https://x.example${ESC}\\the page${ESC}]8;;${ESC}\\`, 'see the page'],
  ['a character set', `${ESC}(Bplain`, 'plain'],
  ['a spinner', '|\b/\b-\b\\\bready', 'ready'],
  [
    'a progress bar',
    ' 10%|█   | 1/10\r 50%|█████  | 5/10\r100%|██████████| 10/10\nsaved',
    '100%|██████████| 10/10\nsaved',
  ],
  ['percents without words', '1%\r2%\r3%\r', '3%'],
  ['line ends of Windows beside a colour', `a\r\n${ESC}[32mb${ESC}[0m\r\n`, 'a\nb\n'],
])('the terminal codes of %s do not count as text', (_name, text, shown) => {
  expect(showTerminal(text)).toBe(shown);
});

test.each(['plain text', 'windows\r\nlines\r\n', 'a [31m that a tool printed as text', 'print("\\033[31m")'])(
  'a text without terminal codes stays as it is: %j',
  (text) => {
    expect(readTerminal(text)).toBeUndefined();
  },
);

test('states of a line that do not look alike stay as lines', () => {
  expect(showTerminal('Downloading the model\rUnpacking\rDone')).toBe('Downloading the model\nUnpacking\nDone');
});

const anyTerminal = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        `${ESC}[31m`,
        `${ESC}[0m`,
        '\r',
        '\n',
        '\r\n',
        '\b',
        `${ESC}]0;t\u0007`,
        ESC,
        '\u009b1m',
        '12%',
        ' ',
      ),
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));

test('each shown character stands at its place in the text, and no escape code is shown', () => {
  fc.assert(
    fc.property(anyTerminal, (text) => {
      const shown = readTerminal(text);
      if (shown === undefined) return;
      for (const code of ['\u001b', '\u009b', '\b', '\r']) expect(shown.text).not.toContain(code);
      expect(shown.places.length).toBe(shown.text.length + 1);
      for (const [at, unit] of shown.text.split('').entries()) {
        const place = shown.places[at] as number;
        expect(place).toBeGreaterThan(at === 0 ? -1 : (shown.places[at - 1] as number));
        expect(unit === '\n' ? ['\n', '\r'] : [unit]).toContain(text[place]);
      }
    }),
  );
});

const TABLE = Array.from(
  { length: 12 },
  (_, at) => `${ESC}[32m✓${ESC}[39m test/case-${at}.test.ts ${ESC}[2m(${at} tests)${ESC}[22m`,
).join('\n');

test.each([
  ['in a result', TABLE],
  ['in a string of JSON', JSON.stringify({ output: TABLE, code: 0 })],
])('records %s have no escape codes, and their places cut the same words from the log', (_where, text) => {
  const records = [...readRecords({ part: 'result', text })];
  const record = records.find((one) => one.text.includes('case-7'));
  expect(record?.text.trim()).toBe('✓ test/case-7.test.ts (7 tests)');
  expect(text.slice(record?.start, record?.end)).toContain('case-7');
  const kept = [[record?.start ?? 0, record?.end ?? 0]] as const;
  const { content } = excerptMessage({ role: 'tool', content: text, toolCallId: 'c' }, kept, 5);
  expect(content).toContain('✓ test/case-7.test.ts (7 tests)');
  expect(content).not.toContain(ESC);
});

test('a clip keeps no escape codes, and counts the characters that it shows', () => {
  const { content } = clipMessage({ role: 'tool', content: `${TABLE}\n${TABLE}`, toolCallId: 'c' }, 80, 5);
  expect(content).not.toContain(ESC);
  expect(content.startsWith('✓ test/case-0.test.ts (0 tests)')).toBe(true);
});
