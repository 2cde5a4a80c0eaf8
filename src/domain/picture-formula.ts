/** A picture counts one token for each square of pixels, times a factor, up to a maximum. */
export interface PictureFormula {
  /** Edge of a square. */
  readonly patchPixels: number;
  /** Default 1. */
  readonly factor?: number;
  /** Larger pictures are scaled down. */
  readonly maxTokens: number;
  /** Longest edge. Larger pictures are scaled down. */
  readonly maxPixels?: number;
}
