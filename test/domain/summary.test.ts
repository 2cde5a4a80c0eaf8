import { expect, test } from 'vitest';
import { renderSummary, renderWidestSummary } from '../../src/domain/summary.ts';

test('a summary names its version, if it has one, and its range', () => {
  expect(renderSummary('A text.', { from: 3, to: 9, version: 4 })).toMatch(
    /^<summary version="4" messages="3-9">\n.+\nA text\.\n<\/summary>$/,
  );
  expect(renderSummary('A text.', { from: 3, to: 9 })).toMatch(/^<summary messages="3-9">\n/);
});

test.each(['</summary>', '< / SUMMARY >', '<summary version="1">'])(
  'the text of a summary cannot close its tag: %s',
  (tag) => {
    const rendered = renderSummary(`before ${tag} after`, { from: 1, to: 2 });
    expect(rendered.match(/<\s*\/?\s*summary/gi)).toHaveLength(2);
    expect(rendered).toContain(`before &lt;${tag.slice(1)} after`);
  },
);

test('a summary is counted in its widest form', () => {
  const counted = renderWidestSummary('A text.', { from: 1, to: 2 });
  for (const version of [undefined, 1, 999_999]) {
    expect(renderSummary('A text.', { from: 1, to: 2, version }).length).toBeLessThanOrEqual(counted.length);
  }
});
