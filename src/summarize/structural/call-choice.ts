import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { scanPlaces } from '../../compaction/evidence/terms.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { describeCall } from '../progress/calls.ts';
import type { PlacedCall } from './call-places.ts';
import { writeOutcome } from './summary-lines.ts';
import type { SummarySource } from './summary-source.ts';

export interface ChosenCalls {
  /** Lines of the calls, by their first fragments. The outcome of a call is not in its line. */
  readonly lines: ReadonlyMap<number, string>;
  readonly tokens: number;
  /** First fragments that a line shows whole. */
  readonly whole: readonly number[];
  /** Terms of the lines that do not show their call whole. */
  readonly terms: readonly number[];
}

/**
 * Tokens for calls in a very large summary, and tokens of a summary that gives its calls half of that. So calls take most
 * of a small summary, in which other lines say little, and a fifth of a large one.
 */
const CALLS: Room = { most: 1_200, half: 1_500 };
const CALL_CHARS = 100;
const SHORT_CALL_CHARS = 56;
const LINE_TOKENS = 2;
/** A failed call stays as long as a worked call of half its age, because the agent would try it again. */
const FAILED_AGE = 0.5;

/** Chooses the calls of a summary, the newest first. A call stands for its equal calls before it. */
export function chooseCalls(
  counter: Pick<TokenCounter, 'countSync'>,
  source: SummarySource,
  room: number,
): ChosenCalls {
  const { ledger, calls, end, shown } = source;
  const isShown = new Set(shown);
  const open = [...calls.placed].filter(
    ([head, { made }]) => !made.isRepeated && !isShown.has(head) && (ledger.fragments[head] as Fragment).message < end,
  );
  const ranked = open
    .map(([head, placed], at) => ({ head, placed, age: (open.length - at) * ageFactor(placed) }))
    .toSorted((a, b) => a.age - b.age);
  const lines = new Map<number, string>();
  const [whole, terms]: [number[], number[]] = [[], []];
  let left = shareOf(room, CALLS);
  const all = left;
  for (const { head, placed } of ranked) {
    const outcome = writeOutcome(placed);
    const tokensOf = ({ text }: { readonly text: string }): number =>
      counter.countSync(`${text} ${outcome}`) + LINE_TOKENS;
    let call = describeCall(placed.made.call, CALL_CHARS);
    if (tokensOf(call) > left) call = describeCall(placed.made.call, SHORT_CALL_CHARS);
    const tokens = tokensOf(call);
    if (tokens > left) break;
    const { text, isWhole } = call;
    left -= tokens;
    lines.set(head, text);
    if (isWhole) whole.push(head);
    else terms.push(...findTerms(ledger, text));
  }
  return { lines, whole, terms, tokens: Math.ceil(all - left) };
}

function ageFactor({ outcome }: PlacedCall): number {
  return outcome?.hasFailed === true ? FAILED_AGE : 1;
}

export interface Room {
  readonly most: number;
  readonly half: number;
}

/** Part of a room for one purpose. It grows with the room, but never above `most`. */
export function shareOf(tokens: number, { most, half }: Room): number {
  return Math.floor((most * tokens) / (tokens + half));
}

export function findTerms({ index }: Ledger, text: string): number[] {
  const terms: number[] = [];
  scanPlaces(text, 0, text.length, (from, to) => {
    const term = index.findPart(text, from, to);
    if (term !== undefined) terms.push(term);
  });
  return terms;
}
