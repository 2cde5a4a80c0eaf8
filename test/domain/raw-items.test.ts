import { expect, test } from 'vitest';
import { readRawItems } from '../../src/domain/raw-items.ts';

const raw = { format: 'anthropic', model: 'model-1', version: 3, items: [{ type: 'thinking', signature: 'x' }] };

test('readRawItems returns the original items of a provider unchanged', () => {
  expect(readRawItems({ raw })).toStrictEqual(raw);
});

test.each<[string, unknown]>([
  ['no raw items', undefined],
  ['raw items of an unknown format', { ...raw, format: 'smoke signals' }],
  ['raw items without a model', { ...raw, model: '' }],
  ['raw items that are texts', { ...raw, items: ['x'] }],
])('readRawItems returns undefined for a message with %s', (_what, given) => {
  expect(readRawItems(given === undefined ? {} : { raw: given })).toBeUndefined();
});
