import { GAP } from '../../compaction/evidence/record-lines.ts';
import { breakAfter, breakBefore } from '../../compaction/evidence/word-breaks.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { readPieces, type UserPiece } from './user-pieces.ts';
import type { SaidText } from './user-repeats.ts';

/** Tokens of a gap, with the blanks around it and the line end. */
export const GAP_TOKENS = 3;
/** Characters of scripts without blanks between words, and their punctuation. */
const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\u3000-\u303f\u30fc\uff00-\uff65]/u;
/** Share of a clipped text that its start keeps. The end keeps the rest: requests often stand behind a pasted text. */
const START_SHARE = 0.6;

/** Shortens a text in the middle, between sentences. Words are cut only in a sentence that is too long by itself. */
export async function clipUserText(counter: TokenCounter, { seq, text }: SaidText, maxTokens: number): Promise<string> {
  const room = maxTokens - counter.countSync(`${seq}: `) - GAP_TOKENS;
  const pieces = await readPieces(text);
  const first = await counter.clipStart(text, Math.ceil(room * START_SHARE));
  const last = await counter.clipEnd(text.slice(first.length), room - Math.ceil(room * START_SHARE));
  const end = cutEnd(text, pieces, { from: endOfStart(text, pieces, first.length), to: text.length - last.length });
  const rest = await counter.clipStart(text.slice(0, text.length - last.length), room - (await counter.count(end)));
  const start = text.slice(0, endOfStart(text, pieces, rest.length));
  const gap = text.charAt(start.length) === '\n' ? `\n${GAP}\n` : ` ${GAP} `;
  return `${seq}: ${start.trimEnd()}${gap}${end.trimStart()}`.trimEnd();
}

/** Finds where the kept start of a text ends. Only a first piece that is too large is cut, between words or values. */
function endOfStart(text: string, pieces: readonly UserPiece[], limit: number): number {
  const before = pieces.reduce((end, piece) => (piece.end <= limit ? Math.max(end, piece.end) : end), 0);
  if (before > 0) return before;
  const isSentence = pieces.find(({ start, end }) => start < limit && end > limit)?.isSentence === true;
  return Math.max(
    before,
    isSentence || !text.includes(',') ? endOfWords(text, limit) : text.lastIndexOf(',', limit - 1),
  );
}

/** Finds the last blank up to `limit`, or the last word in a script without blanks. */
function endOfWords(text: string, limit: number): number {
  const space = text.charAt(limit) === ' ' ? limit : text.lastIndexOf(' ', limit - 1);
  const word = breakBefore(text, limit);
  return word > space && WITHOUT_BLANKS.test(text.charAt(word - 1)) ? word : space;
}

interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Characters before a place that show how the text before it ends. */
const NEAR_CHARS = 16;

/** True for a place between two pieces of one sentence that was too long for one piece. */
function isBrokenAt(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - NEAR_CHARS), at);
  const said = before.trimEnd();
  const blanks = before.slice(said.length) + text.charAt(at);
  const isBetween = /\s/.test(blanks) || WITHOUT_BLANKS.test(blanks);
  return said !== '' && isBetween && !blanks.includes('\n') && !/[.!?。！？]["'”’)\]]{0,3}$/.test(said);
}

/** Finds the kept end of a text. It begins with a piece whose owner (heading or key) is shown, or with that owner. */
function cutEnd(text: string, pieces: readonly UserPiece[], { from, to }: Gap): string {
  const isFree = ({ owners }: UserPiece): boolean =>
    owners.every(({ end, isSentence }) => end <= from || (isSentence && isBrokenAt(text, end)));
  const owned = pieces.find(({ start }) => start >= to);
  if (owned === undefined) {
    // A text of many words without an end of a sentence may be cut inside. A part of a path or a number would be false.
    const last = pieces.at(-1);
    return last?.isSentence === true && isBrokenAt(text, last.start) && isFree(last)
      ? text.slice(breakAfter(text, to))
      : '';
  }
  const free = pieces.find((piece) => piece.start >= to && isFree(piece));
  const end = free === undefined ? '' : text.slice(free.start);
  const named = nameOwners(owned, text);
  return end.length >= named.length / 2 ? end : named;
}

/** Names the owners of a piece at the start of a clipped end. @returns '' if they are longer than the end */
function nameOwners({ owners, start }: UserPiece, text: string): string {
  const end = text.slice(start);
  const named = owners.map((owner) => text.slice(owner.start, owner.end).trim()).join(` ${GAP} `);
  return named.length > end.length ? '' : `${named} ${GAP} ${end}`;
}
