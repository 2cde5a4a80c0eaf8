import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { AcceptedSummary } from '../../domain/compaction/settle.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { SeqRange, Summary } from '../../domain/version.ts';
import { hashOf } from '../content-hash.ts';

/**
 * The policy that summarizes a conversation's sequences. A version that replaced a refused one is summarized without a model.
 * The same log then gives the same text, and never the refused one.
 */
export function summaryPolicy(policy: Policy, state: ConversationState): Policy {
  return isRolledBack(state) ? { ...policy, summarizer: 'structural' } : policy;
}

/** Tells if the live version replaced a refused one. */
export function isRolledBack({ quarantine, size }: Pick<ConversationState, 'quarantine' | 'size'>): boolean {
  return quarantine?.version === size.version;
}

/**
 * Key of a sequence's summary: its range, its size and its summarizer. The log is append-only, so a range names its content,
 * and any later pass over the same range finds the paid summary again. The size in the context bounds the summary's size.
 */
export function summaryKey(
  sequence: SeqRange & { readonly tokens: number },
  policy: Pick<Policy, 'summarizer'>,
): string {
  const { from, to, tokens } = sequence;
  return hashOf(JSON.stringify([from, to, tokens, policy.summarizer]));
}

/**
 * Key under which versions name a summary's text: the hash of all its fields. A range may get another text after its summary
 * has expired, or in a fork, while a kept version still shows the first one (I15).
 */
export function summaryTextKey(summary: Summary): string {
  return hashOf(JSON.stringify(summary));
}

/** Id of a child job, unique per delivery. A parent job with a known child id would fail. */
export function childId(passId: string, owner: string, key: string): string {
  return `s-${hashOf(`${passId} ${owner} ${key}`)}`;
}

export interface AcceptedSummaries {
  readonly summaries: readonly AcceptedSummary[];
  /** Texts by `summaryTextKey`. */
  readonly texts: ReadonlyMap<string, Summary>;
}

/** The accepted summaries of a plan's sequences, from this pass or an earlier one. */
export async function readAccepted(
  store: Pick<SummaryStore, 'readSummaries'>,
  conversation: ConversationRef,
  plan: PassPlan,
  policy: Policy,
): Promise<AcceptedSummaries> {
  const keys = plan.sequences.map((sequence) => summaryKey(sequence, policy));
  const records = keys.length === 0 ? [] : await store.readSummaries(conversation, keys);
  const summaries: AcceptedSummary[] = [];
  const texts = new Map<string, Summary>();
  plan.sequences.forEach(({ from, to }, index) => {
    const record = records[index];
    if (record?.status !== 'accepted') return;
    const { summary, weight } = record;
    const text = summaryTextKey(summary);
    summaries.push({ range: { from, to }, summaryKey: text, weight, depth: summary.depth, model: summary.model });
    texts.set(text, summary);
  });
  return { summaries, texts };
}
