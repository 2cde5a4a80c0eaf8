const ESCAPE = String.fromCodePoint(27);
const TERMINAL_COLOUR = new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g');
/** Blanks, line ends, control characters and marks that change the text direction. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
/** Matches marks that would start a heading or a quotation. */
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

const HEAD_CHARS = 32_768;
const TAIL_CHARS = 16_384;

/** Marks omitted text. A word next to this mark is incomplete, so it is not kept as an id, path or number. */
export const ELLIPSIS = '…';

/** Returns one line of well-formed text that cannot start a heading or a fence, so data cannot forge a section. */
export function foldLine(text: string): string {
  const line = text.toWellFormed().replace(TERMINAL_COLOUR, '').replace(BLANKS, ' ').replace(FENCE, "''").trim();
  return line.replace(LEADING_MARKS, '');
}

/**
 * Clips to the start of `text`, in at most `maxChars` UTF-16 units including the ellipsis. Surrogate pairs stay whole.
 */
export function clipCharacters(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : text.slice(0, startOfCodePoint(text, maxChars - 1)) + ELLIPSIS;
}

export function clipHead(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : ELLIPSIS + text.slice(endOfCodePoint(text, text.length - maxChars + 1));
}

/**
 * Keeps two thirds from the start of a text and one third from its end, because commands often differ only at their
 * end.
 */
export function clipMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const tailChars = Math.floor(maxChars / 3);
  return clipCharacters(text, maxChars - tailChars) + text.slice(endOfCodePoint(text, text.length - tailChars));
}

/** Returns both ends of a long text, or the whole text. A result may have 1 MiB, which takes too long to read. */
export function takeEnds(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  const head = text.slice(0, startOfCodePoint(text, HEAD_CHARS));
  const tail = text.slice(endOfCodePoint(text, text.length - TAIL_CHARS));
  return `${head}${ELLIPSIS}\n${ELLIPSIS}${tail}`;
}

function startOfCodePoint(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

function endOfCodePoint(text: string, at: number): number {
  const start = startOfCodePoint(text, at);
  return start < at ? at + 1 : at;
}

/** Returns the size to which larger items are clipped so that all items fit. Small items leave room to large ones. */
export function fairShare(sizes: readonly number[], budget: number): number {
  let left = budget;
  let share = budget;
  sizes
    .toSorted((a, b) => a - b)
    .forEach((size, index) => {
      share = Math.max(0, Math.floor(left / (sizes.length - index)));
      left -= Math.min(size, share);
    });
  return share;
}
