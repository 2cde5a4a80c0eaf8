import { expect, test } from 'vitest';
import { readRawItems } from '../../src/domain/raw-items.ts';

const raw = { format: 'anthropic', model: 'model-1', version: 3, items: [{ type: 'thinking', signature: 'x' }] };

test('a message keeps the items of its provider unchanged', () => {
  expect(readRawItems({ raw })).toStrictEqual(raw);
});

test.each<[string, unknown]>([
  ['none', undefined],
  ['of an unknown format', { ...raw, format: 'smoke signals' }],
  ['of no model', { ...raw, model: '' }],
  ['items that are none', { ...raw, items: ['x'] }],
])('a message has no raw items if it has %s', (_what, given) => {
  expect(readRawItems(given === undefined ? {} : { raw: given })).toBeUndefined();
});
