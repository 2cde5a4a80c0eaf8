import type { Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breaches, breachesOf, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { keepsReasoning } from './reasoning.ts';
import { type ChatView, type ViewedChatMessage, viewChat } from './view.ts';

const chatRules: Rules<ChatView> = {
  ...sharedRules,
  C1: answersCallsAtOnce,
  C2: answersNearestCalls,
  C3: leavesContentOutBesideCallsOnly,
  C4: writesArgumentsAsText,
  C5: ordersRoles,
  C6: showsImagesAsUser,
  C7: keepsReasoningInLoop,
};

export function* validateChatInSlices(body: unknown, context: RuleContext = {}): Interruptible<Violation[]> {
  return yield* applyRules(chatRules, yield* viewChat(body), context);
}

/** Wire rule C1: an assistant message with tool calls is directly followed by one result for each call. */
function* answersCallsAtOnce(view: ChatView, context: RuleContext): Breaches {
  const resultAt = new Map(view.results.map(({ position, callId }) => [position, callId]));
  const openable = findOpenable(view, context);
  for (const [position, calls] of Map.groupBy(view.calls, (call) => call.position)) {
    const due = new Set(calls.map(({ id }) => id));
    const given = new Set<string>();
    for (let next = position + 1; given.size < due.size; next += 1) {
      const callId = resultAt.get(next);
      if (callId === undefined) break;
      given.add(callId);
    }
    yield* breachesOf(calls, (call) => {
      return !given.has(call.id) && !openable.has(call) && 'the tool result does not directly follow its call';
    });
  }
}

/** Wire rule C2: a tool result belongs to a call of the nearest assistant message with calls before it. */
function answersNearestCalls({ chat, calls, results }: ChatView): Breaches {
  const callsAt = Map.groupBy(calls, ({ position }) => position);
  const resultAt = new Map(results.map(({ position, callId }) => [position, callId]));
  let nearest: ReadonlySet<string> = new Set();
  return breachesOf(chat, (_message, position) => {
    const made = callsAt.get(position);
    if (made !== undefined) nearest = new Set(made.map(({ id }) => id));
    const callId = resultAt.get(position);
    const isStray = callId !== undefined && !nearest.has(callId);
    return isStray && 'the nearest assistant message with tool calls has no call with the id of this result';
  });
}

/** Wire rule C3: the content of a message is null or absent only if the message has tool calls. */
function leavesContentOutBesideCallsOnly({ chat }: ChatView): Breaches {
  return breachesOf(chat, ({ hasContent, hasCalls }) => {
    return !hasContent && !hasCalls && 'the message has neither content nor tool calls';
  });
}

function writesArgumentsAsText({ untextedCalls }: ChatView): Breaches {
  return untextedCalls.map((path) => ({ path, message: 'the arguments of the tool call are not a string' }));
}

/**
 * Wire rule C5: system messages come first, unless the server accepts later ones. A strict chat template requires
 * alternating roles. After results, an answer precedes the next user message, unless calls are open.
 */
function* ordersRoles(view: ChatView, context: RuleContext): Breaches {
  const { chat } = view;
  const { hasStrictTemplate = false, habits = {} } = context;
  const start = chat.findIndex(({ role }) => !isSystem(role));
  if (start < 0) return;
  if (!(habits.takesLaterSystem ?? !hasStrictTemplate)) {
    yield* breachesOf(chat, ({ role }, index) => {
      return index > start && isSystem(role) && `a ${role} message follows other messages: it must come first`;
    });
  }
  if (hasStrictTemplate) yield* breachesOf(chat, findStrictFlaw(view, findOpenable(view, context).size > 0));
}

function findStrictFlaw({ chat }: ChatView, isOpen: boolean) {
  return ({ role }: ViewedChatMessage, index: number): string | false => {
    const before = chat[index - 1]?.role;
    if (before === role && role !== 'tool')
      return `two ${role} messages in a row: this chat template requires alternating roles`;
    const isBehindResult = role === 'user' && before === 'tool' && !isOpen;
    return (
      isBehindResult &&
      'a user message directly follows a tool result: this chat template requires an answer between them'
    );
  };
}

/** Wire rule C6: only user messages contain pictures. */
function showsImagesAsUser({ chat }: ChatView): Breaches {
  return chat
    .filter(({ role }) => role !== 'user')
    .flatMap(({ role, images }) =>
      images.map((path) => ({
        path,
        message: `a picture in a message with the role ${role}: only user messages may have pictures`,
      })),
    );
}

/** Wire rule C7: an answer has reasoning only if the provider wants that reasoning back. */
function keepsReasoningInLoop({ chat }: ChatView, { habits = {} }: RuleContext): Breaches {
  const loopStart = chat.findLastIndex((message, index) => message.role === 'user' && !showsResult(chat, index));
  return breachesOf(chat, (message, index) => {
    const { reasoning, hasReasoning } = message;
    if (!hasReasoning) return undefined;
    if (reasoning !== undefined && typeof reasoning !== 'string') return 'reasoning_content is not a string';
    const isExpected = mayReason(habits, message, index > loopStart);
    return (
      !isExpected && 'the message has reasoning from an earlier turn: only the current tool loop may have reasoning'
    );
  });
}

function mayReason(
  { reasoning = 'loop', needsReasoning = false }: ProviderHabits,
  { hasCalls, hasOnlyDetails }: ViewedChatMessage,
  isInLoop: boolean,
): boolean {
  if (hasCalls && (needsReasoning || (hasOnlyDetails && reasoning !== 'none'))) return true;
  return keepsReasoning(reasoning, { hasCalls, isInLoop });
}

/** True for a user message with the pictures of the results before it (C6). It does not end the tool loop. */
function showsResult(chat: readonly ViewedChatMessage[], index: number): boolean {
  return (chat[index]?.images.length ?? 0) > 0 && chat[index - 1]?.role === 'tool';
}

function isSystem(role: ViewedChatMessage['role']): boolean {
  return role === 'system' || role === 'developer';
}
