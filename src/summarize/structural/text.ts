const ESCAPE = String.fromCodePoint(27);
const TERMINAL_COLOUR = new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g');
/** Blanks, line ends, control characters and marks that change the text direction. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
/** Matches marks that would start a heading or a quotation. */
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

/** A line that needs no change: words of ASCII with single blanks between them, without marks and fences. */
const PLAIN = /^(?![#>])[!-_a-}]+(?: [!-_a-}]+)*$/;

/** Returns one line of well-formed text that cannot start a heading or a fence, so data cannot forge a section. */
export function foldLine(text: string): string {
  const trimmed = text.trim();
  if (PLAIN.test(trimmed)) return trimmed;
  const line = text.toWellFormed().replace(TERMINAL_COLOUR, '').replace(BLANKS, ' ').replace(FENCE, "''").trim();
  return line.replace(LEADING_MARKS, '');
}

/** Folds a record into one line. Blanks at its ends stay as one, because records of one line are joined. */
export function foldRecord(text: string): string {
  const line = foldLine(text);
  if (line === '') return '';
  return `${/^\s/.test(text) ? ' ' : ''}${line}${/\s$/.test(text) ? ' ' : ''}`;
}
