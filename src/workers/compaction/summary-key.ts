import type { Policy } from '../../domain/policy.ts';
import type { SeqRange, Summary } from '../../domain/version.ts';
import { hashOf } from '../fixed-texts.ts';

/**
 * Key of a sequence's summary by what it is made from and how. The log never changes, so a range names its content; what
 * was paid for once is found again by any later pass over the same range. What stands for it in the context bounds the size
 * of its summary, so those tokens are part of the key.
 */
export function summaryKey(
  sequence: SeqRange & { readonly tokens: number },
  policy: Pick<Policy, 'summarizer'>,
): string {
  const { from, to, tokens } = sequence;
  return hashOf(JSON.stringify([from, to, tokens, policy.summarizer]));
}

/**
 * Under which versions name a summary's text: by all that it says. A range may get another text once its summary has
 * expired, or in a fork, while a kept version still shows the first.
 */
export function summaryTextKey(summary: Summary): string {
  return hashOf(JSON.stringify(summary));
}

/** Id of a child job: unique per delivery, since an id that is used again would fail its new parent. */
export function childId(passId: string, owner: string, key: string): string {
  return `s-${hashOf(`${passId} ${owner} ${key}`)}`;
}
