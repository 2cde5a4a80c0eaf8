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

/** The rules that a Responses request breaks, in the order of the rules; none for a request that its provider takes. */
export function* validateResponsesInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(responsesRules, yield* viewResponses(body), context);
}

/** R1: every call has an output of its own kind with its `call_id`, later; no output is an orphan. */
function* pairsOutputs(view: ResponsesView, context: RuleContext): Generator<Breach> {
  const { items, calls, results } = view;
  const due = new Map(calls.map((call) => [call.id, call]));
  for (const { path, callId, position } of results) {
    const call = due.get(callId);
    const isOfKind = call !== undefined && items[position]?.type === outputTypeOf(items[call.position]?.type ?? '');
    if (call === undefined || call.position > position) yield { path, message: 'no call before this output' };
    else if (!isOfKind) yield { path, message: `an output of another kind than its call` };
  }
  const answered = new Set(results.map(({ callId }) => callId));
  const openable = findOpenable(view, context);
  for (const call of calls) {
    if (!answered.has(call.id) && !openable.has(call)) yield { path: call.path, message: 'no output for this call' };
  }
}

/**
 * R2: a reasoning item is followed by what came of it: a message or a call of the same answer. A message that came of it has its
 * server's id; one without is of another answer.
 */
function* keepsReasoningWithCompanion({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type, answer }] of items.entries()) {
    const next = items[position + 1];
    const isOther = next?.answer !== answer || (next?.type === 'message' && !isFilled(next.id));
    if (type === 'reasoning' && isOther) yield { path, message: 'reasoning without the item that followed it' };
  }
}

/**
 * R3: an item that came behind reasoning needs that reasoning before it, or goes without its id. A body does not show which
 * did, so where models reason at all every id is asked for reasoning before it in its answer. Stricter than the server.
 */
function* needsReasoningBefore({ items, usesReasoning }: ResponsesView): Generator<Breach> {
  if (!usesReasoning) return;
  let reasoned: PlacedItem['answer'];
  for (const { path, type, id, answer } of items) {
    if (type === 'reasoning') reasoned = answer;
    else if (isFilled(id) && answer !== undefined && answer !== reasoned) {
      yield { path, message: "an item with the server's id without reasoning before it in its answer" };
    }
  }
}

/** R4: reasoning in front of other reasoning goes: the API now and then writes several in a row, and refuses to read them. */
function* dropsUnpairedReasoning({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type }] of items.entries()) {
    if (type === 'reasoning' && items[position + 1]?.type === 'reasoning')
      yield { path, message: 'reasoning in front of other reasoning' };
  }
}

/** R5: an answer's reasoning and calls and the outputs of these stand together: no message of another's parts them. */
function* keepsAnswersTogether({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const foreignBefore = nearestForeign(items);
  for (const { path, callId, position } of results) {
    if ((foreignBefore[position] ?? -1) > (callAt.get(callId) ?? position)) {
      yield { path, message: "a message of another's between this output and its call" };
    }
  }
}

/** For each position that of the nearest user or system message before it; -1 where there is none. */
function nearestForeign(items: readonly PlacedItem[]): number[] {
  let nearest = -1;
  return items.map(({ type, author }, position) => {
    if (type === 'message' && author !== 'assistant') nearest = position;
    return nearest;
  });
}

/**
 * R6: encrypted reasoning is sent as it came. Whether it is unchanged only the server can tell; a body shows that something is
 * there, and that a server which stored nothing is not asked for reasoning by its id.
 */
function* keepsEncryptedContent({ items, isStateless }: ResponsesView): Generator<Breach> {
  for (const { path, type, encrypted_content, content } of items) {
    if (type !== 'reasoning') continue;
    const isAbsent = encrypted_content === undefined || encrypted_content === null;
    const isOpen = Array.isArray(content) && content.length > 0;
    if (!isAbsent && !isFilled(encrypted_content)) yield { path, message: 'encrypted_content that holds nothing' };
    if (isAbsent && isStateless && !isOpen)
      yield { path, message: 'reasoning without its content, and nothing is stored' };
  }
}

/** R7: a history that is sent whole, or cut, stands alone: the server adds none of its own. */
function* usesNoServerHistory({ serverHistory }: ResponsesView): Generator<Breach> {
  for (const path of serverHistory) yield { path, message: "a history of the server's beside the input" };
}

/** R8: a compaction item is opaque, and does not part a call from its output. */
function* keepsCompactionWhole({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const compactions = items.flatMap(({ type }, position) => (type === 'compaction' ? [position] : []));
  for (const position of compactions) {
    const { path = '', encrypted_content } = items[position] ?? {};
    if (!isFilled(encrypted_content)) yield { path, message: 'a compaction without its encrypted_content' };
  }
  const nextAfter = findNextCompactions(items);
  for (const { callId, position } of results) {
    const cut = nextAfter[callAt.get(callId) ?? position];
    if (cut !== undefined && cut < position)
      yield { path: items[cut]?.path ?? '', message: 'a compaction between a call and its output' };
  }
}

/** For each position that of the nearest compaction behind it; undefined where there is none. */
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
    if (seen.has(id)) yield { path, message: 'the id of this item stands twice' };
    seen.add(id);
  }
}
