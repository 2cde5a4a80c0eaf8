import type { ConversationState, StepState } from '../domain/conversation.ts';
import { NO_WEIGHT } from '../domain/message.ts';
import type { MemoryConversation } from './database.ts';

export function toConversationState(conversation: MemoryConversation): ConversationState {
  const openCalls = [...conversation.openCalls].map(([id, providerId]) => ({ id, ...(providerId && { providerId }) }));
  const undo = conversation.undo.map((range) => ({ ...range }));
  const left = conversation.left.map((range) => ({ ...range }));
  const { incarnation, spent, requestFacts } = conversation;
  return {
    ...toStepState(conversation),
    incarnation,
    openCalls,
    ...(undo.length > 0 && { undo }),
    ...(left.length > 0 && { left }),
    ...(spent && { spent }),
    ...(requestFacts && { requestFacts }),
  };
}

export function toStepState(conversation: MemoryConversation): StepState {
  const { agent, log, turns, version, weight, baseTotal, anchor, passed, backoff, pass, quarantine } = conversation;
  const { answeredVersion, fork, ttl, isSteered } = conversation;
  return {
    agent,
    head: log.length,
    turns,
    size: { version, weight, baseTotal, headTotal: log.at(-1)?.total ?? NO_WEIGHT, ...(anchor && { anchor }) },
    passed: { ...passed },
    backoff,
    ...(pass && { passId: pass.passId }),
    ...(quarantine && { quarantine }),
    ...(fork?.isOpen && { isForking: true }),
    ...(answeredVersion !== undefined && { answeredVersion }),
    ...(isSteered && { isSteered }),
    ...(ttl && { conversationTtl: ttl.ms }),
  };
}
