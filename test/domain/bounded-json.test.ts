import { assert, jsonValue, nat, property } from 'fast-check';
import { expect, test } from 'vitest';
import { copyBoundedJson, writeBoundedJson } from '../../src/domain/bounded-json.ts';
import { readJsonText } from '../../src/domain/json-text.ts';
import { HOSTILE_BYTES, HOSTILE_JSON, nestDeeply } from '../fakes/hostile-values.ts';
import { errorOf } from './error-of.ts';

const bounds = { maxCharacters: 1_048_576 };

test('writeBoundedJson returns the same text as JSON.stringify for any JSON value', () => {
  assert(
    property(jsonValue({ maxDepth: 6 }), (value) => {
      expect(writeBoundedJson(value, bounds)).toEqual({ status: 'written', json: JSON.stringify(value) });
    }),
  );
});

test.each<[string, unknown]>([
  ['leaves out members that are undefined', { a: undefined, b: [undefined, 1], c: { d: undefined } }],
  ['calls toJSON', { at: new Date(0), url: new URL('https://a.test/') }],
  ['unwraps boxed values', { boxed: [Object('text'), Object(1), Object(true)] }],
  ['writes a member for each element of a buffer', { bytes: new Uint8Array([1, 2]), buffer: Buffer.from('ab') }],
  ['keeps a key named __proto__', JSON.parse('{"__proto__":{"a":1},"b":2}')],
  ['writes an object twice that occurs in two places', [shared(), shared()].fill(shared())],
])('writeBoundedJson %s, as JSON.stringify does', (_, value) => {
  expect(writeBoundedJson(value, bounds)).toEqual({ status: 'written', json: JSON.stringify(value) });
});

test.each([...HOSTILE_JSON, ...HOSTILE_BYTES])(
  'copyBoundedJson refuses %s with a coded error that names the field',
  (name, make) => {
    const error = errorOf(() => copyBoundedJson({ list: [0, make()] }, 'raw', bounds));
    const isLarge = name.startsWith('5 MB') || name.includes('billion');
    expect(error).toMatchObject({ code: isLarge ? 'message_too_large' : 'invalid_input' });
    expect(error.field).toMatch(isLarge ? /^raw$/ : /^raw\.list\[1\]/);
    expect(error.message.length).toBeLessThan(1_000);
  },
);

test('copyBoundedJson names the property path of a bad value inside nested lists and objects', () => {
  const error = errorOf(() => copyBoundedJson({ a: [{}, { b: 5n }] }, 'raw', bounds));
  expect(error).toMatchObject({ field: 'raw.a[1].b', message: 'raw.a[1].b: expected JSON, got a bigint' });
});

test('writeBoundedJson accepts JSON up to the limits of depth and size, and refuses one level or character more', () => {
  expect(writeBoundedJson(nestDeeply(9), { ...bounds, maxDepth: 10 }).status).toBe('written');
  expect(writeBoundedJson(nestDeeply(10), { ...bounds, maxDepth: 10 }).status).toBe('refused');
  expect(writeBoundedJson('12345678', { maxCharacters: 10 }).status).toBe('written');
  expect(writeBoundedJson('123456789', { maxCharacters: 10 }).status).toBe('refused');
});

function shared(): object {
  return { same: true };
}

test('JSON that writeBoundedJson writes under a limit on the number of values can be read under the same limit', () => {
  assert(
    property(jsonValue({ maxDepth: 4 }), nat(30), (value, maxValues) => {
      const written = writeBoundedJson(value, { ...bounds, maxValues });
      if (written.status === 'refused') expect(written.code).toBe('message_too_large');
      else expect(readJsonText(written.json, { maxDepth: 200, maxValues })).toEqual(JSON.parse(written.json));
    }),
  );
});
