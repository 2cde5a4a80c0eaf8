import { showTerminal } from '../../compaction/evidence/terminal-text.ts';

/** Blanks, including line ends, control characters and marks that change the text direction. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

/** Text that needs no change: ASCII words with single blanks, without marks and fences. */
const PLAIN = /^(?![#>])[!-_a-}]+(?: [!-_a-}]+)*$/;

/** Start of a tag that is escaped, so that data cannot open or close turnfold's own tags. */
const OWN_TAG = /<(?=[\s/]*(?:users|summary)\b)/gi;

export function escapeTags(text: string): string {
  return text.replace(OWN_TAG, '&lt;');
}

/** Makes one line that starts no heading and no fence, so that data cannot forge a section. */
export function foldLine(text: string): string {
  const trimmed = text.trim();
  if (PLAIN.test(trimmed)) return trimmed;
  const line = showTerminal(text.toWellFormed()).replace(BLANKS, ' ').replace(FENCE, "''").trim();
  return line.replace(LEADING_MARKS, '');
}

/** Keeps one blank at each end, because records of one line are joined. */
export function foldRecord(text: string): string {
  const line = foldLine(text);
  if (line === '') return '';
  return `${/^\s/.test(text) ? ' ' : ''}${line}${/\s$/.test(text) ? ' ' : ''}`;
}
