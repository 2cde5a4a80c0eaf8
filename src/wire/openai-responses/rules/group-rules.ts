import type { Breach, RuleContext } from '../../rules/rule.ts';
import { findOpenable } from '../../rules/view.ts';
import { isFilled, outputTypeOf } from './items.ts';
import type { PlacedItem, ResponsesView } from './view.ts';

/** R1: every call has an output of its own kind with its `call_id`, later; no output is an orphan. */
export function* pairsOutputs(view: ResponsesView, context: RuleContext): Generator<Breach> {
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
export function* keepsReasoningWithCompanion({ items }: ResponsesView): Generator<Breach> {
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
export function* needsReasoningBefore({ items, usesReasoning }: ResponsesView): Generator<Breach> {
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
export function* dropsUnpairedReasoning({ items }: ResponsesView): Generator<Breach> {
  for (const [position, { path, type }] of items.entries()) {
    if (type === 'reasoning' && items[position + 1]?.type === 'reasoning')
      yield { path, message: 'reasoning in front of other reasoning' };
  }
}

/** R5: an answer's reasoning and calls and the outputs of these stand together: no message of another's parts them. */
export function* keepsAnswersTogether({ items, calls, results }: ResponsesView): Generator<Breach> {
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
