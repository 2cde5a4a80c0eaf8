import { expect, test } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../src/domain/message.ts';
import { MAX_RESULT_PARTS, readResultParts } from '../../src/domain/result-parts.ts';
import { PIXEL } from '../fakes/contents.ts';

const TEXT = { type: 'text', text: 'a' };
const textsOf = (count: number) => Array.from({ length: count }, () => TEXT);

test.each<[string, unknown]>([
  ['a text', 'a'],
  ['an object', TEXT],
  ['an empty list', []],
  ['a list of orders', [{ id: 1 }, { id: 2 }]],
  ['a list with a part and something else', [TEXT, { id: 2 }]],
])('readResultParts does not take %s for parts', (_, value) => {
  expect(readResultParts(value, 'result')).toEqual({ status: 'other' });
});

test('readResultParts returns a copy of the parts in which bytes are base64', () => {
  const image = { type: 'image', mediaType: 'image/png', data: new Uint8Array(Buffer.from(PIXEL, 'base64')) };
  const parts = [TEXT, { ...image, data: PIXEL }];
  expect(readResultParts([TEXT, image], 'result')).toEqual({ status: 'read', parts });
});

test('readResultParts accepts as many parts as the limit allows', () => {
  expect(readResultParts(textsOf(MAX_RESULT_PARTS), 'result')).toMatchObject({ status: 'read' });
});

test.each<[string, unknown, string, RegExp]>([
  ['more parts than the limit', textsOf(MAX_RESULT_PARTS + 1), 'result', /^expected at most 1000 parts$/],
  ['a part that JSON cannot express', [TEXT, { ...TEXT, size: 1n }], 'result[1].size', /^expected JSON, got a bigint$/],
  ['parts that are too large', [{ ...TEXT, text: 'a'.repeat(MAX_MESSAGE_BYTES) }], 'result', /`loadContent`$/],
  ['a picture without data', [TEXT, { type: 'image', data: '' }], 'result[1]', /^the data is empty/],
])('readResultParts refuses %s and says where and why', (_, value, field, why) => {
  expect(readResultParts(value, 'result')).toEqual({ status: 'refused', field, why: expect.stringMatching(why) });
});
