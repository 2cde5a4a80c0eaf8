import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import type { Message } from '../../domain/message.ts';
import { type CallOutcome, describeOutcome, type MadeCall, WORKED } from '../progress/calls.ts';
import { foldLine } from './text.ts';

interface CallSource {
  readonly ledger: Ledger;
  readonly calls: CallPlaces;
}

export interface PlacedCall {
  readonly made: MadeCall;
  /** Absent while the call is open. */
  readonly outcome: CallOutcome | undefined;
}

export interface CallPlaces {
  /** First fragment of each call, by the index of its result's message. */
  readonly headOf: ReadonlyMap<number, number>;
  /** Calls by their first fragment, in the order of the log. */
  readonly placed: ReadonlyMap<number, PlacedCall>;
  /** First fragment of the part that holds a fragment, by message and part. */
  readonly firstOf: ReadonlyMap<number, readonly number[]>;
}

interface CallMessages {
  readonly messages: readonly Message[];
  /** True if a later message made lines of this result useless. */
  readonly isStale: (message: number) => boolean;
}

export function placeCalls(
  { fragments }: Ledger,
  made: readonly MadeCall[],
  { messages, isStale }: CallMessages,
): CallPlaces {
  const firstOf = new Map<number, number[]>();
  for (const [index, { message, partIndex, start }] of fragments.entries()) {
    if (start !== 0) continue;
    const firsts = firstOf.get(message) ?? [];
    firsts[partIndex] = index;
    firstOf.set(message, firsts);
  }
  const headOf = new Map<number, number>();
  const placed = new Map<number, PlacedCall>();
  for (const one of made) {
    const { content = '' } = messages[one.message] ?? {};
    const head = firstOf.get(one.message)?.[one.place + (content === '' ? 0 : 1)];
    if (head === undefined) continue;
    placed.set(head, { made: one, outcome: outcomeOf(one.result) });
    if (one.result !== undefined) headOf.set(one.result, head);
  }
  return { headOf, placed, firstOf };

  function outcomeOf(result: number | undefined): CallOutcome | undefined {
    if (result === undefined) return undefined;
    const outcome = describeOutcome(messages[result] as Message);
    return !outcome.hasFailed && isStale(result) ? WORKED : outcome;
  }
}

/** True for a line of a result that stands beside the call. A call that worked shows its whole result, or none of it. */
export function isBesideCall({ headOf, placed }: CallPlaces, { message, text }: Fragment): boolean {
  const { hasFailed = false, line = '' } = placed.get(headOf.get(message) ?? -1)?.outcome ?? {};
  return line !== '' && (!hasFailed || foldLine(text) === line);
}

export function headFor({ ledger, calls }: CallSource, index: number): number | undefined {
  const { message, part } = ledger.fragments[index] as Fragment;
  return part === 'result' ? calls.headOf.get(message) : undefined;
}

/** Fragment to show beside another: its owner, or for a result its call, if the call has all terms of the owner. */
export function leadFor(source: CallSource, index: number): number | undefined {
  const { fragments } = source.ledger;
  const { owner } = fragments[index] as Fragment;
  const head = headFor(source, index);
  if (owner < 0) return head;
  const named = head === undefined ? undefined : (fragments[head] as Fragment).terms;
  const { terms, owner: outer } = fragments[owner] as Fragment;
  return outer < 0 && named !== undefined && terms.every((term) => named.includes(term)) ? head : owner;
}
