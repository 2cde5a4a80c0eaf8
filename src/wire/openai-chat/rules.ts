import type { Sliced } from '../../domain/sliced.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
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

export function* validateChatInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(chatRules, yield* viewChat(body), context);
}

/** C1: one result for each call directly follows an assistant message with calls. */
function* answersCallsAtOnce(view: ChatView, context: RuleContext): Generator<Breach> {
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
    for (const call of calls) {
      if (!given.has(call.id) && !openable.has(call)) {
        yield { path: call.path, message: 'the result does not directly follow the call' };
      }
    }
  }
}

/** C2: a result answers the nearest assistant message with calls. */
function* answersNearestCalls({ chat, calls, results }: ChatView): Generator<Breach> {
  const callsAt = Map.groupBy(calls, ({ position }) => position);
  const resultAt = new Map(results.map((result) => [result.position, result]));
  let nearest: ReadonlySet<string> = new Set();
  for (const position of chat.keys()) {
    const made = callsAt.get(position);
    if (made !== undefined) nearest = new Set(made.map(({ id }) => id));
    const result = resultAt.get(position);
    if (result !== undefined && !nearest.has(result.callId)) {
      yield {
        path: result.path,
        message: 'the nearest assistant message with calls has no call with the id of this result',
      };
    }
  }
}

/** C3: content is null or absent only beside calls. */
function* leavesContentOutBesideCallsOnly({ chat }: ChatView): Generator<Breach> {
  for (const { path, hasContent, hasCalls } of chat) {
    if (!hasContent && !hasCalls) yield { path, message: 'the message has neither content nor calls' };
  }
}

/** C4: arguments are a string. */
function* writesArgumentsAsText({ untextedCalls }: ChatView): Generator<Breach> {
  for (const path of untextedCalls) yield { path, message: 'the arguments are not a string' };
}

/**
 * C5: system and developer messages come first. Behind them, a strict template requires alternating user and assistant
 * messages, and an answer between results and user. An open round needs no answer.
 */
function* ordersRoles(view: ChatView, context: RuleContext): Generator<Breach> {
  const { chat } = view;
  const { hasStrictTemplate } = context;
  const isOpen = findOpenable(view, context).size > 0;
  const start = chat.findIndex(({ role }) => !isSystem(role));
  if (start < 0) return;
  for (const [index, { path, role }] of chat.entries()) {
    if (index > start && isSystem(role)) yield { path, message: `a ${role} message behind other messages` };
    const isTwin = index > 0 && chat[index - 1]?.role === role && role !== 'tool';
    if (hasStrictTemplate === true && isTwin) yield { path, message: `two ${role} messages in a row` };
    const isBehindResult = role === 'user' && chat[index - 1]?.role === 'tool';
    if (hasStrictTemplate === true && isBehindResult && !isOpen) {
      yield { path, message: 'a user message directly behind a result' };
    }
  }
}

/** C6: pictures stand in user messages only. */
function* showsImagesAsUser({ chat }: ChatView): Generator<Breach> {
  for (const { role, images } of chat) {
    if (role === 'user') continue;
    for (const path of images) yield { path, message: `a picture in a ${role} message` };
  }
}

/** C7: reasoning is sent back only inside the current tool loop. */
function* keepsReasoningInLoop({ chat }: ChatView): Generator<Breach> {
  const loopStart = chat.findLastIndex((message, index) => message.role === 'user' && !showsResult(chat, index));
  for (const [index, { path, reasoning, hasReasoning }] of chat.entries()) {
    if (!hasReasoning) continue;
    if (reasoning !== undefined && typeof reasoning !== 'string')
      yield { path, message: 'reasoning_content is not a string' };
    else if (index < loopStart) yield { path, message: 'reasoning of an earlier turn' };
  }
}

/** A user message with pictures behind results shows their pictures (C6) and does not end the loop. */
function showsResult(chat: readonly ViewedChatMessage[], index: number): boolean {
  return (chat[index]?.images.length ?? 0) > 0 && chat[index - 1]?.role === 'tool';
}

function isSystem(role: ViewedChatMessage['role']): boolean {
  return role === 'system' || role === 'developer';
}
