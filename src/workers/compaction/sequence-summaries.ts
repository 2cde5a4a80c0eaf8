import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { AcceptedSummary } from '../../domain/compaction/settle.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { SeqRange, Summary } from '../../domain/version.ts';
import { hashOf } from '../content-hash.ts';

/**
 * Returns the policy for summaries of a conversation's sequences. If the live context version replaced one that the
 * provider refused, no model writes summaries. Without a model the same log always gives the same text, and not the
 * refused one.
 */
export function summaryPolicy(policy: Policy, state: ConversationState): Policy {
  return isRolledBack(state) ? { ...policy, summarizer: 'structural' } : policy;
}

/** True if the live context version replaced one that the provider refused. */
export function isRolledBack({ quarantine, size }: Pick<ConversationState, 'quarantine' | 'size'>): boolean {
  return quarantine?.version === size.version;
}

/**
 * Key of a sequence's summary: hash of its range, its size and its summarizer. The log is append-only, so a range
 * always has the same content. A later pass over the same range finds the summary that was paid for. The size is part
 * of the key because it limits the size of the summary.
 */
export function sequenceKey(
  sequence: SeqRange & { readonly tokens: number },
  policy: Pick<Policy, 'summarizer'>,
): string {
  const { from, to, tokens } = sequence;
  return hashOf(JSON.stringify([from, to, tokens, policy.summarizer]));
}

/**
 * Key by which a context version refers to the text of a summary: the hash of all fields. After a summary record has
 * expired, or in a fork, a range may get another text. A stored version must then still contain the first text
 * (invariant I15).
 */
export function summaryKey(summary: Summary): string {
  return hashOf(JSON.stringify(summary));
}

/**
 * Id of a summarization job, different for each delivery of the compaction pass: if a child id exists already, BullMQ
 * fails the parent job.
 */
export function childId(passId: string, owner: string, key: string): string {
  return `s-${hashOf(`${passId} ${owner} ${key}`)}`;
}

export interface AcceptedSummaries {
  readonly summaries: readonly AcceptedSummary[];
  /** Texts of the summaries, by `summaryKey`. */
  readonly texts: ReadonlyMap<string, Summary>;
}

/** Reads the accepted summaries of a plan's sequences. This pass or an earlier one wrote them. */
export async function readAccepted(
  store: Pick<SummaryStore, 'readSummaries'>,
  conversation: ConversationRef,
  plan: PassPlan,
  policy: Policy,
): Promise<AcceptedSummaries> {
  const keys = plan.sequences.map((sequence) => sequenceKey(sequence, policy));
  const records = keys.length === 0 ? [] : await store.readSummaries(conversation, keys);
  const summaries: AcceptedSummary[] = [];
  const texts = new Map<string, Summary>();
  plan.sequences.forEach(({ from, to }, index) => {
    const record = records[index];
    if (record?.status !== 'accepted') return;
    const { summary, weight } = record;
    const text = summaryKey(summary);
    summaries.push({ range: { from, to }, summaryKey: text, weight, depth: summary.depth, model: summary.model });
    texts.set(text, summary);
  });
  return { summaries, texts };
}
