import type { Interruptible } from '../../domain/interruptible.ts';
import { isFilledText } from '../parts.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breaches, breachesOf, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { outputTypeOf, type ResponsesView, type ViewedItem, viewResponses } from './view.ts';

const responsesRules: Rules<ResponsesView> = {
  ...sharedRules,
  R1: pairsOutputs,
  R2: keepsReasoningWithCompanion,
  R3: needsReasoningBefore,
  R4: dropsUnpairedReasoning,
  R5: keepsAnswersTogether,
  R6: keepsEncryptedContent,
  R7: usesNoServerHistory,
  R8: keepsCompactionWhole,
  R9: hasUniqueIds,
};

export function* validateResponsesInSlices(body: unknown, context: RuleContext = {}): Interruptible<Violation[]> {
  return yield* applyRules(responsesRules, yield* viewResponses(body), context);
}

/** Wire rule R1: each call has a later output of its type with its `call_id`, and each output has a call before it. */
function* pairsOutputs(view: ResponsesView, context: RuleContext): Breaches {
  const { items, calls, results } = view;
  const due = new Map(calls.map((call) => [call.id, call]));
  yield* breachesOf(results, ({ callId, position }) => {
    const call = due.get(callId);
    if (call === undefined || call.position > position) return 'the tool output has no call with its call_id before it';
    const isOfKind = items[position]?.type === outputTypeOf(items[call.position]?.type ?? '');
    return !isOfKind && 'the type of the tool output does not match the type of its call';
  });
  const answered = new Set(results.map(({ callId }) => callId));
  const openable = findOpenable(view, context);
  yield* breachesOf(calls, (call) => {
    return !answered.has(call.id) && !openable.has(call) && 'the tool call has no output';
  });
}

/** Wire rule R2: reasoning is followed by an item of its answer. If that item is a message, it has the server's id. */
function keepsReasoningWithCompanion({ items }: ResponsesView): Breaches {
  return breachesOf(items, ({ type, answer }, position) => {
    const next = items[position + 1];
    const isOther = next?.answer !== answer || (next?.type === 'message' && !isFilledText(next.id));
    return (
      type === 'reasoning' && isOther && 'the reasoning is not followed by the item that came with it in its answer'
    );
  });
}

/**
 * Wire rule R3: an item with the server's id needs the reasoning that it came with. A request does not show which one,
 * so this check accepts any reasoning before it in its answer, if the request has reasoning at all.
 */
function needsReasoningBefore({ items, usesReasoning }: ResponsesView): Breaches {
  let reasoned: ViewedItem['answer'];
  return breachesOf(usesReasoning ? items : [], ({ type, id, answer }) => {
    if (type === 'reasoning') reasoned = answer;
    else if (isFilledText(id) && answer !== undefined && answer !== reasoned)
      return "the item has the server's id, but no reasoning before it in its answer";
    return undefined;
  });
}

/** Wire rule R4: the API sometimes returns neighbouring reasoning items, but refuses them in a request. */
function dropsUnpairedReasoning({ items }: ResponsesView): Breaches {
  return breachesOf(items, ({ type }, position) => {
    const isDoubled = type === 'reasoning' && items[position + 1]?.type === 'reasoning';
    return isDoubled && 'a reasoning item directly precedes another reasoning item';
  });
}

/** Wire rule R5: no user or system message is placed within one answer. */
function keepsAnswersTogether({ items, calls, results }: ResponsesView): Breaches {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  let nearest = -1;
  const foreignBefore = items.map(({ type, author }, position) => {
    if (type === 'message' && author !== 'assistant') nearest = position;
    return nearest;
  });
  return breachesOf(results, ({ callId, position }) => {
    const isCut = (foreignBefore[position] ?? -1) > (callAt.get(callId) ?? position);
    return isCut && 'a user or system message stands between this tool output and its call';
  });
}

/** Wire rule R6: `encrypted_content` is not empty, and a stateless request names no reasoning by its id alone. */
function keepsEncryptedContent({ items, isStateless }: ResponsesView): Breaches {
  const reasoning = items.filter(({ type }) => type === 'reasoning');
  return breachesOf(reasoning, ({ encrypted_content: sealed, content }) => {
    if (sealed !== undefined && sealed !== null)
      return !isFilledText(sealed) && 'encrypted_content of the reasoning is empty';
    const isOpen = Array.isArray(content) && content.length > 0;
    return isStateless && !isOpen && 'the reasoning has no encrypted_content, which is required while store is false';
  });
}

/** Wire rule R7: the request names no history on the server, because its messages would be sent twice. */
function usesNoServerHistory({ serverHistory }: ResponsesView): Breaches {
  const message =
    'the request refers to a history that the server stored: remove the reference, because input holds the whole history';
  return serverHistory.map((path) => ({ path, message }));
}

/** Wire rule R8: a compaction has its encrypted content, and is not placed between a call and its output. */
function* keepsCompactionWhole({ items, calls, results }: ResponsesView): Breaches {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  yield* breachesOf(items, ({ type, encrypted_content }) => {
    return type === 'compaction' && !isFilledText(encrypted_content) && 'the compaction has no encrypted_content';
  });
  const nextAfter = findNextCompactions(items);
  for (const { callId, position } of results) {
    const cut = nextAfter[callAt.get(callId) ?? position];
    if (cut !== undefined && cut < position)
      yield { path: items[cut]?.path ?? '', message: 'the compaction stands between a tool call and its output' };
  }
}

function findNextCompactions(items: ResponsesView['items']): (number | undefined)[] {
  const next = new Array<number | undefined>(items.length);
  let nearest: number | undefined;
  for (let position = items.length - 1; position >= 0; position -= 1) {
    next[position] = nearest;
    if (items[position]?.type === 'compaction') nearest = position;
  }
  return next;
}

function hasUniqueIds({ items }: ResponsesView): Breaches {
  const seen = new Set<string>();
  return breachesOf(items, ({ id }) => {
    if (id === undefined || id === null) return undefined;
    if (seen.has(id)) return 'two input items have the same id';
    seen.add(id);
    return undefined;
  });
}
