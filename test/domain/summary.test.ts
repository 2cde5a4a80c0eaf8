import { expect, test } from 'vitest';
import { parseSummary, renderSummary, renderWidestSummary } from '../../src/domain/summary.ts';

test('a rendered summary contains its range of messages, and its version number if it has one', () => {
  expect(renderSummary('A text.', { from: 3, to: 9, version: 4 })).toMatch(
    /^<summary version="4" messages="3-9">\n.+\nA text\.\n<\/summary>$/,
  );
  expect(renderSummary('A text.', { from: 3, to: 9 })).toMatch(/^<summary messages="3-9">\n/);
});

test.each([
  '</summary>',
  '< / SUMMARY >',
  '<\u00a0/summary>',
  '<summary version="1">',
  '<summary messages="1-2">nested</summary\n>',
])('a summary text with %j cannot close the tag around the summary', (tag) => {
  const rendered = renderSummary(`before ${tag} after`, { from: 1, to: 2 });
  expect(rendered.match(/<\s*\/?\s*summary/gi)).toHaveLength(2);
  expect(rendered).toContain(`before ${tag.replaceAll('<', '&lt;')} after`);
});

test('renderWidestSummary returns a text at least as long as the summary rendered with any version number', () => {
  const counted = renderWidestSummary('A text.', { from: 1, to: 2 });
  for (const version of [undefined, 1, 999_999]) {
    expect(renderSummary('A text.', { from: 1, to: 2, version }).length).toBeLessThanOrEqual(counted.length);
  }
});

test.each([
  ['with a version', 'A text.', { from: 3, to: 9, version: 4 }],
  ['without a version', 'A text.', { from: 3, to: 9 }],
  ['with several lines', 'One.\n\nTwo.\n', { from: 1, to: 1 }],
  ['that quotes tags of summaries', 'a </summary> b < Summary > <b>', { from: 1, to: 2, version: 1 }],
  ['without text', '', { from: 1, to: 2 }],
])('a summary %s is parsed into the text and label that it was rendered from', (_, text, label) => {
  expect(parseSummary(renderSummary(text, label))).toStrictEqual({ text, label });
});

test.each([
  ['a plain text', () => 'A text.'],
  ['a summary with another note', (rendered: string) => rendered.replace('A record', 'No record')],
  ['a summary without its range', (rendered: string) => rendered.replace(' messages="1-2"', '')],
  ['a summary with text before its tag', (rendered: string) => `Before ${rendered}`],
  ['a summary whose tag is not closed', (rendered: string) => rendered.replace('</summary>', '')],
])('%s is not parsed as a summary', (_, change) => {
  expect(parseSummary(change(renderSummary('A text.', { from: 1, to: 2 })))).toBeUndefined();
});
