const ESCAPE = String.fromCodePoint(27);
const TERMINAL_COLOUR = new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g');
/** Blanks, line ends, control characters and marks that turn the direction of text. */
const BLANKS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
/** Marks that would open a heading, a quotation or a fence. */
const LEADING_MARKS = /^(?:#+ |> )+/;
const FENCE = /`{3,}|~{3,}/g;

const HEAD_CHARS = 32_768;
const TAIL_CHARS = 16_384;

/** Stands where text was left out. A literal that touches it is not whole. */
export const ELLIPSIS = '…';

/** One line of well-formed text, which can be neither a heading nor a fence. */
export function foldLine(text: string): string {
  const line = text.toWellFormed().replace(TERMINAL_COLOUR, '').replace(BLANKS, ' ').replace(FENCE, "''").trim();
  return line.replace(LEADING_MARKS, '');
}

/** The start of `text` in at most `maxChars` UTF-16 units, its mark of omission included, cut between code points. */
export function clipCharacters(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : text.slice(0, startOfCodePoint(text, maxChars - 1)) + ELLIPSIS;
}

/** The end of `text` in at most `maxChars`. */
export function clipHead(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : ELLIPSIS + text.slice(endOfCodePoint(text, text.length - maxChars + 1));
}

/** Start and end of `text`, two to one, in at most `maxChars`: commands often differ at their end. */
export function clipMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const tailChars = Math.floor(maxChars / 3);
  return clipCharacters(text, maxChars - tailChars) + text.slice(endOfCodePoint(text, text.length - tailChars));
}

/** What is looked at of a text: all of it, or the start and the end of a huge one (a result may have 1 MiB). */
export function takeEnds(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  const head = text.slice(0, startOfCodePoint(text, HEAD_CHARS));
  const tail = text.slice(endOfCodePoint(text, text.length - TAIL_CHARS));
  return `${head}${ELLIPSIS}\n${ELLIPSIS}${tail}`;
}

/** `at`, or one before it where it would part a pair. */
function startOfCodePoint(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

/** `at`, or one after it where it would part a pair. */
function endOfCodePoint(text: string, at: number): number {
  const start = startOfCodePoint(text, at);
  return start < at ? at + 1 : at;
}

/** The largest size at which all fit into `budget` when larger ones are clipped to it: short ones leave theirs to long ones. */
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
