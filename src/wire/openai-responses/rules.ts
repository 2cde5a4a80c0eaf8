import type { Sliced } from '../../domain/sliced.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { isFilled, outputTypeOf, type PlacedItem, type ResponsesView, viewResponses } from './view.ts';

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

export function* validateResponsesInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(responsesRules, yield* viewResponses(body), context);
}

/** R1: every call has a later output of its own type with its `call_id`, and every output has a call. */
function* pairsOutputs(view: ResponsesView, context: RuleContext): Generator<Breach> {
  const { items, calls, results } = view;
  const due = new Map(calls.map((call) => [call.id, call]));
  for (const { path, callId, position } of results) {
    const call = due.get(callId);
    const isOfKind = call !== undefined && items[position]?.type === outputTypeOf(items[call.position]?.type ?? '');
    if (call === undefined || call.position > position) yield { path, message: 'the output has no call before it' };
    else if (!isOfKind) yield { path, message: 'the type of the output does not match its call' };
  }
  const answered = new Set(results.map(({ callId }) => callId));
  const openable = findOpenable(view, context);
  for (const call of calls) {
    if (!answered.has(call.id) && !openable.has(call)) yield { path: call.path, message: 'the call has no output' };
  }
}

/** R2: an item of the same answer follows reasoning. A message belongs to its reasoning only with the server's id. */
function* keepsReasoningWithCompanion({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type, answer }] of items.entries()) {
    const next = items[position + 1];
    const isOther = next?.answer !== answer || (next?.type === 'message' && !isFilled(next.id));
    if (type === 'reasoning' && isOther)
      yield { path, message: 'the item that belongs to this reasoning does not follow it' };
  }
}

/**
 * R3: an item with the server's id needs the reasoning that it came with. A body does not show which items those are.
 * In a request with reasoning, the rule requires some reasoning before every id of an answer. This is stricter than the
 * server.
 */
function* needsReasoningBefore({ items, usesReasoning }: ResponsesView): Generator<Breach> {
  if (!usesReasoning) return;
  let reasoned: PlacedItem['answer'];
  for (const { path, type, id, answer } of items) {
    if (type === 'reasoning') reasoned = answer;
    else if (isFilled(id) && answer !== undefined && answer !== reasoned) {
      yield { path, message: "an item with the server's id has no reasoning before it in its answer" };
    }
  }
}

/**
 * R4: no reasoning directly before other reasoning. The API sometimes returns such items and refuses them in a request.
 */
function* dropsUnpairedReasoning({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type }] of items.entries()) {
    if (type === 'reasoning' && items[position + 1]?.type === 'reasoning')
      yield { path, message: 'reasoning directly before other reasoning' };
  }
}

/** R5: the reasoning, calls and outputs of an answer stand together, with no user or system message between. */
function* keepsAnswersTogether({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const foreignBefore = nearestForeign(items);
  for (const { path, callId, position } of results) {
    if ((foreignBefore[position] ?? -1) > (callAt.get(callId) ?? position)) {
      yield { path, message: 'a user or system message between this output and its call' };
    }
  }
}

/** Position of the nearest user or system message before each item, or -1. */
function nearestForeign(items: readonly PlacedItem[]): number[] {
  let nearest = -1;
  return items.map(({ type, author }, position) => {
    if (type === 'message' && author !== 'assistant') nearest = position;
    return nearest;
  });
}

/**
 * R6: encrypted reasoning is sent unchanged. A body shows only that it is not empty, and that a stateless server is not
 * asked for reasoning by id.
 */
function* keepsEncryptedContent({ items, isStateless }: ResponsesView): Generator<Breach> {
  for (const { path, type, encrypted_content, content } of items) {
    if (type !== 'reasoning') continue;
    const isAbsent = encrypted_content === undefined || encrypted_content === null;
    const isOpen = Array.isArray(content) && content.length > 0;
    if (!isAbsent && !isFilled(encrypted_content)) yield { path, message: 'encrypted_content is empty' };
    if (isAbsent && isStateless && !isOpen)
      yield { path, message: 'reasoning without encrypted_content while store is false' };
  }
}

/** R7: the input is the whole history. A stored history of the server would repeat messages. */
function* usesNoServerHistory({ serverHistory }: ResponsesView): Generator<Breach> {
  for (const path of serverHistory)
    yield { path, message: 'refers to a stored history, but input holds the whole history' };
}

/** R8: a compaction has its encrypted content, and does not stand between a call and its output. */
function* keepsCompactionWhole({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const compactions = items.flatMap(({ type }, position) => (type === 'compaction' ? [position] : []));
  for (const position of compactions) {
    const { path = '', encrypted_content } = items[position] ?? {};
    if (!isFilled(encrypted_content)) yield { path, message: 'the compaction has no encrypted_content' };
  }
  const nextAfter = findNextCompactions(items);
  for (const { callId, position } of results) {
    const cut = nextAfter[callAt.get(callId) ?? position];
    if (cut !== undefined && cut < position)
      yield { path: items[cut]?.path ?? '', message: 'the compaction stands between a call and its output' };
  }
}

/** Position of the nearest compaction behind each item. */
function findNextCompactions(items: ResponsesView['items']): (number | undefined)[] {
  const next = new Array<number | undefined>(items.length);
  let nearest: number | undefined;
  for (let position = items.length - 1; position >= 0; position -= 1) {
    next[position] = nearest;
    if (items[position]?.type === 'compaction') nearest = position;
  }
  return next;
}

/** R9: ids of items are unique. */
function* hasUniqueIds({ items }: ResponsesView): Generator<Breach> {
  const seen = new Set<string>();
  for (const { path, id } of items) {
    if (id === undefined || id === null) continue;
    if (seen.has(id)) yield { path, message: 'two items have this id' };
    seen.add(id);
  }
}
