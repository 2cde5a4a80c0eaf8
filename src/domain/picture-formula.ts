/** A picture counts one token for each square of pixels, times a factor, up to a maximum. */
export interface PictureFormula {
  /** Edge of a square in pixels. */
  readonly patchPixels: number;
  /** Tokens of one square. Default 1. */
  readonly factor?: number;
  /** Tokens of the largest picture. Larger ones are scaled down. */
  readonly maxTokens: number;
  /** Longest edge in pixels, to which larger pictures are scaled down. */
  readonly maxPixels?: number;
}
