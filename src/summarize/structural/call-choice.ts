import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { scanPlaces } from '../../compaction/evidence/terms.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { isReadOnly, nameCall, writeOutcome } from '../progress/calls.ts';
import { readTodoList } from '../progress/todo-list.ts';
import type { PlacedCall } from './call-places.ts';
import type { SummarySource } from './summary-source.ts';

type Counter = Pick<TokenCounter, 'countSync'>;

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
const CALLS: Room = { most: 1_000, half: 1_500 };
const CALL_CHARS = 100;
const SHORT_CALL_CHARS = 56;
/** Share of the calls' room for the newest calls. */
const NEWEST_SHARE = 0.65;
const LINE_TOKENS = 2;
/** A failed call stays as long as a worked call of half its age, because the agent would try it again. */
const FAILED_AGE = 0.5;

/**
 * Chooses the calls of a summary. The newest calls get most of the room. Calls that changed something or failed get the
 * rest, however old they are: an agent that forgets them would repeat them. A call stands for its equal calls before it.
 */
export function chooseCalls(counter: Counter, source: SummarySource, room: number): ChosenCalls {
  const { ledger, calls, end, shown } = source;
  const isShown = new Set(shown);
  const open = [...calls.placed].filter(
    ([head, { made }]) =>
      !made.isRepeated &&
      !isShown.has(head) &&
      (ledger.fragments[head] as Fragment).message < end &&
      // The state of the tasks stands in front of the summary.
      readTodoList(made.call).length === 0,
  );
  const newest = open
    .map(([head, placed], at) => ({ head, placed, age: (open.length - at) * ageFactor(placed) }))
    .toSorted((a, b) => a.age - b.age);
  const taken = new TakenCalls(counter, ledger);
  const tokens = shareOf(room, CALLS);
  taken.take(newest, tokens * NEWEST_SHARE);
  taken.take(
    newest.filter(({ placed }) => hasEffect(placed)),
    tokens,
  );
  taken.take(newest, tokens);
  return taken;
}

function ageFactor({ outcome }: PlacedCall): number {
  return outcome?.hasFailed === true ? FAILED_AGE : 1;
}

function hasEffect({ made, outcome }: PlacedCall): boolean {
  return outcome?.hasFailed === true || !isReadOnly(made.call);
}

class TakenCalls implements ChosenCalls {
  readonly lines = new Map<number, string>();
  readonly whole: number[] = [];
  readonly terms: number[] = [];
  tokens = 0;
  readonly #counter: Counter;
  readonly #ledger: Ledger;

  constructor(counter: Counter, ledger: Ledger) {
    this.#counter = counter;
    this.#ledger = ledger;
  }

  /** Takes calls in their order until one does not fit. */
  take(calls: readonly { readonly head: number; readonly placed: PlacedCall }[], maxTokens: number): void {
    for (const { head, placed } of calls) {
      if (this.lines.has(head)) continue;
      const outcome = writeOutcome(placed.made, placed.outcome);
      const sizeOf = ({ text }: { readonly text: string }): number =>
        this.#counter.countSync(`${text} ${outcome}`) + LINE_TOKENS;
      const full = nameCall(placed.made.call, CALL_CHARS);
      const said = this.tokens + sizeOf(full) <= maxTokens ? full : nameCall(placed.made.call, SHORT_CALL_CHARS);
      const tokens = sizeOf(said);
      if (this.tokens + tokens > maxTokens) return;
      this.tokens += tokens;
      this.lines.set(head, said.text);
      if (said.isWhole) this.whole.push(head);
      else this.terms.push(...findTerms(this.#ledger, said.text));
      this.terms.push(...findTerms(this.#ledger, outcome));
    }
  }
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
