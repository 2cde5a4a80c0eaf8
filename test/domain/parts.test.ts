import { describe, expect, test } from 'vitest';
import { encodeBytes, readParts } from '../../src/domain/parts.ts';

const URL = 'https://images.example/1.png';

describe('parts of a message', () => {
  test.each<[string, unknown, unknown]>([
    ['a text part in the format of turnfold', { type: 'text', text: 'a' }, { kind: 'text', text: 'a' }],
    ['a text part of OpenAI Responses', { type: 'output_text', text: 'a' }, { kind: 'text', text: 'a' }],
    [
      'an OpenAI Chat image by its URL',
      { type: 'image_url', image_url: { url: URL } },
      { kind: 'image_url', url: URL },
    ],
    [
      'an OpenAI Chat image whose URL is not inside an object',
      { type: 'image_url', image_url: URL },
      { kind: 'image_url', url: URL },
    ],
    [
      'an OpenAI Responses image as base64 data',
      { type: 'input_image', image_url: 'data:image/png;name=a.png;base64,iVBO' },
      { kind: 'image', mediaType: 'image/png', base64: 'iVBO' },
    ],
    [
      'an image with a data URL that is not base64, as a URL',
      { type: 'input_image', image_url: 'data:image/svg+xml,<svg/>' },
      { kind: 'image_url', url: 'data:image/svg+xml,<svg/>' },
    ],
    [
      'an Anthropic image as base64 data',
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/' } },
      { kind: 'image', mediaType: 'image/jpeg', base64: '/9j/' },
    ],
    [
      'an Anthropic image by its URL',
      { type: 'image', source: { type: 'url', url: URL } },
      { kind: 'image_url', url: URL },
    ],
    [
      'a part of an unknown type',
      { type: 'video', seconds: 3 },
      { kind: 'other', type: 'video', given: { type: 'video', seconds: 3 } },
    ],
    ['a part without a type', 'a', { kind: 'other', type: 'unknown', given: 'a' }],
  ])('readParts reads %s', (_what, given, part) => {
    expect(readParts({ content: '', parts: [given] })).toStrictEqual([part]);
  });

  test('readParts puts the text of the message first if no part contains text', () => {
    const picture = { type: 'image_url', image_url: URL };
    const read = (parts?: readonly unknown[]) => readParts({ content: 'a', ...(parts && { parts: [...parts] }) });
    expect(read()).toStrictEqual([{ kind: 'text', text: 'a' }]);
    expect(read([picture]).map(({ kind }) => kind)).toEqual(['text', 'image_url']);
    expect(read([picture, { type: 'text', text: 'a' }]).map(({ kind }) => kind)).toEqual(['image_url', 'text']);
  });
});

test('readParts reads an Anthropic image by its URL, and leaves images without a readable source as they are', () => {
  const read = (part: object): unknown => readParts({ content: '', parts: [part] })[0];
  const source = { type: 'url', url: 'https://example.com/a.png' };
  expect(read({ type: 'image', source })).toEqual({ kind: 'image_url', url: source.url });
  for (const part of [
    { type: 'image' },
    { type: 'image', source: { type: 'file' } },
    { type: 'image_url', image_url: 7 },
    { type: 'input_image' },
  ]) {
    expect(read(part)).toMatchObject({ kind: 'other', type: part.type });
  }
});

test('encodeBytes writes the bytes of a part as base64, and leaves other parts as they are', () => {
  const data = new Uint8Array(100_000).map((_, index) => index % 256);
  expect(encodeBytes({ type: 'file', data })).toEqual({ type: 'file', data: Buffer.from(data).toString('base64') });
  for (const part of [{ type: 'image', data: 'iVBO' }, 'a', null]) expect(encodeBytes(part)).toBe(part);
});
