import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import type { Message } from '../../domain/message.ts';
import { READ_ONLY_NAME } from '../model/effects.ts';

interface CallSource {
  readonly ledger: Ledger;
  readonly calls: CallPlaces;
}

export interface CallPlaces {
  /** First fragment of each call, by the index of its result's message. */
  readonly headOf: ReadonlyMap<number, number>;
  /** Indexes of calls that changed something or failed, and of the last lines of failed results. */
  readonly effects: ReadonlySet<number>;
  readonly failures: ReadonlyMap<number, string>;
}

/** Minimum terms of a line that can describe an error. */
const MIN_ERROR_TERMS = 2;

export function findCalls({ fragments, superseded }: Ledger, messages: readonly Message[]): CallPlaces {
  const firstOf = new Map<number, number[]>();
  const lastOf = new Map<number, number>();
  for (const [index, { message, partIndex, start, terms }] of fragments.entries()) {
    if (start === 0) {
      const firsts = firstOf.get(message) ?? [];
      firsts[partIndex] = index;
      firstOf.set(message, firsts);
    }
    if (terms.length >= MIN_ERROR_TERMS) lastOf.set(message, index);
  }
  const headOfCall = new Map<string, number>();
  const headOf = new Map<number, number>();
  const effects = new Set<number>();
  const failures = new Map<number, string>();
  for (const [index, message] of messages.entries()) {
    const { content, toolCalls = [], toolCallId = '' } = message;
    for (const [position, { id, name }] of toolCalls.entries()) {
      const head = firstOf.get(index)?.[position + (content === '' ? 0 : 1)];
      if (head === undefined) continue;
      headOfCall.set(id, head);
      if (!READ_ONLY_NAME.test(name)) effects.add(head);
    }
    const head = headOfCall.get(toolCallId);
    if (head === undefined) continue;
    headOf.set(index, head);
    const { status } = readOutcome(message);
    if (status === 'ok' || superseded.has(index)) continue;
    failures.set(index, status);
    effects.add(head);
    const line = lastOf.get(index);
    if (line !== undefined) effects.add(line);
  }
  return { headOf, effects, failures };
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
