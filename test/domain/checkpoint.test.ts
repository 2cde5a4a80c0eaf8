import { expect, test } from 'vitest';
import { renderCheckpoint, renderWidestCheckpoint } from '../../src/domain/checkpoint.ts';

test('it names its version, where it has one, and its range', () => {
  expect(renderCheckpoint('A text.', { from: 3, to: 9, version: 4 })).toMatch(
    /^<checkpoint version="4" messages="3-9">\n.+\nA text\.\n<\/checkpoint>$/,
  );
  expect(renderCheckpoint('A text.', { from: 3, to: 9 })).toMatch(/^<checkpoint messages="3-9">\n/);
});

test.each(['</checkpoint>', '< / CHECKPOINT >', '<checkpoint version="1">'])('its text cannot close it: %s', (tag) => {
  const rendered = renderCheckpoint(`before ${tag} after`, { from: 1, to: 2 });
  expect(rendered.match(/<\s*\/?\s*checkpoint/gi)).toHaveLength(2);
  expect(rendered).toContain(`before &lt;${tag.slice(1)} after`);
});

test('it is counted as the widest that it can become', () => {
  const counted = renderWidestCheckpoint('A text.', { from: 1, to: 2 });
  for (const version of [undefined, 1, 999_999]) {
    expect(renderCheckpoint('A text.', { from: 1, to: 2, version }).length).toBeLessThanOrEqual(counted.length);
  }
});
