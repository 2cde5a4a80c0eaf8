import type { ModelProfile, PictureFormula } from '../../domain/model.ts';
import { readPictureSize } from '../../domain/picture-size.ts';

type Picture = { readonly kind: 'image'; readonly base64: string } | { readonly kind: 'image_url' };

/** Tokens of a picture of unknown size, and maximum tokens of a picture for a model without a formula. */
export const PICTURE_TOKENS = 1_600;

const DEFAULT: PictureFormula = { patchPixels: 28, maxTokens: PICTURE_TOKENS };

/**
 * Formulas by the model's name: a token for each patch of pixels, times a factor, and at most `maxTokens`. Within 5 %
 * of the bills for 10 sizes from 256 × 256 to 4032 × 3024 pixels
 * (https://huggingface.co/datasets/JOHNISKING/image-token-cost). Gemini bills the same for all sizes.
 */
const FORMULAS: readonly (readonly [name: RegExp, formula: PictureFormula])[] = [
  [/claude-\w+-(?:4|3)\b/i, { patchPixels: 28, maxTokens: 1_600 }],
  [/claude/i, { patchPixels: 28, maxTokens: 4_000, maxPixels: 2_048 }],
  [/gpt-6/i, { patchPixels: 32, factor: 1.2, maxTokens: 14_400 }],
  [/gpt-5\.[3-9]/i, { patchPixels: 32, factor: 1.2, maxTokens: 12_000 }],
  [/gpt|\bo\d/i, { patchPixels: 32, maxTokens: 1_536 }],
  [/gemini/i, { patchPixels: 1, maxTokens: 1_120 }],
];

export function findPictureFormula({ id, pictures }: Pick<ModelProfile, 'id' | 'pictures'>): PictureFormula {
  return pictures ?? FORMULAS.find(([name]) => name.test(id))?.[1] ?? DEFAULT;
}

/** A picture that is given by its URL counts as a large one. */
export function countPicture(picture: Picture, formula: PictureFormula = DEFAULT): number {
  const { patchPixels, factor = 1, maxTokens, maxPixels = Number.POSITIVE_INFINITY } = formula;
  const size = picture.kind === 'image' ? readPictureSize(picture.base64) : undefined;
  if (size === undefined) return Math.min(maxTokens, PICTURE_TOKENS);
  const scale = Math.min(1, maxPixels / Math.max(size.width, size.height));
  const patches = Math.ceil((size.width * scale) / patchPixels) * Math.ceil((size.height * scale) / patchPixels);
  return Math.min(maxTokens, Math.ceil(patches * factor));
}
