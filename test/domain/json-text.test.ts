import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GROWN_JSON_BOUNDS, parseJsonText, readJsonText, refuseJsonText } from '../../src/domain/json-text.ts';

const bounds = { maxDepth: 3, maxValues: 10 };

test('readJsonText reads JSON within its limits as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      expect(parseJsonText(text, 'body')).toEqual(JSON.parse(text));
      expect(readJsonText(text)).toEqual(JSON.parse(text));
    }),
  );
});

describe('JSON text above a limit, which is refused before it is parsed', () => {
  test.each<[string, string, string, RegExp]>([
    ['a deep list', '[[[[1]]]]', 'invalid_input', /nested more than 3 levels deep/],
    ['a deep object', '{"a":{"a":{"a":{}}}}', 'invalid_input', /nested more than 3 levels deep/],
    ['many members', `[${'1,'.repeat(20)}1]`, 'message_too_large', /more than 10 JSON values/],
    [
      'many names',
      `{${Array.from({ length: 10 }, (_, at) => `"${at}":1`).join(',')}}`,
      'message_too_large',
      /more than 10/,
    ],
  ])('JSON text with %s is refused before it is parsed', (_name, text, code, why) => {
    expect(refuseJsonText(text, bounds)).toMatchObject({ code, why: expect.stringMatching(why) as string });
    expect(readJsonText(text, bounds)).toBeUndefined();
    expect(() => parseJsonText(text, 'body', bounds)).toThrow(why);
  });
});

test('stored JSON may have many members whose names repeat, but is refused for many different short strings', () => {
  const segment = (at: number) => ({
    kind: 'masked',
    from: at,
    to: at,
    tokens: 50,
    about: `the result of call ${at} ${'.'.repeat(60)}`,
  });
  const version = JSON.stringify({ segments: Array.from({ length: 25_000 }, (_, at) => segment(at)) });
  expect(refuseJsonText(version, GROWN_JSON_BOUNDS)).toBeUndefined();
  const named = Array.from({ length: 25_000 }, (_, at) => ({ [`k${at}`]: 0 }));
  for (const hostile of [named, named.map((one) => Object.keys(one))]) {
    const text = JSON.stringify(hostile);
    expect(refuseJsonText(text, { ...GROWN_JSON_BOUNDS, maxTexts: Number.POSITIVE_INFINITY })).toBeUndefined();
    expect(refuseJsonText(text, GROWN_JSON_BOUNDS)).toMatchObject({ code: 'message_too_large' });
  }
});

test('brackets and commas inside JSON strings do not count towards the limits', () => {
  for (const text of [
    '"[[[[[[[["',
    '"a \\"[[[[[[ b"',
    '"\\\\"',
    '["{{{{{", ",,,,,,,,,,,,,"]',
    `"${'\\"'.repeat(50)}"`,
  ]) {
    expect(readJsonText(text, bounds)).toEqual(JSON.parse(text));
  }
});

test.each(['', '{', ']]]]', '"open', '"open \\"', 'nothing'])(
  'parseJsonText refuses text that is not JSON: %j',
  (text) => {
    expect(readJsonText(text)).toBeUndefined();
    expect(() => parseJsonText(text, 'body')).toThrow('body: not valid JSON');
  },
);
