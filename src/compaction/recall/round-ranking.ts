import type { LineMarks } from './line-marks.ts';
import type { HeadBits, LineBits, LineScores } from './line-scores.ts';

/** Lines of one message in an index. */
export interface MessageSpan {
  readonly seq: number;
  readonly start: number;
  readonly end: number;
  readonly canBeMasked: boolean;
}

/** A message without calls, or a message with its calls and their results. */
export interface FoundRound {
  readonly score: number;
  readonly spans: readonly MessageSpan[];
  readonly head: HeadBits;
}

/** Lines of the first message that name the subject of a round. More would make a long text name everything. */
const HEAD_LINES = 24;

const NONE: LineBits = new Uint32Array(0);

/** Counts matching lines, and keeps the rounds with the best of them. Among equal scores, the newer round comes first. */
export class RoundRanking {
  count = 0;
  readonly rounds: FoundRound[] = [];
  readonly #scores: LineScores;
  readonly #most: number;

  constructor(scores: LineScores, most: number) {
    this.#scores = scores;
    this.#most = most;
  }

  /**
   * Adds the messages of a round, the newer rounds first.
   * @param shown spans whose lines can be returned
   * @param weight factor of the round's score, e.g. for its age
   */
  add(shown: readonly MessageSpan[], head: HeadBits, { marks, weight }: { marks: LineMarks; weight: number }): void {
    let [found, alone] = head;
    const matching: [bits: LineBits, line: number][] = [];
    for (const { start, end } of shown) {
      const next = marks.next(start, end);
      const bits = next < end ? marks.read(start, end) : NONE;
      for (let line = next; line < end; line = marks.next(line + 1, end)) {
        const place = 2 * (line - start);
        if (bits[place] === 0) continue;
        found |= bits[place] as number;
        alone |= bits[place + 1] as number;
        matching.push([bits, line - start]);
      }
    }
    this.count += matching.length;
    // No line has more than all words of its round. Most rounds have only one frequent word.
    const least = this.rounds.length < this.#most ? 0 : (this.rounds.at(-1)?.score ?? 0);
    if (matching.length === 0 || this.#scores.valueOf(found, alone) * weight <= least) return;
    const score =
      weight * matching.reduce((best, [bits, line]) => Math.max(best, this.#scores.scoreOf(bits, line, head)), 0);
    this.#insert({ score, spans: shown, head });
  }

  #insert(round: FoundRound): void {
    let at = this.rounds.length;
    while (at > 0 && (this.rounds[at - 1] as FoundRound).score < round.score) at -= 1;
    if (at >= this.#most) return;
    this.rounds.splice(at, 0, round);
    if (this.rounds.length > this.#most) this.rounds.pop();
  }
}

/** Searched words of the first message of a round. */
export function readHead(marks: LineMarks, span: MessageSpan | undefined): HeadBits {
  let [found, alone] = [0, 0];
  if (span === undefined) return [found, alone];
  const { start } = span;
  const end = Math.min(span.end, start + HEAD_LINES);
  if (marks.next(start, end) === end) return [found, alone];
  const bits = marks.read(start, end);
  for (let at = 0; at < bits.length; at += 2) {
    found |= bits[at] as number;
    alone |= bits[at + 1] as number;
  }
  return [found, alone];
}
