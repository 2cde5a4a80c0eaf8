import type { Breach, RuleContext } from '../../rules/rule.ts';
import { findOpenable } from '../../rules/view.ts';
import type { AnthropicView } from './view.ts';

/** A1: the system prompt is a parameter, no message. */
export function* hasSystemAside({ turns }: AnthropicView): Generator<Breach> {
  for (const { path, role } of turns) {
    if (role === 'system') yield { path, message: 'a message of the system: expected the parameter system' };
  }
}

/** A2: the first message is the user's, or begins with a compaction that stands for it (A10). */
export function* startsWithUserTurn({ turns: [first] }: AnthropicView): Generator<Breach> {
  if (first?.role === 'assistant' && first.blocks[0]?.type !== 'compaction') {
    yield { path: first.path, message: "the first message is not the user's" };
  }
}

/** A3: neighbours have different roles. */
export function* alternates({ turns }: AnthropicView): Generator<Breach> {
  for (const [index, { path, role }] of turns.entries()) {
    if (index > 0 && turns[index - 1]?.role === role) {
      yield { path, message: `two messages of the ${role} side by side: expected one` };
    }
  }
}

/** A4: the turn behind calls begins with results for exactly these, all of them, before anything else. */
export function* answersCallsAtOnce(view: AnthropicView, context: RuleContext): Generator<Breach> {
  const asked = new Set(view.calls.map(({ position, id }) => `${position} ${id}`));
  const answered = new Set(view.results.map(({ position, callId }) => `${position} ${callId}`));
  const openable = findOpenable(view, context);
  for (const call of view.calls) {
    if (!answered.has(`${call.position + 1} ${call.id}`) && !openable.has(call)) {
      yield { path: call.path, message: 'the turn behind this call has no result for it' };
    }
  }
  for (const [position, { blocks }] of view.turns.entries()) {
    let isBehindOther = false;
    for (const block of blocks) {
      if (block.type !== 'tool_result') isBehindOther = true;
      else if (!asked.has(`${position - 1} ${block.tool_use_id}`)) {
        yield { path: block.path, message: 'this result answers no call of the turn before it' };
      } else if (isBehindOther) yield { path: block.path, message: 'a result behind other content of its turn' };
    }
  }
}

const LEGAL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** A5: one result for an id; ids are made of at most 64 letters, digits, `_` and `-`. */
export function* hasLegalIds({ calls, results }: AnthropicView): Generator<Breach> {
  const answered = new Set<string>();
  for (const { path, callId } of results) {
    if (answered.has(callId)) yield { path, message: 'a second result for one call' };
    answered.add(callId);
  }
  for (const { path, id } of [...calls, ...results.map(({ path: at, callId }) => ({ path: at, id: callId }))]) {
    if (!LEGAL_ID.test(id)) yield { path, message: 'an id that is not 1 to 64 of a-zA-Z0-9_-' };
  }
}

/** A6: no text block is empty or blank, and a final text of the assistant's ends without white space. */
export function* endsTextsCleanly({ turns, texts }: AnthropicView, { isProbed }: RuleContext): Generator<Breach> {
  for (const { path, text } of texts) if (text.trim() === '') yield { path, message: 'a blank text' };
  const last = turns.at(-1);
  if (isProbed === true || last?.role !== 'assistant') return;
  const block = last.blocks.at(-1);
  if (block?.type === 'text' && block.text !== block.text.trimEnd()) {
    yield { path: block.path, message: "white space at the end of the assistant's final text" };
  }
}
