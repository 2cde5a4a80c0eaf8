import { countTokens } from './points.ts';

/** A text that a row keeps or drops as a whole. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
}

export function pieceOf(text: string): Piece {
  return { text, tokens: countTokens(text) + 1 };
}

/** Takes pieces in the order of `order` while they fit, and returns them in their own order. */
export function fit(pieces: readonly Piece[], order: readonly number[], maxTokens: number): string {
  const taken: number[] = [];
  let left = maxTokens;
  for (const index of order) {
    const { tokens } = pieces[index] as Piece;
    if (tokens > left) continue;
    left -= tokens;
    taken.push(index);
  }
  return taken
    .toSorted((a, b) => a - b)
    .map((index) => (pieces[index] as Piece).text)
    .join('\n');
}
