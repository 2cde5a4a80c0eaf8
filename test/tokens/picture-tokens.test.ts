import { describe, expect, test } from 'vitest';
import { readPictureSize } from '../../src/domain/picture-size.ts';
import { countPicture, findPictureFormula, PICTURE_TOKENS } from '../../src/tokens/picture-tokens.ts';

function png(width: number, height: number): string {
  const file = Buffer.alloc(32);
  file.write('\u0089PNG\r\n\u001a\n', 'latin1');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file.toString('base64');
}

function gif(width: number, height: number): string {
  const file = Buffer.alloc(16);
  file.write('GIF89a', 'latin1');
  file.writeUInt16LE(width, 6);
  file.writeUInt16LE(height, 8);
  return file.toString('base64');
}

/** A JPEG file with a preview of 10,000 bytes before its frame. */
function jpeg(width: number, height: number): string {
  const preview = Buffer.alloc(10_002);
  preview.writeUInt16BE(0xffe1, 0);
  preview.writeUInt16BE(10_000, 2);
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, 0, 0, 0, 0, 3]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), preview, frame]).toString('base64');
}

function webp(kind: 'VP8X' | 'VP8L' | 'VP8 ', width: number, height: number): string {
  const file = Buffer.alloc(40);
  file.write('RIFF', 0, 'latin1');
  file.write(`WEBP${kind}`, 8, 'latin1');
  if (kind === 'VP8X') {
    file.writeUIntLE(width - 1, 24, 3);
    file.writeUIntLE(height - 1, 27, 3);
  } else if (kind === 'VP8L') file.writeUInt32LE((width - 1) | ((height - 1) << 14), 21);
  else {
    file.writeUInt16LE(width, 26);
    file.writeUInt16LE(height, 28);
  }
  return file.toString('base64');
}

describe('the size of a picture', () => {
  test.each([
    ['PNG', png(1_280, 720)],
    ['GIF', gif(1_280, 720)],
    ['JPEG', jpeg(1_280, 720)],
    ['extended WebP', webp('VP8X', 1_280, 720)],
    ['lossless WebP', webp('VP8L', 1_280, 720)],
    ['lossy WebP', webp('VP8 ', 1_280, 720)],
  ])('the size of a picture is read from a %s file', (_name, file) => {
    expect(readPictureSize(file)).toMatchObject({ width: 1_280, height: 720 });
  });

  test.each([
    ['no picture', Buffer.from('Hello, this is not a picture at all.').toString('base64')],
    ['an empty text', ''],
    ['a cut file', png(5, 5).slice(0, 12)],
    ['a JPEG file without a frame', jpeg(5, 5).slice(0, 200)],
    ['a picture of no width', png(0, 5)],
  ])('the size of a picture is unknown for %s', (_name, file) => {
    expect(readPictureSize(file)).toBeUndefined();
  });
});

describe('the tokens of a picture', () => {
  // Tokens billed for one picture, without those of the text beside it (77 on Claude 5.5, 65 on Claude 4.5).
  test.each([
    ['claude-opus-5-5', 256, 256, 100],
    ['claude-opus-5-5', 1_024, 1_024, 1_369],
    ['claude-opus-5-5', 1_920, 1_080, 2_691],
    ['claude-opus-5-5', 3_840, 2_160, 2_992],
    ['claude-opus-5-5', 4_032, 3_024, 3_928],
    ['claude-haiku-4-5', 1_280, 720, 1_196],
    ['claude-haiku-4-5', 4_032, 3_024, 1_596],
    ['gpt-6-astra', 256, 256, 77],
    ['gpt-6-astra', 1_920, 1_080, 2_448],
    ['gpt-6-astra', 4_032, 3_024, 14_364],
    ['gemini-3-pro', 4_032, 3_024, 1_120],
  ])('%s counts a picture of %i × %i pixels as its provider does, within 5 %%', (id, width, height, billed) => {
    const counted = countPicture({ kind: 'image', base64: png(width, height) }, findPictureFormula({ id }));
    expect(counted / billed).toBeGreaterThan(0.95);
    expect(counted / billed).toBeLessThan(1.05);
  });

  test('a picture of unknown size counts as a large one, and the formula of a profile wins', () => {
    expect(countPicture({ kind: 'image_url' })).toBe(PICTURE_TOKENS);
    expect(countPicture({ kind: 'image', base64: png(9_000, 9_000) })).toBe(PICTURE_TOKENS);
    const pictures = { patchPixels: 16, maxTokens: 10 };
    const formula = findPictureFormula({ id: 'claude-opus-5-5', pictures });
    expect(countPicture({ kind: 'image', base64: png(32, 16) }, formula)).toBe(2);
    expect(countPicture({ kind: 'image_url' }, formula)).toBe(10);
  });
});
