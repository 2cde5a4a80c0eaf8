import { requestTokens } from '../../domain/compaction/budget.ts';
import type { LadderStep } from '../../domain/compaction/ladder.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import { weighItems } from '../../domain/context.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { Message, WeighedMessage } from '../../domain/message.ts';
import type { Refusal } from '../../workers/compaction/settle-sendable.ts';
import type { PreparedAgent } from '../../workers/prepared-agent.ts';
import { infeasibleError } from './infeasible-error.ts';
import { OfflinePasses, type SummarizerChain } from './offline-pass.ts';

import { renderSentMessages } from './sent-messages.ts';

/** What a pass did. Tokens are means of the whole request, bytes those of its texts: messages and pins. */
export interface CompactionReport {
  readonly kind: SettledContext['strategy'] | 'none';
  readonly reasons: readonly Reason[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly bytesAfter: number;
  /** messages taken out of the context, those that a summary stands for included */
  readonly archived: number;
  /** sequences that a summary stands for now */
  readonly sequences: number;
  /** messages that nothing stands for now */
  readonly evicted: number;
  readonly clipped: number;
  readonly floorRelaxed: boolean;
  /** in order, with the size after each */
  readonly steps: readonly { readonly step: LadderStep; readonly tokens: number; readonly bytes: number }[];
}

export interface CompactedConversation {
  /** as they would be sent */
  readonly messages: readonly Message[];
  readonly report: CompactionReport;
}

/**
 * One pass over a whole recorded conversation, as if an operator had asked for it: the budget wins over the floor.
 * @param weighed with the ids that a log gives
 * @throws budget_infeasible with the sum and what to change; invalid_context where what it came to would break a rule of a
 * format: nothing was done
 */
export async function compactConversation(
  weighed: readonly WeighedMessage[],
  prepared: PreparedAgent,
  summarizers: SummarizerChain,
): Promise<CompactedConversation> {
  const passes = new OfflinePasses('offline', prepared, summarizers);
  const { conversation } = passes;
  for (const message of weighed) conversation.append(message);
  const before = weighItems(conversation.context.items);
  const outcome = await passes.run(['manual']);
  if (outcome.kind === 'infeasible') throw infeasibleError(outcome.details);
  if (outcome.kind === 'refused') throw refusedError(outcome.refusal);
  const { items, version } = conversation.context;
  const messages = renderSentMessages(
    items.map(({ message }) => message),
    { version: version.number, system: prepared.system },
  );
  const { reasons } = outcome;
  if (outcome.kind === 'version') {
    return { messages, report: reportVersion(outcome.settled, reasons, prepared) };
  }
  const tokens = requestTokens(prepared, before.tokens);
  const sizes = { tokensBefore: tokens, tokensAfter: tokens, bytesAfter: before.bytes + prepared.overhead.bytes };
  return { messages, report: { kind: 'none', reasons, ...sizes, ...NOTHING_DONE } };
}

function refusedError({ codes, message }: Refusal): TurnfoldError {
  return new TurnfoldError('invalid_context', `messages: compacted they would break ${codes.join(', ')}: ${message}`, {
    field: 'messages',
    details: { rules: codes },
  });
}

const NOTHING_DONE = {
  archived: 0,
  sequences: 0,
  evicted: 0,
  clipped: 0,
  floorRelaxed: false,
  steps: [],
} as const;

function reportVersion(settled: SettledContext, reasons: readonly Reason[], prepared: PreparedAgent): CompactionReport {
  const { strategy, tokensBefore, tokensAfter, archived, segments, steps } = settled;
  const lengthOf = (kind: 'evicted' | 'clipped'): number =>
    segments.reduce((sum, { kind: other, from, to }) => sum + (other === kind ? to - from + 1 : 0), 0);
  return {
    kind: strategy,
    reasons,
    tokensBefore,
    tokensAfter,
    bytesAfter: settled.weight.bytes + prepared.overhead.bytes,
    archived,
    // Not those whose summary was evicted again, for want of room.
    sequences: segments.filter(({ kind }) => kind === 'summary').length,
    evicted: lengthOf('evicted'),
    clipped: lengthOf('clipped'),
    floorRelaxed: settled.isFloorRelaxed,
    steps: steps.map(({ step, tokens, bytes }) => ({
      step,
      tokens: requestTokens(prepared, tokens),
      bytes: bytes + prepared.overhead.bytes,
    })),
  };
}
