import { describe, expect, test } from 'vitest';
import { readPictureSize } from '../../src/domain/picture-size.ts';
import { gif, jpeg, png, webp } from '../fakes/pictures.ts';

describe('the size of a picture', () => {
  test.each([
    ['PNG', png(1_280, 720)],
    ['GIF', gif(1_280, 720)],
    ['JPEG', jpeg(1_280, 720)],
    ['JPEG with fill bytes', jpeg(1_280, 720, 3)],
    ['extended WebP', webp('VP8X', 1_280, 720)],
    ['lossless WebP', webp('VP8L', 1_280, 720)],
    ['lossy WebP', webp('VP8 ', 1_280, 720)],
  ])('readPictureSize reads the size of a picture from a %s file', (_name, file) => {
    expect(readPictureSize(file)).toMatchObject({ width: 1_280, height: 720 });
  });

  test.each([
    ['no picture', Buffer.from('Hello, this is not a picture at all.').toString('base64')],
    ['an empty text', ''],
    ['a cut file', png(5, 5).slice(0, 12)],
    ['a JPEG file without a frame', jpeg(5, 5).slice(0, 200)],
    ['a picture of no width', png(0, 5)],
    ['a cut GIF file', gif(5, 5).slice(0, 8)],
    ['a cut WebP file', webp('VP8X', 5, 5).slice(0, 20)],
    [
      'a JPEG file with data in place of a marker',
      Buffer.from([0xff, 0xd8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).toString('base64'),
    ],
  ])('the size of a picture is unknown for %s', (_name, file) => {
    expect(readPictureSize(file)).toBeUndefined();
  });
});
