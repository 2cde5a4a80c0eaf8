import { PLACEHOLDER, requestTokens } from '../../src/compaction/budget.ts';
import { type Context, weighItems } from '../../src/compaction/context.ts';
import { type Limits, limitsAfterOverflow } from '../../src/domain/limits.ts';
import { addWeights, type Message, type Weight } from '../../src/domain/message.ts';
import { hasTokenReason, type Reason } from '../../src/domain/pass.ts';
import { upperBoundTokens } from '../../src/domain/size.ts';
import type { ContextItem, SeqRange } from '../../src/domain/version.ts';
import type { TrialOutcome } from '../../src/workers/compaction/trial-pass.ts';
import type { PreparedAgent } from '../../src/workers/prepared-agent.ts';

/** Outcome of a compaction pass, with the context before it. */
export interface SeenEnd<Outcome extends TrialOutcome = TrialOutcome> {
  readonly prepared: PreparedAgent;
  readonly before: Context;
  readonly outcome: Outcome;
  /** Reasons with which the compaction pass was requested. */
  readonly requested: readonly Reason[];
  /** Sequence number of the log's first user message. */
  readonly firstUserSeq: number | undefined;
  /** Ranges of the summaries that were written and accepted for this pass. */
  readonly written: readonly SeqRange[];
}

/** A compaction pass that made a version, with the context after it. */
export interface SeenPass extends SeenEnd<Extract<TrialOutcome, { kind: 'version' }>> {
  readonly after: Context;
}

/**
 * Returns the limits of a compaction pass. After the provider refused a request as too long, its target is half of that
 * size.
 */
export function limitsOf({ prepared, before, outcome: { reasons } }: SeenEnd): Limits {
  const { limits, overhead } = prepared;
  const tokens = requestTokens({ overhead }, weighSent(before.items).tokens);
  return reasons.includes('overflow')
    ? limitsAfterOverflow(limits, upperBoundTokens(tokens, limits.upperBoundFactor))
    : limits;
}

/** Checks whether a request with items of this size exceeds the target of the compaction pass in tokens or bytes. */
export function isOverBudget(end: SeenEnd, items: Weight): boolean {
  const { maxTokens = Infinity, maxBytes = Infinity } = limitsOf(end);
  const { tokens, bytes } = sizeOf(end, items);
  return tokens > maxTokens || bytes > maxBytes;
}

/** Computes the size of a request with items of this size, as an upper bound. */
export function sizeOf({ prepared: { overhead, limits } }: SeenEnd, { tokens, bytes }: Weight): Weight {
  return {
    tokens: upperBoundTokens(requestTokens({ overhead }, tokens), limits.upperBoundFactor),
    bytes: bytes + overhead.bytes,
  };
}

/**
 * Computes the size of messages as they are sent. Rendering puts a placeholder first if the first
 * message after those of the system is neither a user message nor a summary.
 */
export function weighSent(items: readonly ContextItem[]): Weight {
  const role = items.map(({ message }) => message.role).find((other) => other !== 'system');
  return role === 'user' || role === 'summary' ? weighItems(items) : addWeights(weighItems(items), PLACEHOLDER);
}

export function isBudgetAGoal({ outcome: { reasons } }: SeenEnd): boolean {
  return hasTokenReason(reasons);
}

export function messagesOf({ items }: Context): Message[] {
  return items.map(({ message }) => message);
}

/** Returns the names of the broken checks. If a check throws, its error is appended to its name. */
export function namesOfBroken<Seen>(checks: Readonly<Record<string, (seen: Seen) => boolean>>, seen: Seen): string[] {
  return Object.entries(checks).flatMap(([name, holds]) => {
    try {
      return holds(seen) ? [] : [name];
    } catch (error) {
      return [`${name}: ${String(error)}`];
    }
  });
}
