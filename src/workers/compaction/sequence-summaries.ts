import type { AcceptedSummary } from '../../compaction/settle.ts';
import { limitSummaryCall } from '../../compaction/summary-time.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Summary } from '../../domain/version.ts';
import type { SummaryRecord, SummaryStore } from '../../store/summaries.ts';
import { hashOf } from '../content-hash.ts';

/**
 * Policy for the summaries of a pass. After a provider refused a version, code writes the summaries, and no model. Code
 * writes the same text for the same log, and another text than the refused one.
 */
export function summaryPolicy(policy: Policy, state: ConversationState): Policy {
  return isRolledBack(state) ? { ...policy, summarizer: 'structural' } : policy;
}

/** True if the live version replaced a version that the provider refused. */
export function isRolledBack({ quarantine, size }: Pick<ConversationState, 'quarantine' | 'size'>): boolean {
  return quarantine?.version === size.version;
}

type Sequence = PassPlan['sequences'][number];

/** Hash under which the summary of a sequence is stored, so that a later pass over the same range finds it. */
export function sequenceKey(sequence: Sequence, { summarizer }: Pick<Policy, 'summarizer'>): string {
  return keyAtStep(sequence, summarizer, stepOf(sequence.maxTokens));
}

function keyAtStep({ from, to, tokens }: Sequence, summarizer: Policy['summarizer'], step: number): string {
  return hashOf(JSON.stringify([from, to, tokens, step, summarizer]));
}

/** Rounding of a cap (a summary's maximum of tokens): 8 values between a cap and its double, at most 9 % apart. */
const STEPS_A_DOUBLING = 8;
/** Rounded caps to search, nearest first: down to half of the cap, then up to its double. */
const STEPS_AROUND = [-1, -2, -3, -4, -5, -6, -7, -8, 1, 2, 3, 4, 5, 6, 7, 8];

function stepOf(maxTokens: number): number {
  return Math.floor(STEPS_A_DOUBLING * Math.log2(Math.max(1, maxTokens)));
}

/** Finds stored summaries, also of another cap: at least half of the new one, and with a text that fits. */
export async function findRecords(
  store: Pick<SummaryStore, 'readSummaries'>,
  conversation: ConversationRef,
  sequences: readonly Sequence[],
  { summarizer }: Pick<Policy, 'summarizer'>,
): Promise<(SummaryRecord | undefined)[]> {
  const keys = sequences.flatMap((sequence) =>
    [0, ...STEPS_AROUND].map((step) => keyAtStep(sequence, summarizer, stepOf(sequence.maxTokens) + step)),
  );
  const records = keys.length === 0 ? [] : await store.readSummaries(conversation, keys);
  return sequences.map(({ maxTokens }, index) => {
    const start = index * (1 + STEPS_AROUND.length);
    const around = records.slice(start + 1, start + 1 + STEPS_AROUND.length);
    return (
      records[start] ?? around.find((record) => record?.status === 'accepted' && record.weight.tokens <= maxTokens)
    );
  });
}

/** Output tokens for each token of a cap. They include thinking, and text that is clipped afterwards. */
const OUTPUT_FACTOR = 2;
const THINKING_TOKENS = 4_096;

/** ms that a pass waits for the summary of a sequence: the longest time of one model call, and at least `parkMs`. */
export function summaryWaitMs(
  { tokens, maxTokens }: Pick<Sequence, 'tokens' | 'maxTokens'>,
  { summarizer }: Pick<Policy, 'summarizer'>,
): number {
  if (typeof summarizer === 'string') return PASS_LIMITS.parkMs;
  const maxOutputTokens = OUTPUT_FACTOR * maxTokens + THINKING_TOKENS;
  return Math.max(PASS_LIMITS.parkMs, limitSummaryCall({ tokens, maxOutputTokens }, summarizer.callTimeout).totalMs);
}

/**
 * Hash by which a version refers to a summary. Later, another text may be stored for the same range, also in a fork.
 * Stored versions must keep the first text (I15).
 */
export function summaryKey(summary: Summary): string {
  return hashOf(JSON.stringify(summary));
}

/** Id of a child job. It differs for each delivery, because BullMQ fails a parent whose child id exists already. */
export function childId(passId: string, owner: string, key: string): string {
  return `s-${hashOf(`${passId} ${owner} ${key}`)}`;
}

export interface AcceptedSummaries {
  readonly summaries: readonly AcceptedSummary[];
  readonly texts: ReadonlyMap<string, Summary>;
}

export async function readAccepted(
  store: Pick<SummaryStore, 'readSummaries'>,
  conversation: ConversationRef,
  plan: PassPlan,
  policy: Policy,
): Promise<AcceptedSummaries> {
  const records = await findRecords(store, conversation, plan.sequences, policy);
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
