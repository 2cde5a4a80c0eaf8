import type { Policy } from '../../domain/policy.ts';
import type { SeqRange } from '../../domain/version.ts';
import { hashOf } from '../prepared-agent.ts';

/**
 * Key of a sequence's summary by what it is made from and how. The log never changes, so a range names its content; what
 * was paid for once is found again by any later pass over the same range.
 */
export function summaryKey(range: SeqRange, policy: Policy): string {
  return hashOf(JSON.stringify([range.from, range.to, policy.summarizer]));
}

/** Id of a child job: unique per delivery, since an id that is used again would fail its new parent. */
export function childId(passId: string, owner: string, key: string): string {
  return `s-${hashOf(`${passId} ${owner} ${key}`)}`;
}
