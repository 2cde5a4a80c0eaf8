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

test('renderLines marks a line from the middle of a call’s arguments, so that its words do not look like a tool name', () => {
  expect(renderLines([call('Testing is next', 300)])).toBe('→ … Testing is next');
});

test('renderLines puts lines of one call behind its first line, and marks a gap before the line that follows it', () => {
  expect(renderLines([call('write path: a.md', 0), call('Testing is done', 300)])).toBe(
    '→ write path: a.md\n… Testing is done',
  );
});
