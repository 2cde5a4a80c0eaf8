/** Maximum characters of a piece. A browser lays out this many in about a millisecond. */
const PIECE = 4_000;

/** Splits a text after line ends. A line that is longer than a piece is split inside. */
export function splitText(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = endOfPiece(text, from);
    pieces.push(text.slice(from, end));
    from = end;
  }
  return pieces;
}

function endOfPiece(text: string, from: number): number {
  const most = from + PIECE;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf('\n', most - 1) + 1;
  if (line > from) return line;
  return isHighHalf(text.charCodeAt(most - 1)) ? most + 1 : most;
}

function isHighHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
