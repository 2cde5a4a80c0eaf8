import { describe, expect, test } from 'vitest';
import { findContentFlaw, readMediaType } from '../../src/domain/content-flaws.ts';
import type { ContentPart } from '../../src/domain/parts.ts';
import { JPEG_PIXEL, PIXEL, SHORT_PDF } from '../fakes/contents.ts';

const text = Buffer.from('plain').toString('base64');
const image = (base64: string, mediaType = 'image/png'): ContentPart => ({ kind: 'image', base64, mediaType });
const file = (base64: string, mediaType: string): ContentPart => ({ kind: 'file', base64, mediaType });

describe('findContentFlaw with valid message parts', () => {
  test.each<[string, ContentPart]>([
    ['a text', { kind: 'text', text: 'x' }],
    ['a PNG file', image(PIXEL)],
    ['a JPEG file', image(JPEG_PIXEL, 'image/jpeg')],
    ['a PDF file', file(SHORT_PDF, 'application/pdf')],
    ['a text file', file(text, 'text/plain')],
    ['the address of a picture', { kind: 'image_url', url: 'https://example.com/a.png' }],
    ['the address of a file', { kind: 'file_url', url: 'http://example.com/a.pdf', mediaType: 'application/pdf' }],
    [
      'a reference',
      { kind: 'reference', type: 'image', mediaType: 'image/png', reference: 'a', bytes: 1 } as ContentPart,
    ],
    ['a part of another kind', { kind: 'other', given: { type: 'odd' } } as ContentPart],
    ['a part of another kind with an address', { kind: 'other', given: { url: 'https://example.com' } } as ContentPart],
  ])('findContentFlaw reports nothing for %s', (_name, part) => {
    expect(findContentFlaw(part)).toBeUndefined();
  });
});

describe('findContentFlaw with message parts that no provider can read', () => {
  test.each<[string, ContentPart, RegExp]>([
    ['empty data', image(''), /the data is empty/],
    ['other characters than base64', image('!!!!'), /not base64/],
    ['base64 without its padding', image('AAA'), /not base64/],
    ['bytes that are no picture', image(text), /no PNG, JPEG, GIF or WebP picture/],
    ['a picture of another type', image(JPEG_PIXEL), /bytes are a picture of type image\/jpeg/],
    ['bytes that are no PDF file', file(text, 'application/pdf'), /no PDF file/],
    ['a media type without a subtype', file(text, 'text'), /media type must be/],
    ['a media type that is too long', file(text, `text/${'x'.repeat(200)}`), /at most 127 characters/],
    ['a file on the disk', { kind: 'image_url', url: 'file:///etc/passwd' }, /address of http or https/],
    ['a script', { kind: 'image_url', url: 'javascript:alert(1)' }, /address of http or https/],
    ['an address that is too long', { kind: 'image_url', url: `https://${'x'.repeat(9_000)}` }, /at most 8192/],
    ['an address without a host', { kind: 'file_url', url: 'https://[', mediaType: 'a/b' }, /address of http/],
    [
      'a script in a part of another kind',
      { kind: 'other', given: { url: 'blob:x' } } as ContentPart,
      /address of http/,
    ],
    [
      'a media type of a reference',
      { kind: 'reference', type: 'image', mediaType: 'png' } as unknown as ContentPart,
      /media type/,
    ],
  ])('findContentFlaw reports a flaw for %s', (_name, part, flaw) => {
    expect(findContentFlaw(part)).toMatch(flaw);
  });
});

test('readMediaType finds the media type of a picture from its bytes', () => {
  expect(readMediaType(JPEG_PIXEL)).toBe('image/jpeg');
  expect(readMediaType(text)).toBeUndefined();
});
