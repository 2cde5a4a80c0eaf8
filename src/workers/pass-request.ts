import type { IdSource } from '../domain/clock.ts';
import type { EventListener } from '../domain/events.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import type { Message } from '../domain/message.ts';
import { hasHardReason, type Reason } from '../domain/pass.ts';
import type { BackoffCause } from '../domain/pass-events.ts';
import { isThinking, readRawItems } from '../domain/raw-items.ts';
import type { Tracing } from '../domain/tracing.ts';
import type { WakeQueue } from '../jobs/ports.ts';
import type { PassIntake, PassRequest } from '../store/passes.ts';
import { wakeUnlessFull } from './deferred-write.ts';

interface RequestPorts {
  readonly passes: PassIntake;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly ids: IdSource;
  readonly onEvent: EventListener;
  readonly tracing: Pick<Tracing, 'current'>;
}

/** Requests a pass. If a pass is open, adds the reasons to that pass. */
export async function requestPass(
  { passes, wakes, ids, onEvent, tracing }: RequestPorts,
  conversation: ConversationRef,
  { reasons, ...counted }: Pick<PassRequest, 'reasons' | 'refusedTokens' | 'calibration'>,
): Promise<{ readonly status: 'open'; readonly passId: string } | { readonly status: 'gone' }> {
  const wake = ids.next();
  const result = await passes.requestPass({ conversation, reasons, ...counted, passId: ids.next(), wake });
  if (result.status !== 'requested' && result.status !== 'joined') return { status: 'gone' };
  if (result.needsWake) await wakeUnlessFull(wakes, 'pass', conversation, wake, { traceParent: tracing.current() });
  const isJoined = result.status === 'joined';
  onEvent({ type: 'pass_requested', ...nameConversation(conversation), passId: result.passId, reasons, isJoined });
  return { status: 'open', passId: result.passId };
}

/** Reports that a backoff prevented a pass for which there was a reason. */
export function reportBackoff(
  { onEvent }: Pick<RequestPorts, 'onEvent'>,
  conversation: ConversationRef,
  why: BackoffCause,
): void {
  onEvent({ type: 'pass_backed_off', ...nameConversation(conversation), why });
}

/**
 * True if a model has sent thinking with tool calls, and no final answer yet. The provider ties the thinking to all
 * messages before it, so a change of the context would make it invalid.
 */
export function isThinkingLoopOpen(messages: readonly Message[]): boolean {
  const loop = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const last = loop.findLast(({ role }) => role === 'assistant');
  if (last?.toolCalls === undefined) return false;
  return loop.some((message) => readRawItems(message)?.items.some(isThinking) === true);
}

/** A pass waits until a thinking model has answered, unless its reason is hard: then a turn waits for the pass. */
export function waitsForAnswer(reasons: readonly Reason[], messages: readonly Message[]): boolean {
  return !hasHardReason(reasons) && isThinkingLoopOpen(messages);
}
