import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { isFilledText } from '../parts.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { MIN_THINKING_TOKENS } from './body.ts';
import { type AnthropicView, isMarked, type PlacedBlock, readBodyBlock, viewAnthropic } from './view.ts';

/**
 * Rules of Anthropic, without A8. A body does not show under which tools and system texts its thinking was written
 * (`checkThinking`).
 */
const anthropicRules: Rules<AnthropicView> = {
  ...sharedRules,
  A1: placesSystem,
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

export function* validateAnthropicInSlices(body: unknown, context: RuleContext = {}): Interruptible<Violation[]> {
  return yield* applyRules(anthropicRules, yield* viewAnthropic(body), context);
}

/** Wire rule A1: the system prompt is a parameter. Some models accept later system messages before an answer. */
function* placesSystem({ turns }: AnthropicView, { habits = {} }: RuleContext): Generator<Breach> {
  for (const [index, { path, role }] of turns.entries()) {
    if (role !== 'system') continue;
    if (index === 0 || habits.takesLaterSystem !== true)
      yield { path, message: 'a message has the role system: the system prompt belongs in the parameter system' };
    else if (turns[index - 1]?.role !== 'user' || (turns[index + 1]?.role ?? 'assistant') !== 'assistant')
      yield { path, message: 'a system message does not stand between a user message and an answer' };
  }
}

/** Wire rule A2: the first message is a user message, or starts with a compaction block (wire rule A10). */
function* startsWithUserTurn({ turns: [first] }: AnthropicView): Generator<Breach> {
  if (first?.role === 'assistant' && first.blocks[0]?.type !== 'compaction') {
    yield { path: first.path, message: 'the first message is not a user message' };
  }
}

function* alternates({ turns }: AnthropicView): Generator<Breach> {
  for (const [index, { path, role }] of turns.entries()) {
    if (index > 0 && turns[index - 1]?.role === role) {
      yield { path, message: `two ${role} messages in a row: merge them, because roles must alternate` };
    }
  }
}

/** Wire rule A4: the message after calls starts with one result for each call, before any other content. */
function* answersCallsAtOnce(view: AnthropicView, context: RuleContext): Generator<Breach | undefined> {
  const callsAt = yield* collectPlaces(view.calls);
  const resultsAt = yield* collectPlaces(view.results.map(({ position, callId }) => ({ position, id: callId })));
  const openable = findOpenable(view, context);
  for (const [index, call] of view.calls.entries()) {
    if (resultsAt.get(call.position + 1)?.has(call.id) !== true && !openable.has(call)) {
      yield { path: call.path, message: 'the next message has no result for this tool call' };
    }
    if (endsSlice(index)) yield;
  }
  for (const [position, { blocks }] of view.turns.entries()) {
    if (endsSlice(position)) yield;
    let isBehindOther = false;
    for (const block of blocks) {
      if (block.type !== 'tool_result') isBehindOther = true;
      else if (callsAt.get(position - 1)?.has(block.tool_use_id) !== true) {
        yield { path: block.path, message: 'the previous message has no tool call with the id of this result' };
      } else if (isBehindOther)
        yield {
          path: block.path,
          message: 'a tool result follows other content of its message: results must come first',
        };
    }
  }
}

function* collectPlaces(
  placed: readonly { readonly position: number; readonly id: string }[],
): Generator<undefined, ReadonlyMap<number, ReadonlySet<string>>> {
  const idsAt = new Map<number, Set<string>>();
  for (const [index, { position, id }] of placed.entries()) {
    const ids = idsAt.get(position);
    if (ids === undefined) idsAt.set(position, new Set([id]));
    else ids.add(id);
    if (endsSlice(index)) yield;
  }
  return idsAt;
}

const LEGAL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Wire rule A5: each tool call has one result, and its id matches [a-zA-Z0-9_-]{1,64}. */
function* hasLegalIds({ calls, results }: AnthropicView): Generator<Breach | undefined> {
  const answered = new Set<string>();
  for (const [index, { path, callId }] of results.entries()) {
    if (answered.has(callId)) yield { path, message: 'the tool call has two results' };
    answered.add(callId);
    if (endsSlice(index)) yield;
  }
  const ids = [...calls, ...results.map(({ path, callId }) => ({ path, id: callId }))];
  for (const [index, { path, id }] of ids.entries()) {
    if (!LEGAL_ID.test(id)) yield { path, message: 'the tool call id does not match [a-zA-Z0-9_-]{1,64}' };
    if (endsSlice(index)) yield;
  }
}

/** Wire rule A6: no text is blank, and a final assistant text does not end with white space. */
function* endsTextsCleanly({ turns, texts }: AnthropicView, { isProbed }: RuleContext): Generator<Breach | undefined> {
  for (const [index, { path, text }] of texts.entries()) {
    if (text.trim() === '') yield { path, message: 'the text is blank' };
    if (endsSlice(index)) yield;
  }
  const last = turns.at(-1);
  if (isProbed === true || last?.role !== 'assistant') return;
  const block = last.blocks.at(-1);
  if (block?.type === 'text' && block.text !== block.text.trimEnd()) {
    yield { path: block.path, message: 'the final assistant text ends with white space' };
  }
}

const MAX_CACHE_MARKS = 4;

/**
 * Wire rule A7: a message with thinking starts with whole thinking and ends with another block. With type `enabled`,
 * each message with calls in the current tool loop starts with thinking.
 */
function* keepsThinking(view: AnthropicView, { habits = {} }: RuleContext): Generator<Breach> {
  const { turns, loopStart, blocks, requiresThinking, thinkingBudget } = view;
  if (thinkingBudget !== undefined && !isBudget(thinkingBudget)) {
    yield {
      path: 'thinking.budget_tokens',
      message: `thinking.budget_tokens must be at least ${MIN_THINKING_TOKENS} and less than max_tokens`,
    };
  }
  for (const block of blocks) {
    if (!isWhole(block, habits)) yield { path: block.path, message: 'the thinking block has no text or no signature' };
  }
  const loop = new Set(requiresThinking ? turns.slice(loopStart) : []);
  for (const turn of turns.filter(({ role }) => role === 'assistant')) {
    const first = turn.blocks.find(({ type }) => type !== 'compaction');
    const last = turn.blocks.at(-1);
    if (last !== undefined && isThinking(last))
      yield { path: last.path, message: 'the message ends with thinking: another block must follow' };
    if (first === undefined || isThinking(first)) continue;
    const isLost = loop.has(turn) && turn.blocks.some(({ type }) => type === 'tool_use');
    if (isLost)
      yield {
        path: first.path,
        message: 'the message has tool calls in the current tool loop, but does not start with thinking',
      };
    else if (turn.blocks.some(isThinking))
      yield { path: first.path, message: 'the message has thinking, but does not start with it' };
  }
}

function isBudget({ tokens, maxTokens }: NonNullable<AnthropicView['thinkingBudget']>): boolean {
  return Number(tokens) >= MIN_THINKING_TOKENS && Number(tokens) < Number(maxTokens);
}

function isThinking(block: PlacedBlock | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

function isWhole(block: PlacedBlock, { isThinkingUnsigned = false }: ProviderHabits): boolean {
  if (block.type === 'thinking')
    return typeof block.thinking === 'string' && (isThinkingUnsigned || isFilledText(block.signature));
  return block.type !== 'redacted_thinking' || isFilledText(block.data);
}

/** Wire rule A9: at most four `cache_control` breakpoints, and none on thinking or on a blank text. */
function* marksCacheLegally({ blocks, texts, cacheMarks }: AnthropicView): Generator<Breach> {
  for (const path of cacheMarks.slice(MAX_CACHE_MARKS)) {
    yield { path, message: `the request has more than ${MAX_CACHE_MARKS} cache_control breakpoints` };
  }
  const marked = new Set(cacheMarks);
  for (const { path, text } of texts) {
    if (text.trim() === '' && marked.has(path)) yield { path, message: 'a blank text has a cache_control breakpoint' };
  }
  for (const block of blocks) {
    if (isThinking(block) && isMarked(block))
      yield { path: block.path, message: 'a thinking block has a cache_control breakpoint' };
  }
}

/**
 * Wire rule A10: a compaction with content is the first block, and there is only one. A failed compaction may be
 * anywhere.
 */
function* startsWithCompaction({ blocks }: AnthropicView): Generator<Breach> {
  const compactions = blocks.filter((block) => block.type === 'compaction' && block.content !== null);
  for (const [index, { path }] of compactions.entries()) {
    if (index > 0) yield { path, message: 'the request has a second compaction block' };
    else if (path !== blocks[0]?.path)
      yield { path, message: 'the compaction block is not the first block of the request' };
  }
}

const SERVER_CALL = /^(server|mcp)_tool_use$/;
const SERVER_RESULT = /_tool_result$/;

/** Wire rule A11: the call of a tool that the provider runs and its result are in one message, in this order. */
function* keepsServerToolsTogether({ turns }: AnthropicView): Generator<Breach> {
  for (const { blocks } of turns) {
    const open = new Map<string, string>();
    for (const block of blocks) {
      if (block.type !== 'other') continue;
      const { kind, path, id = '', tool_use_id = '' } = block;
      if (SERVER_CALL.test(kind)) open.set(id, path);
      else if (SERVER_RESULT.test(kind) && !open.delete(tool_use_id)) {
        yield { path, message: 'the server tool result has no call before it in the same message' };
      }
    }
    for (const path of open.values()) {
      yield { path, message: 'the server tool call has no result in the same message' };
    }
  }
}

/** Wire rule A12: `is_error` of a tool result is a boolean, and a result with `is_error: true` holds text only. */
function* flagsErrors({ blocks }: AnthropicView): Generator<Breach> {
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const { path, content, is_error = false } = block;
    if (typeof is_error !== 'boolean') yield { path, message: 'is_error of a tool result is not a boolean' };
    const isAllText = !Array.isArray(content) || content.every((part) => readBodyBlock(part)?.type === 'text');
    if (is_error === true && !isAllText)
      yield { path, message: 'a tool result with is_error holds content other than text' };
  }
}
