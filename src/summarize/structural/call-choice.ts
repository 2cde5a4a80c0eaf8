import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { scanPlaces } from '../../compaction/evidence/terms.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { READ_ONLY_NAME } from '../model/effects.ts';
import { describeCall } from '../progress/calls.ts';
import type { PlacedCall } from './call-places.ts';
import type { SummarySource } from './summary-source.ts';
import { writeOutcome } from './summary-lines.ts';

export interface ChosenCalls {
  /** Lines of the calls, by their first fragments. The outcome of a call is not in its line. */
  readonly lines: ReadonlyMap<number, string>;
  readonly tokens: number;
  /** First fragments that a line shows whole. */
  readonly whole: readonly number[];
  /** Terms of the lines that do not show their call whole. */
  readonly terms: readonly number[];
}

/** Maximum share of a summary for calls. A small summary has less, because its calls would displace all else. */
const MAX_SHARE = Number(process.env.CALL_SHARE ?? 0.45);
/** Tokens at which a summary gives its calls half of the maximum share. */
const HALF_SHARE_TOKENS = Number(process.env.CALL_HALF ?? 300);
const CALL_CHARS = Number(process.env.CALL_CHARS ?? 100);
const LINE_TOKENS = 2;
/** A failed call stays as long as a worked call of half its age, because the agent would try it again. */
const FAILED_AGE = Number(process.env.FAILED_AGE ?? 0.5);
const READ_ONLY_AGE = Number(process.env.READ_AGE ?? 1);

/** Chooses the calls of a summary, the newest first. A call stands for its equal calls before it. */
export function chooseCalls(counter: Pick<TokenCounter, 'countSync'>, source: SummarySource, room: number): ChosenCalls {
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
  let left = shareOf(room, MAX_SHARE);
  const all = left;
  for (const { head, placed } of ranked) {
    const { text, isWhole } = describeCall(placed.made.call, CALL_CHARS);
    const tokens = counter.countSync(`${text} ${writeOutcome(placed)}`) + LINE_TOKENS;
    if (tokens > left) break;
    left -= tokens;
    lines.set(head, text);
    if (isWhole) whole.push(head);
    else terms.push(...findTerms(ledger, text));
  }
  return { lines, whole, terms, tokens: Math.ceil(all - left) };
}

function ageFactor({ made, outcome }: PlacedCall): number {
  if (outcome?.hasFailed === true) return FAILED_AGE;
  return READ_ONLY_NAME.test(made.call.name) ? READ_ONLY_AGE : 1;
}

/** Part of a room for one purpose: half of the share in a room of `HALF_SHARE_TOKENS`, and near the share in a large one. */
export function shareOf(room: number, maxShare: number): number {
  return Math.floor((room * maxShare * room) / (room + HALF_SHARE_TOKENS));
}

export function findTerms({ index }: Ledger, text: string): number[] {
  const terms: number[] = [];
  scanPlaces(text, 0, text.length, (from, to) => {
    const term = index.findPart(text, from, to);
    if (term !== undefined) terms.push(term);
  });
  return terms;
}
