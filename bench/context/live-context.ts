import type { Message, WeighedMessage } from '../../src/domain/message.ts';
import { EvaluatedPasses } from '../../src/evaluation/evaluated-passes.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../../src/evaluation/remembered-counts.ts';
import { type CompactMessages, type Row, sumTokens } from './row.ts';

/** A conversation is compacted to `maxTokens` when its context exceeds `tokenThreshold`. */
export interface LiveLimits {
  readonly tokenThreshold: number;
  readonly maxTokens: number;
}

export type LivePass =
  /** `isSummaryLost`: a summary was written in this pass, and the version does not hold it. */
  | { readonly kind: 'version'; readonly context: readonly Message[]; readonly isSummaryLost: boolean }
  /** No context of the budget holds what must stay. */
  | { readonly kind: 'infeasible' }
  | { readonly kind: 'unchanged' };

/** Context of a conversation that goes on. */
interface LiveContext {
  /** Sizes as the row counts them. */
  readonly tokens: () => number;
  readonly compact: () => Promise<LivePass>;
  /** @param index position among the messages of the conversation */
  readonly append: (index: number) => void;
}

/**
 * Plays a conversation under a row: before each answer of the agent, the row compacts the context if it is too large.
 * Each pass works on the result of the pass before.
 * @param onPass called after each pass, with the number of messages before it
 */
export async function playContext(
  row: Pick<Row, 'live'>,
  messages: readonly Message[],
  limits: LiveLimits,
  onPass: (pass: LivePass, before: number) => void,
): Promise<void> {
  const { live } = row;
  if (live === undefined) throw new Error('this row makes plain text, so no conversation can go on from it');
  const context =
    typeof live === 'function' ? openMessages(live, messages, limits) : await openPasses(live, messages, limits);
  for (const [index, { role }] of messages.entries()) {
    if (role === 'assistant' && context.tokens() > limits.tokenThreshold) onPass(await context.compact(), index);
    context.append(index);
  }
}

function openMessages(compact: CompactMessages, messages: readonly Message[], { maxTokens }: LiveLimits): LiveContext {
  let context: readonly Message[] = [];
  return {
    tokens: () => sumTokens(context),
    append: (index) => {
      context = [...context, messages[index] as Message];
    },
    compact: async () => {
      context = await compact(context, maxTokens);
      return { kind: 'version', context, isSummaryLost: false };
    },
  };
}

/** Shared by all live runs, which count the same texts. */
export const counts = new RememberedCounts();

/** Runs passes with the code of the workers. */
async function openPasses(
  policy: Exclude<Row['live'], CompactMessages | undefined>,
  messages: readonly Message[],
  { tokenThreshold, maxTokens }: LiveLimits,
): Promise<LiveContext> {
  const window = { usableTokens: 2 * tokenThreshold };
  const prepared = await prepareOfflineAgent({ ...policy, maxTokens, tokenThreshold }, window, counts);
  const passes = new EvaluatedPasses(prepared, await createOfflineSummarizers(counts));
  const weighed: readonly WeighedMessage[] = await weighConversation(messages, prepared);
  const { conversation } = passes;
  return {
    tokens: () => conversation.context.items.reduce((sum, { tokens }) => sum + tokens, 0),
    append: (index) => conversation.append(weighed[index] as WeighedMessage),
    compact: async () => {
      const before = countAccepted(conversation);
      const outcome = await passes.run(['token_threshold']);
      if (outcome.kind === 'infeasible') return { kind: 'infeasible' };
      if (outcome.kind !== 'version') return { kind: 'unchanged' };
      const context = conversation.context.items.map(({ message }) => message);
      const written = countAccepted(conversation) - before;
      return { kind: 'version', context, isSummaryLost: written > outcome.settled.summaryKeys.length };
    },
  };
}

function countAccepted({ written }: EvaluatedPasses['conversation']): number {
  return [...written.values()].filter(({ status }) => status === 'accepted').length;
}
