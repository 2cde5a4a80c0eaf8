import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';

export interface Hit {
  readonly version: number;
  readonly fate: 'summarized' | 'evicted' | 'shortened';
  /** The word in the form that the messages have. It may be longer than the searched word. */
  readonly text: string;
  /** Last message of the range that holds the word. */
  readonly seq: number;
  readonly isKept: boolean;
  readonly from: number;
  readonly to: number;
}

/** Number of reports read in parallel. For each report, the server reads messages of the log. */
const AT_ONCE = 3;

/** Lists the best matches first. Among equal matches, lost words come before kept words. */
export function hitsOf({ version, parts, evicted, shortened }: ReportAnswer, word: string): Hit[] {
  const ranges = [
    ...parts.map((range) => ({ ...range, fate: 'summarized' as const })),
    ...evicted.map((range) => ({ ...range, fate: 'evicted' as const })),
    ...shortened.map((range) => ({ ...range, fate: 'shortened' as const })),
  ];
  const hits = ranges.flatMap(({ fate, from, to, identifiers: { kept = [], lost = [] } = {} }) => {
    const place = { version, fate, from, to };
    return [
      ...lost.map(({ text, seq }): Hit => ({ ...place, text, seq, isKept: false })),
      ...kept.map(({ text, seq }): Hit => ({ ...place, text, seq, isKept: true })),
    ];
  });
  return hits.toSorted(
    (one, other) =>
      distance(one.text, word) - distance(other.text, word) ||
      Number(one.isKept) - Number(other.isKept) ||
      other.seq - one.seq,
  );
}

/** Returns 0 for the best match. The server drops marks around a word, so `W123` is the best match for `#W123`. */
function distance(text: string, word: string): number {
  if (word.includes(text)) return 0;
  return text.includes(word) ? 1 : 2;
}

/** Reads some versions ahead, and yields in the order of `versions`. The first failure ends the search. */
export async function* readAhead<Value>(
  versions: readonly number[],
  read: (version: number) => Promise<Value>,
): AsyncGenerator<Value, void, void> {
  const started: Promise<Value>[] = [];
  const waiting = [...versions];
  for (;;) {
    while (started.length < AT_ONCE && waiting.length > 0) {
      const answer = read(waiting.shift() ?? 0);
      // No code awaits this promise after the first failure. Its rejection must not count as unhandled.
      answer.catch(() => undefined);
      started.push(answer);
    }
    const next = started.shift();
    if (next === undefined) return;
    yield await next;
  }
}
