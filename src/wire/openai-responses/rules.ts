import type { Interruptible } from '../../domain/interruptible.ts';
import { isFilledText } from '../parts.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type RuleContext, type Rules } from '../rules/rule.ts';
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
function* pairsOutputs(view: ResponsesView, context: RuleContext): Generator<Breach> {
  const { items, calls, results } = view;
  const due = new Map(calls.map((call) => [call.id, call]));
  for (const { path, callId, position } of results) {
    const call = due.get(callId);
    const isOfKind = call !== undefined && items[position]?.type === outputTypeOf(items[call.position]?.type ?? '');
    if (call === undefined || call.position > position)
      yield { path, message: 'the tool output has no call with its call_id before it' };
    else if (!isOfKind) yield { path, message: 'the type of the tool output does not match the type of its call' };
  }
  const answered = new Set(results.map(({ callId }) => callId));
  const openable = findOpenable(view, context);
  for (const call of calls) {
    if (!answered.has(call.id) && !openable.has(call))
      yield { path: call.path, message: 'the tool call has no output' };
  }
}

/** Wire rule R2: reasoning is followed by an item of its answer. If that item is a message, it has the server's id. */
function* keepsReasoningWithCompanion({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type, answer }] of items.entries()) {
    const next = items[position + 1];
    const isOther = next?.answer !== answer || (next?.type === 'message' && !isFilledText(next.id));
    if (type === 'reasoning' && isOther)
      yield { path, message: 'the reasoning is not followed by the item that came with it in its answer' };
  }
}

/**
 * Wire rule R3: an item with the server's id needs the reasoning that it came with. A request does not show which
 * reasoning that is. If a request has any reasoning, this check requires reasoning before every item with an id in an
 * answer. The server is less strict.
 */
function* needsReasoningBefore({ items, usesReasoning }: ResponsesView): Generator<Breach> {
  if (!usesReasoning) return;
  let reasoned: ViewedItem['answer'];
  for (const { path, type, id, answer } of items) {
    if (type === 'reasoning') reasoned = answer;
    else if (isFilledText(id) && answer !== undefined && answer !== reasoned) {
      yield { path, message: "the item has the server's id, but no reasoning before it in its answer" };
    }
  }
}

/** Wire rule R4: the API sometimes returns neighbouring reasoning items, but refuses them in a request. */
function* dropsUnpairedReasoning({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type }] of items.entries()) {
    if (type === 'reasoning' && items[position + 1]?.type === 'reasoning')
      yield { path, message: 'a reasoning item directly precedes another reasoning item' };
  }
}

/** Wire rule R5: no user or system message is placed within one answer. */
function* keepsAnswersTogether({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const foreignBefore = nearestForeign(items);
  for (const { path, callId, position } of results) {
    if ((foreignBefore[position] ?? -1) > (callAt.get(callId) ?? position)) {
      yield { path, message: 'a user or system message stands between this tool output and its call' };
    }
  }
}

function nearestForeign(items: readonly ViewedItem[]): number[] {
  let nearest = -1;
  return items.map(({ type, author }, position) => {
    if (type === 'message' && author !== 'assistant') nearest = position;
    return nearest;
  });
}

/** Wire rule R6: `encrypted_content` is not empty, and a stateless request names no reasoning by its id alone. */
function* keepsEncryptedContent({ items, isStateless }: ResponsesView): Generator<Breach> {
  for (const { path, type, encrypted_content, content } of items) {
    if (type !== 'reasoning') continue;
    const isAbsent = encrypted_content === undefined || encrypted_content === null;
    const isOpen = Array.isArray(content) && content.length > 0;
    if (!isAbsent && !isFilledText(encrypted_content))
      yield { path, message: 'encrypted_content of the reasoning is empty' };
    if (isAbsent && isStateless && !isOpen)
      yield { path, message: 'the reasoning has no encrypted_content, which is required while store is false' };
  }
}

/**
 * Wire rule R7: the request names no history on the server. The input is the whole history, so messages would be
 * repeated.
 */
function* usesNoServerHistory({ serverHistory }: ResponsesView): Generator<Breach> {
  for (const path of serverHistory)
    yield {
      path,
      message:
        'the request refers to a history that the server stored: remove the reference, because input holds the whole history',
    };
}

/** Wire rule R8: a compaction has its encrypted content, and is not placed between a call and its output. */
function* keepsCompactionWhole({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const compactions = items.flatMap(({ type }, position) => (type === 'compaction' ? [position] : []));
  for (const position of compactions) {
    const { path = '', encrypted_content } = items[position] ?? {};
    if (!isFilledText(encrypted_content)) yield { path, message: 'the compaction has no encrypted_content' };
  }
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

function* hasUniqueIds({ items }: ResponsesView): Generator<Breach> {
  const seen = new Set<string>();
  for (const { path, id } of items) {
    if (id === undefined || id === null) continue;
    if (seen.has(id)) yield { path, message: 'two input items have the same id' };
    seen.add(id);
  }
}
