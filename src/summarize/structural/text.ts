const ESCAPE = String.fromCodePoint(27);
const TERMINAL_COLOUR = new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g');
/** Also line ends, control characters and marks that change the text direction. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

/** Needs no change: ASCII words with single blanks, without marks and fences. */
const PLAIN = /^(?![#>])[!-_a-}]+(?: [!-_a-}]+)*$/;

/** Data cannot forge a section: the line starts no heading and no fence. */
export function foldLine(text: string): string {
  const trimmed = text.trim();
  if (PLAIN.test(trimmed)) return trimmed;
  const line = text.toWellFormed().replace(TERMINAL_COLOUR, '').replace(BLANKS, ' ').replace(FENCE, "''").trim();
  return line.replace(LEADING_MARKS, '');
}

/** Blanks at the ends stay as one, because records of one line are joined. */
export function foldRecord(text: string): string {
  const line = foldLine(text);
  if (line === '') return '';
  return `${/^\s/.test(text) ? ' ' : ''}${line}${/\s$/.test(text) ? ' ' : ''}`;
}
