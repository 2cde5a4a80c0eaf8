import { describe, expect, test } from 'vitest';
import { encodeBytes, PDF, readParts } from '../../src/domain/parts.ts';

const URL = 'https://images.example/1.png';
const FILE = 'https://files.example/a.pdf';

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
    ['an image by its URL', { type: 'image', url: URL }, { kind: 'image_url', url: URL }],
    [
      'an image by its bytes',
      { type: 'image', data: 'iVBO', mediaType: 'image/webp' },
      { kind: 'image', mediaType: 'image/webp', base64: 'iVBO' },
    ],
    [
      'an image by its bytes without a type',
      { type: 'image', data: 'iVBO' },
      { kind: 'image', mediaType: 'image/png', base64: 'iVBO' },
    ],
    [
      'a PDF by its bytes',
      { type: 'file', data: 'JVBE', name: 'a.pdf' },
      { kind: 'file', mediaType: PDF, base64: 'JVBE', name: 'a.pdf' },
    ],
    ['a file by its URL', { type: 'file', url: FILE }, { kind: 'file_url', mediaType: PDF, url: FILE }],
    [
      'a file by its URL, with a type',
      { type: 'file', url: FILE, mediaType: 'text/plain', name: '' },
      { kind: 'file_url', mediaType: 'text/plain', url: FILE },
    ],
    [
      'a file with a data URL',
      { type: 'file', url: 'data:text/csv;base64,YSxi', name: 'a.csv' },
      { kind: 'file', mediaType: 'text/csv', base64: 'YSxi', name: 'a.csv' },
    ],
    [
      'a file without contents, unchanged',
      { type: 'file', name: 'a.pdf' },
      { kind: 'other', type: 'file', given: { type: 'file', name: 'a.pdf' } },
    ],
    [
      'the reference of an image',
      { type: 'image', reference: 'k1' },
      { kind: 'reference', reference: 'k1', mediaType: 'image/png', bytes: 0 },
    ],
    [
      'the reference of a file',
      { type: 'file', reference: 'k2', bytes: -1 },
      { kind: 'reference', reference: 'k2', mediaType: PDF, bytes: 0 },
    ],
    [
      'a reference with type, size and name',
      { type: 'file', reference: 'k3', mediaType: 'text/plain', bytes: 9, name: 'a.txt' },
      { kind: 'reference', reference: 'k3', mediaType: 'text/plain', bytes: 9, name: 'a.txt' },
    ],
    [
      'a reference in a part of another type, unchanged',
      { type: 'video', reference: 'k4' },
      { kind: 'other', type: 'video', given: { type: 'video', reference: 'k4' } },
    ],
    [
      'an OpenAI Chat file as base64 data',
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
      { kind: 'file', mediaType: PDF, base64: 'JVBE', name: 'a.pdf' },
    ],
    [
      'an OpenAI Responses file by its URL',
      { type: 'input_file', file_url: FILE },
      { kind: 'file_url', mediaType: PDF, url: FILE },
    ],
    [
      'an OpenAI Responses file by an id, unchanged',
      { type: 'input_file', file_id: 'f1' },
      { kind: 'other', type: 'input_file', given: { type: 'input_file', file_id: 'f1' } },
    ],
    [
      'an Anthropic PDF as base64 data',
      { type: 'document', title: 'A', source: { type: 'base64', media_type: PDF, data: 'JVBE' } },
      { kind: 'file', mediaType: PDF, base64: 'JVBE', name: 'A' },
    ],
    [
      'an Anthropic PDF by its URL',
      { type: 'document', source: { type: 'url', url: FILE } },
      { kind: 'file_url', mediaType: PDF, url: FILE },
    ],
    [
      'an Anthropic text document as text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
      { kind: 'text', text: 'a' },
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

test('readParts reads an Anthropic image by its URL, and leaves images and documents without a readable source as they are', () => {
  const read = (part: object): unknown => readParts({ content: '', parts: [part] })[0];
  const source = { type: 'url', url: 'https://example.com/a.png' };
  expect(read({ type: 'image', source })).toEqual({ kind: 'image_url', url: source.url });
  for (const part of [
    { type: 'image' },
    { type: 'image', source: { type: 'file' } },
    { type: 'image_url', image_url: 7 },
    { type: 'input_image' },
    { type: 'document' },
    { type: 'document', source: { type: 'file', file_id: 'f1' } },
    { type: 'document', source: { type: 'content', media_type: 'text/plain', data: 'a' } },
  ]) {
    expect(read(part)).toMatchObject({ kind: 'other', type: part.type });
  }
});

test('encodeBytes writes the bytes of a part as base64, and leaves other parts as they are', () => {
  const data = new Uint8Array(100_000).map((_, index) => index % 256);
  expect(encodeBytes({ type: 'file', data })).toEqual({ type: 'file', data: Buffer.from(data).toString('base64') });
  for (const part of [{ type: 'image', data: 'iVBO' }, 'a', null]) expect(encodeBytes(part)).toBe(part);
});
