import { endsSlice, type Sliced } from '../../domain/sliced.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { type AnthropicView, isMarked, type PlacedBlock, readBlock, viewAnthropic } from './view.ts';

/** A8 binds a signature to what stood before it: no body shows that, the renderer keeps it (`keptRawItems`). */
const anthropicRules: Rules<AnthropicView> = {
  ...sharedRules,
  A1: hasSystemAside,
  A2: startsWithUserTurn,
  A3: alternates,
  A4: answersCallsAtOnce,
  A5: hasLegalIds,
  A6: endsTextsCleanly,
  A7: keepsThinking,
  A9: marksCacheLegally,
  A10: startsWithCompaction,
  A11: keepsServerToolsTogether,
  A12: flagsErrors,
};

/** The rules that a Messages request breaks, in the order of the rules; none for a request that its provider takes. */
export function* validateAnthropicInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(anthropicRules, yield* viewAnthropic(body), context);
}

/** A1: the system prompt is a parameter, no message. */
function* hasSystemAside({ turns }: AnthropicView): Generator<Breach> {
  for (const { path, role } of turns) {
    if (role === 'system') yield { path, message: 'a message of the system: expected the parameter system' };
  }
}

/** A2: the first message is the user's, or begins with a compaction that stands for it (A10). */
function* startsWithUserTurn({ turns: [first] }: AnthropicView): Generator<Breach> {
  if (first?.role === 'assistant' && first.blocks[0]?.type !== 'compaction') {
    yield { path: first.path, message: "the first message is not the user's" };
  }
}

/** A3: neighbours have different roles. */
function* alternates({ turns }: AnthropicView): Generator<Breach> {
  for (const [index, { path, role }] of turns.entries()) {
    if (index > 0 && turns[index - 1]?.role === role) {
      yield { path, message: `two messages of the ${role} side by side: expected one` };
    }
  }
}

/** A4: the turn behind calls begins with results for exactly these, all of them, before anything else. */
function* answersCallsAtOnce(view: AnthropicView, context: RuleContext): Generator<Breach | undefined> {
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
function* hasLegalIds({ calls, results }: AnthropicView): Generator<Breach | undefined> {
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
function* endsTextsCleanly({ turns, texts }: AnthropicView, { isProbed }: RuleContext): Generator<Breach | undefined> {
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

/** A provider takes this many cache marks. */
const MAX_CACHE_MARKS = 4;

/** The API's least. */
const MIN_BUDGET_TOKENS = 1_024;

/**
 * A7: thinking is whole, its budget one that the API takes, and a turn that has any begins with it and ends otherwise. Where the request makes every answer
 * begin with it, so do those with calls of the current tool loop; adaptive thinking leaves that to the model. Whether a block
 * is unmodified only its provider can tell.
 */
function* keepsThinking(view: AnthropicView): Generator<Breach> {
  const { turns, loopStart, blocks, requiresThinking, thinkingBudget } = view;
  if (thinkingBudget !== undefined && !isBudget(thinkingBudget)) {
    yield { path: 'thinking.budget_tokens', message: `a budget below ${MIN_BUDGET_TOKENS}, or not below max_tokens` };
  }
  for (const block of blocks) {
    if (!isWhole(block)) yield { path: block.path, message: 'thinking without its text or its signature' };
  }
  const loop = new Set(requiresThinking ? turns.slice(loopStart) : []);
  for (const turn of turns.filter(({ role }) => role === 'assistant')) {
    const first = turn.blocks.find(({ type }) => type !== 'compaction');
    const last = turn.blocks.at(-1);
    if (last !== undefined && isThinking(last)) yield { path: last.path, message: 'thinking at the end of its turn' };
    if (first === undefined || isThinking(first)) continue;
    const isLost = loop.has(turn) && turn.blocks.some(({ type }) => type === 'tool_use');
    if (isLost) yield { path: first.path, message: 'a call of the current tool loop without thinking before it' };
    else if (turn.blocks.some(isThinking)) yield { path: first.path, message: 'thinking that does not begin its turn' };
  }
}

function isBudget({ tokens, maxTokens }: NonNullable<AnthropicView['thinkingBudget']>): boolean {
  return Number(tokens) >= MIN_BUDGET_TOKENS && Number(tokens) < Number(maxTokens);
}

function isThinking(block: PlacedBlock | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

function isWhole(block: PlacedBlock): boolean {
  if (block.type === 'thinking') return typeof block.thinking === 'string' && isFilled(block.signature);
  return block.type !== 'redacted_thinking' || isFilled(block.data);
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** A9: at most four cache marks, none on thinking or on an empty text. */
function* marksCacheLegally({ blocks, texts, cacheMarks }: AnthropicView): Generator<Breach> {
  for (const path of cacheMarks.slice(MAX_CACHE_MARKS)) {
    yield { path, message: `more than ${MAX_CACHE_MARKS} cache marks` };
  }
  const marked = new Set(cacheMarks);
  for (const { path, text } of texts) {
    if (text.trim() === '' && marked.has(path)) yield { path, message: 'a cache mark on an empty text' };
  }
  for (const block of blocks) {
    if (isThinking(block) && isMarked(block)) yield { path: block.path, message: 'a cache mark on thinking' };
  }
}

/**
 * A10: a compaction of the provider's own is the first block of all and the only one that holds something; one that failed
 * has no content and may stand anywhere. Whether it is verbatim only its provider can tell.
 */
function* startsWithCompaction({ blocks }: AnthropicView): Generator<Breach> {
  const compactions = blocks.filter((block) => block.type === 'compaction' && block.content !== null);
  for (const [index, { path }] of compactions.entries()) {
    if (index > 0) yield { path, message: 'a second compaction block' };
    else if (path !== blocks[0]?.path) yield { path, message: 'a compaction block that is not the first of all' };
  }
}

const SERVER_CALL = /^(server|mcp)_tool_use$/;
const SERVER_RESULT = /_tool_result$/;

/** A11: what a tool of the provider's own was asked and what it answered stand in one turn, in this order. */
function* keepsServerToolsTogether({ turns }: AnthropicView): Generator<Breach> {
  for (const { blocks } of turns) {
    const open = new Map<string, string>();
    for (const block of blocks) {
      if (block.type !== 'other') continue;
      const { kind, path, id = '', tool_use_id = '' } = block;
      if (SERVER_CALL.test(kind)) open.set(id, path);
      else if (SERVER_RESULT.test(kind) && !open.delete(tool_use_id)) {
        yield { path, message: "a result of a provider's tool without its call before it in the turn" };
      }
    }
    for (const path of open.values()) {
      yield { path, message: "a call of a provider's tool without its result in the turn" };
    }
  }
}

/** A12: whether a result is an error is said by a boolean, so that it survives whatever was done to its text; an error is all text. */
function* flagsErrors({ blocks }: AnthropicView): Generator<Breach> {
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const { path, content, is_error = false } = block;
    if (typeof is_error !== 'boolean') yield { path, message: 'is_error is no boolean' };
    const isAllText = !Array.isArray(content) || content.every((part) => readBlock(part)?.type === 'text');
    if (is_error === true && !isAllText) yield { path, message: 'an error that is not all text' };
  }
}
