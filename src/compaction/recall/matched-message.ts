import type { Interruptible } from '../../domain/interruptible.ts';
import type { LogEntry } from '../../domain/message.ts';
import { readOutcome } from '../evidence/outcome.ts';
import type { FoundMessage, LineMatches } from './line-index.ts';
import { roundScore } from './line-scores.ts';
import { type LinePlace, MessageLines } from './message-lines.ts';
import type { Cues } from './question-words.ts';
import type { RecallQuery } from './recall-query.ts';
import { isWordAcross } from './words.ts';

/** Score of an exact match of the whole query. All single words together score less, so exact matches come first. */
const PHRASE_WEIGHT = 10_000;
/** Base score of a line that has a path or id of the query exactly. The weights of its searched words are added. */
const MIN_EXACT_WEIGHT = 1;
/** Maximum number of matches per text. A megabyte of one letter has a million matches. */
const MAX_PLACES = 1_000;
/** Maximum matching lines of one message, so that a dump does not crowd out other messages. */
const MAX_LINES = 24;
/** Lines on each side of a match that may be returned, too. */
const REACH = 6;
/** Weight of the outcome of a call for the words of its call. */
const OUTCOME_SHARE = 0.7;
/** Weights of a line with a name or number, of one with a number that is asked for, and of one without words. */
const NAME_WEIGHT = 1.2;
const NUMBER_WEIGHT = 1.2;
const EMPTY_WEIGHT = 0.3;

export interface RankedLine {
  readonly seq: number;
  readonly line: number;
  readonly score: number;
  /** False for a line that has no searched word and stands near a line that has. */
  readonly isMatch: boolean;
  /** True for the line that says how a call ended. */
  readonly isOutcome: boolean;
}

export interface MatchedMessage {
  readonly entry: LogEntry;
  readonly lines: MessageLines;
  readonly places: readonly LinePlace[];
  readonly ranked: readonly RankedLine[];
}

/** Scores the lines of a found message: by their words and those around them, and by exact texts of the query. */
export function* matchMessage(
  entry: LogEntry,
  { exacts, cues }: RecallQuery,
  { found, scores, weights }: Pick<LineMatches, 'scores' | 'weights'> & { readonly found: FoundMessage },
): Interruptible<MatchedMessage> {
  const lines = new MessageLines(entry.message);
  yield;
  const places = [...lines.places()];
  const scored = scoreLines(found, scores, places.length);
  yield;
  const outcome = outcomeLine(entry, lines, places);
  if (outcome !== -1) {
    const score = OUTCOME_SHARE * scores.valueOf(...found.head);
    scored.set(outcome, Math.max(score, scored.get(outcome) ?? 0));
  }
  for (const [line, score] of scored)
    scored.set(line, score * found.weight * weighText(textAt(lines, places, line), cues));
  const exact = new Set<number>();
  for (const { text, words } of exacts) {
    yield;
    const full = words?.reduce((sum, word) => sum + (weights.get(word) ?? 0), MIN_EXACT_WEIGHT) ?? PHRASE_WEIGHT;
    for (const [line, isAlone] of findLines(lines.folded, places, text)) {
      exact.add(line);
      scored.set(line, (scored.get(line) ?? 0) + (isAlone ? full : full / 2));
    }
  }
  const isMatch = (line: number): boolean => found.bits[2 * line] !== 0 || exact.has(line);
  const ranked = [...scored]
    .filter(([line, score]) => score > 0 && line < places.length)
    .map(([line, score]) => ({
      seq: entry.seq,
      line,
      score: roundScore(score),
      isMatch: isMatch(line),
      isOutcome: line === outcome,
    }));
  return { entry, lines, places, ranked };
}

export function rankMatched(messages: Iterable<MatchedMessage>): RankedLine[] {
  return [...messages].flatMap(({ ranked }) => ranked).toSorted(compareLines);
}

/** Orders lines by score. Among equals, the newest comes first. */
function compareLines(a: RankedLine, b: RankedLine): number {
  return b.score - a.score || b.seq - a.seq || b.line - a.line;
}

/** Scores the best matching lines of a message, and the lines around them. */
function scoreLines({ bits, head }: FoundMessage, scores: LineMatches['scores'], length: number): Map<number, number> {
  const matching: (readonly [line: number, score: number])[] = [];
  for (let line = 0; line < Math.min(length, bits.length / 2); line += 1) {
    if (bits[2 * line] !== 0) matching.push([line, scores.scoreOf(bits, line, head)]);
  }
  const best = matching.toSorted(([a, one], [b, other]) => other - one || b - a).slice(0, MAX_LINES);
  const scored = new Map(best);
  for (const [line] of best) {
    for (let near = Math.max(0, line - REACH); near <= Math.min(length - 1, line + REACH); near += 1) {
      if (!scored.has(near)) scored.set(near, scores.scoreOf(bits, near, head));
    }
  }
  return scored;
}

/** The line that says how a call ended. −1 if the message is no result. */
function outcomeLine({ message }: LogEntry, { text }: MessageLines, places: readonly LinePlace[]): number {
  if (message.role !== 'tool') return -1;
  const { line } = readOutcome(message);
  const at = line === '' ? -1 : text.lastIndexOf(line.slice(0, 20));
  return at === -1 ? 0 : places.findIndex(([, end]) => end > at);
}

const NAME = /\d|\p{Ll}\p{Lu}|[\p{L}\d][/_@.-][\p{L}\d]/u;
const DIGIT = /\d/;
const WORD = /[\p{L}\p{N}]{2}/u;

function weighText(text: string, { asksNumber }: Cues): number {
  if (!WORD.test(text)) return EMPTY_WEIGHT;
  return (NAME.test(text) ? NAME_WEIGHT : 1) * (asksNumber && DIGIT.test(text) ? NUMBER_WEIGHT : 1);
}

function textAt({ text }: MessageLines, places: readonly LinePlace[], line: number): string {
  return text.slice(...(places[line] ?? [0, 0]));
}

function findLines(folded: string, places: readonly LinePlace[], text: string): Map<number, boolean> {
  const found = new Map<number, boolean>();
  let line = 0;
  for (let at = folded.indexOf(text), count = 0; at !== -1 && count < MAX_PLACES; count += 1) {
    while (line < places.length && (places[line] as LinePlace)[1] <= at) line += 1;
    const isAlone = !isWordAcross(folded, at) && !isWordAcross(folded, at + text.length);
    found.set(line, isAlone || found.get(line) === true);
    at = folded.indexOf(text, at + 1);
  }
  return found;
}
