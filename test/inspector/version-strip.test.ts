import { expect, test } from 'vitest';
import { versionRuns } from '../../inspector/src/diff/version-strip.ts';

test('the strip of a version shows every message of the log once: first the segments, then the messages behind them', () => {
  const segments = [
    { kind: 'summary', from: 1, to: 4 },
    { kind: 'raw', from: 5, to: 6 },
  ];
  expect(versionRuns(segments, 9).map(({ kind, from, to }) => `${from}-${to} ${kind}`)).toEqual([
    '1-4 summary',
    '5-9 raw',
  ]);
});

test('the strip of a version without segments shows the whole log', () => {
  expect(versionRuns([], 3)).toEqual([{ kind: 'raw', from: 1, to: 3, messages: 3, tokens: 0 }]);
  expect(versionRuns([], 0)).toEqual([]);
});
