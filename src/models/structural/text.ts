const ESCAPE = String.fromCodePoint(27);
const TERMINAL_COLOUR = new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g');
/** Blanks, line ends, control characters and marks that change the text direction. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
/** Marks that would start a heading, a quotation or a fence. */
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

const HEAD_CHARS = 32_768;
const TAIL_CHARS = 16_384;

/** Marks omitted text. A literal next to it is clipped. */
export const ELLIPSIS = '…';

/** Returns one line of well-formed text that cannot start a heading or a fence. */
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

/** Clips to the end of `text`, in at most `maxChars`. */
export function clipHead(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : ELLIPSIS + text.slice(endOfCodePoint(text, text.length - maxChars + 1));
}

/** Keeps the start and the end of `text`, two to one, in at most `maxChars`. Commands often differ at their end. */
export function clipMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const tailChars = Math.floor(maxChars / 3);
  return clipCharacters(text, maxChars - tailChars) + text.slice(endOfCodePoint(text, text.length - tailChars));
}

/** Returns the part of a text that is read: all of it, or both ends of a long one. A result may have 1 MiB. */
export function takeEnds(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  const head = text.slice(0, startOfCodePoint(text, HEAD_CHARS));
  const tail = text.slice(endOfCodePoint(text, text.length - TAIL_CHARS));
  return `${head}${ELLIPSIS}\n${ELLIPSIS}${tail}`;
}

/** Returns `at`, or one less inside a surrogate pair. */
function startOfCodePoint(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

/** Returns `at`, or one more inside a surrogate pair. */
function endOfCodePoint(text: string, at: number): number {
  const start = startOfCodePoint(text, at);
  return start < at ? at + 1 : at;
}

/** Size to which larger items are clipped so that all fit into `budget`. Small items leave their rest to large ones. */
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
