import { describe, expect, test } from 'vitest';
import { countPicture, findPictureFormula, PICTURE_TOKENS } from '../../src/wire/tokens/picture-tokens.ts';
import { png } from '../fakes/pictures.ts';

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
  ])(
    'for %s, a picture of %i × %i pixels counts as many tokens as its provider bills, within 5 %%',
    (id, width, height, billed) => {
      const counted = countPicture({ kind: 'image', base64: png(width, height) }, findPictureFormula({ id }));
      expect(counted / billed).toBeGreaterThan(0.95);
      expect(counted / billed).toBeLessThan(1.05);
    },
  );

  test('a picture of unknown size counts as a large picture, and the formula of a model’s profile overrides the built-in formula', () => {
    expect(countPicture({ kind: 'image_url' })).toBe(PICTURE_TOKENS);
    expect(countPicture({ kind: 'image', base64: png(9_000, 9_000) })).toBe(PICTURE_TOKENS);
    const pictures = { patchPixels: 16, maxTokens: 10 };
    const formula = findPictureFormula({ id: 'claude-opus-5-5', pictures });
    expect(countPicture({ kind: 'image', base64: png(32, 16) }, formula)).toBe(2);
    expect(countPicture({ kind: 'image_url' }, formula)).toBe(10);
  });
});
