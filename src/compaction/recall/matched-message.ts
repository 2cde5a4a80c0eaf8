import type { Interruptible } from '../../domain/interruptible.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { LineMatches } from './line-index.ts';
import { compareLines, type RankedLine, roundScore } from './line-ranking.ts';
import { type LinePlace, MessageLines } from './message-lines.ts';
import type { RecallQuery } from './recall-query.ts';
import { isWordAcross } from './words.ts';

/** Score of an exact match of the whole query. All single words together score less, so exact matches come first. */
const PHRASE_WEIGHT = 10_000;
/** Base score of a line that has a path or id of the query exactly. The weights of its searched words are added. */
const MIN_EXACT_WEIGHT = 1;
/** Maximum number of matches per text. A megabyte of one letter has a million matches. */
const MAX_PLACES = 1_000;

export interface MatchedMessage {
  readonly entry: LogEntry;
  readonly lines: MessageLines;
  readonly places: readonly LinePlace[];
  readonly scores: ReadonlyMap<number, number>;
}

/** Adds the score of exact matches, which an index of words cannot find. */
export function* matchMessage(
  entry: LogEntry,
  { exacts }: RecallQuery,
  { ranked, weights }: Pick<LineMatches, 'ranked' | 'weights'>,
): Interruptible<MatchedMessage> {
  const lines = new MessageLines(entry.message);
  yield;
  const places = [...lines.places()];
  const scores = new Map(ranked.flatMap(({ seq, line, score }) => (seq === entry.seq ? [[line, score] as const] : [])));
  for (const { text, words } of exacts) {
    yield;
    const full = words?.reduce((sum, word) => sum + (weights[word] as number), MIN_EXACT_WEIGHT) ?? PHRASE_WEIGHT;
    for (const [line, isAlone] of findLines(lines.folded, places, text)) {
      scores.set(line, roundScore((scores.get(line) ?? 0) + (isAlone ? full : full / 2)));
    }
  }
  return { entry, lines, places, scores };
}

export function rankMatched(messages: Iterable<MatchedMessage>): RankedLine[] {
  const ranked: RankedLine[] = [];
  for (const { entry, scores } of messages) {
    for (const [line, score] of scores) ranked.push({ seq: entry.seq, line, score });
  }
  return ranked.toSorted(compareLines);
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
