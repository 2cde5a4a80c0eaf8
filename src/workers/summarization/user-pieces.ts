import { setImmediate as nextTurn } from 'node:timers/promises';
import { readRecords } from '../../compaction/evidence/read-records.ts';
import { GAP } from '../../compaction/evidence/record-lines.ts';
import { type TextRecord, WHOLE_CHARS } from '../../compaction/evidence/records.ts';
import { findRuleSign, type RuleSign } from '../../compaction/evidence/rule-signs.ts';
import { splitSentences } from '../../compaction/evidence/sentences.ts';

/** A sentence, a line or another record of a user's text. A copy holds it whole, unless it alone exceeds the room. */
export interface UserPiece {
  readonly start: number;
  readonly end: number;
  /** Pieces that say what this piece belongs to, such as the line before a list. The outermost comes first. */
  readonly owners: readonly UserPiece[];
  /** Number of the line, or of the paragraph. */
  readonly line: number;
  /** False for data, such as a row or a line of code, of which a part would be a false value. */
  readonly isSentence: boolean;
  readonly sign: RuleSign | undefined;
}

const PIECES_A_TURN = 256;
/** Maximum characters of a sentence. Longer ones have no ends of sentences, and are no rules. */
const MAX_SENTENCE_CHARS = 600;
const MAX_RULE_CHARS = 400;
const SENTENCE_END = /[.!?。！？:：]["'”’)\]*`]{0,3}\s*$/;
/** A sentence that begins so changes the sentence before it, and stays with that sentence. */
const CONTRAST =
  /^\s*(?:but|unless|except|only if|otherwise|however|though|aber|außer|sonst|jedoch|pero|salvo|excepto|mais|sauf|ma|mas|maar|но|а если)(?![\p{L}\p{N}])|^\s*(?:但|不过|除非|否则|ただし|でも|しかし|하지만|단,)/iu;
const CODE_MARKS = /[{}<>=;\\|$#@`[\]()_/*+]/g;
const MAX_CODE_SHARE = 0.12;
/** Neighbouring values, as in JSON. */
const VALUES = /["'}\]]\s*[:,]\s*["'{[\d]|^\s*[[{]/;
const NUMBER = /\p{N}/u;
const FENCED = /^(?:```|~~~)[^]*?^(?:```|~~~)/gm;

/** Reads the pieces of a text in order, in slices, because a pasted text may be large. */
export async function readPieces(text: string): Promise<UserPiece[]> {
  const fences = [...text.matchAll(FENCED)].map(({ index, 0: { length } }) => ({ from: index, to: index + length }));
  const pieceOf = new Map<TextRecord, UserPiece>();
  const pieces: UserPiece[] = [];
  for (const record of joinCut(readRecords({ part: 'user', text }), text)) {
    const above = ownersOf(record, pieceOf);
    const isFenced = fences.some(({ from, to }) => from <= record.start && record.start < to);
    const places = isWhole(record, text) ? joinSentences(text, record) : [[record.start, record.end] as const];
    let owners = above;
    for (const [start, end] of places) {
      const isSentence = isWhole(record, text) && !isFenced && !isCode(text.slice(start, end));
      const sign = isSentence
        ? signOf(
            text.slice(start, end),
            owners.filter(({ line }) => line !== record.line),
          )
        : undefined;
      const piece = { start, end, line: record.line, owners, isSentence, sign };
      pieces.push(piece);
      if (owners === above) {
        for (const one of record.joined) pieceOf.set(one, piece);
        owners = [...above, piece];
      }
    }
    if (pieces.length % PIECES_A_TURN === 0) await nextTurn();
  }
  return pieces;
}

interface JoinedRecord extends Pick<TextRecord, 'start' | 'end' | 'line' | 'owner' | 'field'> {
  readonly joined: readonly TextRecord[];
}

/** Joins records that are parts of one sentence. A long sentence was split, so that a part could be kept alone. */
function* joinCut(records: Iterable<TextRecord>, text: string): Generator<JoinedRecord> {
  let open: JoinedRecord | undefined;
  for (const record of records) {
    const isPart =
      open !== undefined &&
      record.line === open.line &&
      record.field === undefined &&
      record.end - open.start <= MAX_SENTENCE_CHARS &&
      (!SENTENCE_END.test(text.slice(open.start, open.end)) || CONTRAST.test(text.slice(record.start, record.end)));
    if (open !== undefined && !isPart) yield open;
    const { start, end, line, owner, field } = record;
    open =
      open !== undefined && isPart
        ? { ...open, end, joined: [...open.joined, record] }
        : { start, end, line, owner, field, joined: [record] };
  }
  if (open !== undefined) yield open;
}

/** True for words that stand in the text as they are, not decoded from JSON. */
function isWhole({ joined, field }: JoinedRecord, text: string): boolean {
  return field === undefined && joined.every((record) => text.startsWith(record.text, record.start));
}

function joinSentences(text: string, { start, end }: JoinedRecord): (readonly [number, number])[] {
  const places: [number, number][] = [];
  for (const [from, to] of splitSentences(text, start, end)) {
    const last = places.at(-1);
    const isPart =
      last !== undefined &&
      to - last[0] <= MAX_SENTENCE_CHARS &&
      (!SENTENCE_END.test(text.slice(last[0], last[1])) || CONTRAST.test(text.slice(from, to)));
    if (last !== undefined && isPart) last[1] = to;
    else places.push([from, to]);
  }
  // Each of several sentences with numbers may begin another subject, which owns the sentences behind it.
  const isOfSeveral = places.filter(([from, to]) => NUMBER.test(text.slice(from, to))).length > 1;
  return isOfSeveral && end - start <= WHOLE_CHARS ? [[start, end]] : places;
}

/** Pieces to show beside a rule. The first sentence of its paragraph is one of them if a number names its subject. */
export function ownersOfRule({ owners, line }: UserPiece, text: string): UserPiece[] {
  return owners.filter((owner) => owner.line !== line || NUMBER.test(text.slice(owner.start, owner.end)));
}

function ownersOf({ owner }: JoinedRecord, pieceOf: Map<TextRecord, UserPiece>): UserPiece[] {
  const owners: UserPiece[] = [];
  for (let next = owner; next !== undefined; next = next.owner) {
    // The name of an object may stand behind the fields that it owns.
    const { start, end, line } = next;
    const piece = pieceOf.get(next) ?? { start, end, line, owners: [], isSentence: false, sign: undefined };
    pieceOf.set(next, piece);
    if (!owners.includes(piece)) owners.unshift(piece);
  }
  return owners;
}

function isCode(text: string): boolean {
  const marks = text.match(CODE_MARKS)?.length ?? 0;
  return marks > MAX_CODE_SHARE * text.length || VALUES.test(text) || /^\s*[>+]/.test(text) || !/\p{L}{2}/u.test(text);
}

/** The items of a list share the sign of the line that announces the list. */
function signOf(sentence: string, owners: readonly UserPiece[]): RuleSign | undefined {
  if (sentence.length > MAX_RULE_CHARS) return undefined;
  const signs = [findRuleSign(sentence), ...owners.map(({ sign }) => sign)];
  return signs.includes('binding') ? 'binding' : signs.find((sign) => sign !== undefined);
}

/** A line such as `Never do this:` states a rule only together with what follows. */
export function announces(sentence: string): boolean {
  return /[:：]["'”’)\]*`]{0,3}\s*$/.test(sentence);
}

/** Writes ranges of a text, ascending, with a mark for each part that is left out. */
export function writeRanges(text: string, ranges: readonly (readonly [start: number, end: number])[]): string {
  let written = '';
  let end = 0;
  for (const [start, to] of ranges) {
    const part = text.slice(start, to).trim();
    if (part === '') continue;
    const between = text.slice(end, start);
    const isApart = between.trim() !== '';
    const isNewLine = written !== '' && (between.includes('\n') || /^\s*\n/.test(text.slice(start, to)));
    if (isApart) written += written === '' ? `${GAP} ` : ` ${GAP}${isNewLine ? '\n' : ' '}`;
    else if (written !== '') written += isNewLine ? '\n' : ' ';
    written += part;
    end = to;
  }
  return written !== '' && text.slice(end).trim() !== '' ? `${written} ${GAP}` : written;
}
