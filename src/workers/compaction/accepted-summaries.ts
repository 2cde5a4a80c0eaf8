import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { AcceptedSummary } from '../../domain/compaction/settle.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { Summary } from '../../domain/version.ts';
import { summaryKey, summaryTextKey } from './summary-key.ts';

export interface AcceptedSummaries {
  readonly summaries: readonly AcceptedSummary[];
  /** by the key under which a version names the text */
  readonly texts: ReadonlyMap<string, Summary>;
}

/** The summaries of a plan's sequences that were accepted, by this pass or an earlier one. */
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
    summaries.push({ range: { from, to }, text, weight, depth: summary.depth, model: summary.model });
    texts.set(text, summary);
  });
  return { summaries, texts };
}
