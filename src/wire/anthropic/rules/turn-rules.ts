import { endsSlice } from '../../../domain/sliced.ts';
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
export function* answersCallsAtOnce(view: AnthropicView, context: RuleContext): Generator<Breach | undefined> {
  const asked = yield* collectPlaces(view.calls);
  const answered = yield* collectPlaces(view.results.map(({ position, callId }) => ({ position, id: callId })));
  const openable = findOpenable(view, context);
  for (const [index, call] of view.calls.entries()) {
    if (answered.get(call.position + 1)?.has(call.id) !== true && !openable.has(call)) {
      yield { path: call.path, message: 'the turn behind this call has no result for it' };
    }
    if (endsSlice(index)) yield undefined;
  }
  for (const [position, { blocks }] of view.turns.entries()) {
    if (endsSlice(position)) yield undefined;
    let isBehindOther = false;
    for (const block of blocks) {
      if (block.type !== 'tool_result') isBehindOther = true;
      else if (asked.get(position - 1)?.has(block.tool_use_id) !== true) {
        yield { path: block.path, message: 'this result answers no call of the turn before it' };
      } else if (isBehindOther) yield { path: block.path, message: 'a result behind other content of its turn' };
    }
  }
}

/** The ids that stand in each turn. */
function* collectPlaces(
  placed: readonly { readonly position: number; readonly id: string }[],
): Generator<undefined, ReadonlyMap<number, ReadonlySet<string>>> {
  const idsAt = new Map<number, Set<string>>();
  for (const [index, { position, id }] of placed.entries()) {
    const ids = idsAt.get(position);
    if (ids === undefined) idsAt.set(position, new Set([id]));
    else ids.add(id);
    if (endsSlice(index)) yield undefined;
  }
  return idsAt;
}

const LEGAL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** A5: one result for an id; ids are made of at most 64 letters, digits, `_` and `-`. */
export function* hasLegalIds({ calls, results }: AnthropicView): Generator<Breach | undefined> {
  const answered = new Set<string>();
  for (const [index, { path, callId }] of results.entries()) {
    if (answered.has(callId)) yield { path, message: 'a second result for one call' };
    answered.add(callId);
    if (endsSlice(index)) yield undefined;
  }
  for (const [index, { path, id }] of calls.entries()) {
    if (!LEGAL_ID.test(id)) yield illegalId(path);
    if (endsSlice(index)) yield undefined;
  }
  for (const [index, { path, callId }] of results.entries()) {
    if (!LEGAL_ID.test(callId)) yield illegalId(path);
    if (endsSlice(index)) yield undefined;
  }
}

function illegalId(path: string): Breach {
  return { path, message: 'an id that is not 1 to 64 of a-zA-Z0-9_-' };
}

/** A6: no text block is empty or blank, and a final text of the assistant's ends without white space. */
export function* endsTextsCleanly(
  { turns, texts }: AnthropicView,
  { isProbed }: RuleContext,
): Generator<Breach | undefined> {
  for (const [index, { path, text }] of texts.entries()) {
    if (text.trim() === '') yield { path, message: 'a blank text' };
    if (endsSlice(index)) yield undefined;
  }
  const last = turns.at(-1);
  if (isProbed === true || last?.role !== 'assistant') return;
  const block = last.blocks.at(-1);
  if (block?.type === 'text' && block.text !== block.text.trimEnd()) {
    yield { path: block.path, message: "white space at the end of the assistant's final text" };
  }
}
