import { randomUUID } from 'node:crypto';
import { type ConversationRef, callIdAt } from '../../src/domain/ids.ts';
import type { Message, WeighedMessage } from '../../src/domain/message.ts';
import type { CallToWaitFor } from '../../src/domain/turn.ts';
import type { StoredAnswer } from '../../src/store/turn-answers.ts';
import type { AcceptRequest } from '../../src/store/turn-intake.ts';
import type { ClaimedTurn } from '../../src/store/turn-record.ts';
import type { StepOutcome } from '../../src/store/turn-steps.ts';
import type { TurnIntake, TurnStore } from '../../src/store/turns.ts';

/**
 * Returns a conversation that no other test uses. Its id contains dots, which code with patterns or paths often mishandles.
 */
export function newConversation(): ConversationRef {
  return { tenant: '_', id: `conv.${randomUUID()}` };
}

export function weigh(message: Message): WeighedMessage {
  return { message, tokens: message.content.length + 4, bytes: Buffer.byteLength(message.content) };
}

/** Returns a turn to accept, with a new wake. */
export function turnFor(
  conversation: ConversationRef,
  turn: string,
  changes: Partial<AcceptRequest> = {},
): AcceptRequest {
  const input = weigh({ role: 'user', content: `question of ${turn}: "ü", [] and {}` });
  const wake = `wake-${turn}`;
  return { conversation, turn, agent: 'agent', input, payloadHash: 'hash', wake, maxQueuedTurns: 100, ...changes };
}

/** A step that answers with text. */
export function textStep(key: string, head: number, content = 'answer'): StepOutcome {
  const messages = [weigh({ role: 'assistant', content })];
  return { key, messages, expectedHead: head, opens: [], closes: [] };
}

/** A step that calls tools: `count` calls, numbered as the log numbers them. */
export function callsStep(key: string, head: number, count = 2): StepOutcome {
  const ids = Array.from({ length: count }, (_, index) => callIdAt(head + 1, index));
  const toolCalls = ids.map((id) => ({ id, name: 'read', arguments: '{"lines":[]}', providerId: `call_${id}` }));
  const messages = [weigh({ role: 'assistant', content: '', toolCalls })];
  return { key, messages, expectedHead: head, opens: ids.map((id) => ({ id, providerId: `call_${id}` })), closes: [] };
}

/** A step that records the result of one tool call. */
export function resultStep(key: string, callId: string): StepOutcome {
  const messages = [weigh({ role: 'tool', content: `result of ${callId}`, toolCallId: callId })];
  return { key, messages, opens: [], closes: [callId] };
}

/** Returns answers to tool calls, as a service sends them. */
export function bring(
  calls: readonly string[],
  kind: StoredAnswer['for'] = 'tools',
  textOf = (call: string): string => `{"output":"of ${call}","list":[]}`,
): Map<string, StoredAnswer> {
  return new Map(
    calls.map((call) => [
      call,
      {
        for: kind,
        json: textOf(call),
        unused: { tokens: 7, bytes: 21, json: `{"content":"of ${call}, unused"}` },
        verdict: kind === 'approval' ? 'approved' : `result-${textOf(call).length}`,
      },
    ]),
  );
}

/** Returns tool calls to wait for, with the ids that `callsStep` gives them. */
export function toWaitFor(ids: readonly string[], waitMs = 86_400_000): CallToWaitFor[] {
  return ids.map((id) => ({ id, name: 'read', arguments: '{"lines":[]}', waitMs }));
}

/** Accepts a turn and claims it. @throws if another turn is first in the mailbox */
export async function acceptAndClaim(
  store: TurnStore & TurnIntake,
  conversation: ConversationRef,
  turn: string,
  payloadHash = 'hash',
): Promise<ClaimedTurn> {
  await store.accept(turnFor(conversation, turn, { payloadHash }));
  return claimHead(store, conversation);
}

/** Claims the first turn of the mailbox under a new owner. @throws if there is nothing to claim */
export async function claimHead(store: TurnStore, conversation: ConversationRef): Promise<ClaimedTurn> {
  const reply = await store.claim(conversation, `owner-${randomUUID()}`, `wake-${randomUUID()}`);
  if (reply.status !== 'claimed') throw new Error(`not claimed: ${reply.status}`);
  return reply.turn;
}
