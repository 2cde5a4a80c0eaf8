interface TextPiece {
  readonly text: string;
  readonly mark?: string;
}

/** Maximum number of marks. A text with more marks is no longer readable. */
const MAX_MARKS = 400;

/** Marks identifiers in a text. If two identifiers begin at one place, the longer identifier is marked. */
export function markText(text: string, identifiers: readonly string[]): TextPiece[] {
  const wanted = [...new Set(identifiers)].filter((word) => word !== '').slice(0, MAX_MARKS);
  if (wanted.length === 0) return text === '' ? [] : [{ text }];
  const words = wanted.toSorted((one, other) => other.length - one.length).map(escapeWord);
  const pieces: TextPiece[] = [];
  let end = 0;
  for (const { 0: mark, index } of text.matchAll(new RegExp(words.join('|'), 'g'))) {
    if (index > end) pieces.push({ text: text.slice(end, index) });
    pieces.push({ text: mark, mark });
    end = index + mark.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end) });
  return pieces;
}

function escapeWord(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
