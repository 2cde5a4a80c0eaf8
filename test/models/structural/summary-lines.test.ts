import { expect, test } from 'vitest';
import { renderLines, type ShownFragment } from '../../../src/summarize/structural/summary-lines.ts';

function call(text: string, start: number): ShownFragment {
  const place = {
    message: 4,
    part: 'call',
    partIndex: 0,
    terms: [],
    start,
    end: start + text.length,
    depth: 0,
  } as const;
  const owner = start === 0 ? -1 : 0;
  return { ...place, index: start, line: start, owner, text, status: undefined, isSummary: false };
}

test('a line from the middle of the arguments of a call does not pose as the name of a tool', () => {
  expect(renderLines([call('Testing is next', 300)])).toBe('→ … Testing is next');
});

test('lines of one call stand behind its first line, and a gap between them is visible', () => {
  expect(renderLines([call('write path: a.md', 0), call('Testing is done', 300)])).toBe(
    '→ write path: a.md …\nTesting is done',
  );
});
