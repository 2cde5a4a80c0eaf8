import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readAttachedFiles } from '../../src/cli/attached-files.ts';
import { writeTemporary } from '../cli/run-turnfold.ts';
import { JPEG_PIXEL, PIXEL, SHORT_PDF } from '../fakes/contents.ts';

async function write(name: string, bytes: Uint8Array | string): Promise<string> {
  const path = await writeTemporary(name, '');
  await writeFile(path, bytes);
  return path;
}

const base64 = (text: string): Buffer => Buffer.from(text, 'base64');

test.each([
  ['photo.jpg', base64(PIXEL), 'image', 'image/png'],
  ['photo', base64(JPEG_PIXEL), 'image', 'image/jpeg'],
  ['scan.bin', base64(SHORT_PDF), 'file', 'application/pdf'],
  ['table.CSV', 'a,b\n1,2\n', 'file', 'text/csv'],
  ['notes', 'Grüße', 'file', 'text/plain'],
])('the bytes of %s decide that the part is of type %s', async (name, bytes, type, mediaType) => {
  const path = await write(name, bytes);
  const parts = await readAttachedFiles([path]);
  expect(parts).toEqual([{ type, mediaType, data: Buffer.from(bytes as string), name }]);
});

test.each([
  ['an empty file', new Uint8Array(), 'is empty'],
  ['bytes of another kind', Uint8Array.of(0x50, 0x4b, 3, 4, 0, 255), 'no PNG, JPEG, GIF or WebP picture'],
  ['a text with a zero byte', 'a\0b', 'no text in UTF-8'],
])('%s is refused, and the error names the option', async (_, bytes, why) => {
  const path = await write('given', bytes);
  await expect(readAttachedFiles([path])).rejects.toMatchObject({ code: 'invalid_input', field: '--file' });
  await expect(readAttachedFiles([path])).rejects.toThrow(why);
});

test('files that are too large together are refused before they are sent', async () => {
  const half = await write('half.txt', 'x'.repeat(500_000));
  expect(await readAttachedFiles([half])).toHaveLength(1);
  await expect(readAttachedFiles([half, half])).rejects.toMatchObject({ code: 'message_too_large', field: '--file' });
});

test('a file that does not exist is named, and no file gives no parts', async () => {
  await expect(readAttachedFiles(['/nowhere/a.png'])).rejects.toThrow('/nowhere/a.png: cannot be read');
  expect(await readAttachedFiles([])).toBeUndefined();
});
