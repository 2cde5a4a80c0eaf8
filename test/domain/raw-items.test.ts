import { expect, test } from 'vitest';
import { readRawItems } from '../../src/domain/raw-items.ts';

const raw = { format: 'anthropic', model: 'model-1', version: 3, items: [{ type: 'thinking', signature: 'x' }] };

test('a message has what its provider wrote, as it was written', () => {
  expect(readRawItems({ raw })).toStrictEqual(raw);
});

test.each<[string, unknown]>([
  ['none', undefined],
  ['of an unknown format', { ...raw, format: 'smoke signals' }],
  ['of no model', { ...raw, model: '' }],
  ['items that are none', { ...raw, items: ['x'] }],
])('or none, where it has %s', (_what, given) => {
  expect(readRawItems(given === undefined ? {} : { raw: given })).toBeUndefined();
});
