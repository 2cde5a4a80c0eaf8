import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { isBlank, isFilledText } from '../parts.ts';
import { findOpenable } from '../rules/body-view.ts';
import { applyRules, type Breach, type Breaches, breachesOf, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import { MIN_THINKING_TOKENS } from './body.ts';
import { type AnthropicView, isMarked, type PlacedBlock, readBodyBlock, viewAnthropic } from './view.ts';

/**
 * Rule A8 is missing: a body does not show for which tools its thinking was written (`checkThinking` reads the log).
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
function placesSystem({ turns }: AnthropicView, { habits = {} }: RuleContext): Breaches {
  return breachesOf(turns, ({ role }, index) => {
    if (role !== 'system') return undefined;
    if (index === 0 || habits.takesLaterSystem !== true)
      return 'a message has the role system: the system prompt belongs in the parameter system';
    const isPlaced = turns[index - 1]?.role === 'user' && (turns[index + 1]?.role ?? 'assistant') === 'assistant';
    return !isPlaced && 'a system message does not stand between a user message and an answer';
  });
}

/** Wire rule A2: the first message is a user message, or starts with a compaction block (wire rule A10). */
function startsWithUserTurn({ turns }: AnthropicView): Breaches {
  return breachesOf(turns.slice(0, 1), ({ role, blocks: [first] }) => {
    return role === 'assistant' && first?.type !== 'compaction' && 'the first message is not a user message';
  });
}

function alternates({ turns }: AnthropicView): Breaches {
  return breachesOf(turns, ({ role }, index) => {
    const isTwin = index > 0 && turns[index - 1]?.role === role;
    return isTwin && `two ${role} messages in a row: merge them, because roles must alternate`;
  });
}

/** Wire rule A4: the message after calls starts with one result for each call, before any other content. */
function* answersCallsAtOnce(view: AnthropicView, context: RuleContext): Breaches {
  const callsAt = collectIds(view.calls);
  yield;
  const resultsAt = collectIds(view.results.map(({ position, callId }) => ({ position, id: callId })));
  yield;
  const openable = findOpenable(view, context);
  yield* breachesOf(view.calls, (call) => {
    const isOpen = resultsAt.get(call.position + 1)?.has(call.id) !== true && !openable.has(call);
    return isOpen && 'the next message has no result for this tool call';
  });
  for (const [position, { blocks }] of view.turns.entries()) {
    const start = blocks.findIndex(({ type }) => type !== 'tool_result');
    yield* breachesOf(blocks, (block, index) => {
      if (block.type !== 'tool_result') return undefined;
      if (callsAt.get(position - 1)?.has(block.tool_use_id) !== true)
        return 'the previous message has no tool call with the id of this result';
      return (
        index > start && start >= 0 && 'a tool result follows other content of its message: results must come first'
      );
    });
    if (endsSlice(position)) yield;
  }
}

function collectIds(
  placed: readonly { readonly position: number; readonly id: string }[],
): ReadonlyMap<number, ReadonlySet<string>> {
  const placedAt = Map.groupBy(placed, ({ position }) => position);
  return new Map([...placedAt].map(([position, here]) => [position, new Set(here.map(({ id }) => id))]));
}

const LEGAL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Wire rule A5: each tool call has one result, and its id matches [a-zA-Z0-9_-]{1,64}. */
function* hasLegalIds({ calls, results }: AnthropicView): Breaches {
  const answered = new Set<string>();
  yield* breachesOf(results, ({ callId }) => {
    if (answered.has(callId)) return 'the tool call has two results';
    answered.add(callId);
    return undefined;
  });
  const ids = [...calls, ...results.map(({ path, callId }) => ({ path, id: callId }))];
  yield* breachesOf(ids, ({ id }) => !LEGAL_ID.test(id) && 'the tool call id does not match [a-zA-Z0-9_-]{1,64}');
}

/** Wire rule A6: no text is blank, and a final assistant text does not end with white space. */
function* endsTextsCleanly({ turns, texts }: AnthropicView, { isProbed }: RuleContext): Breaches {
  yield* breachesOf(texts, ({ text }) => isBlank(text) && 'the text is blank');
  const last = turns.at(-1);
  if (isProbed === true || last?.role !== 'assistant') return;
  const block = last.blocks.at(-1);
  if (block?.type === 'text' && block.text !== block.text.trimEnd())
    yield { path: block.path, message: 'the final assistant text ends with white space' };
}

/**
 * Wire rule A7: a message with thinking starts with it and ends with another block. While thinking is `enabled`, a
 * message with tool calls in the current tool loop must start with thinking, too.
 */
function* keepsThinking(view: AnthropicView, { habits = {} }: RuleContext): Breaches {
  const { turns, loopStart, blocks, requiresThinking, thinkingBudget } = view;
  if (thinkingBudget !== undefined && !isBudget(thinkingBudget)) {
    yield {
      path: 'thinking.budget_tokens',
      message: `thinking.budget_tokens must be at least ${MIN_THINKING_TOKENS} and less than max_tokens`,
    };
  }
  yield* breachesOf(blocks, (block) => !isWhole(block, habits) && 'the thinking block has no text or no signature');
  for (const [index, turn] of turns.entries()) {
    if (turn.role === 'assistant') yield* placesThinking(turn.blocks, requiresThinking && index >= loopStart);
    if (endsSlice(index)) yield;
  }
}

function* placesThinking(blocks: readonly PlacedBlock[], needsThinking: boolean): Generator<Breach> {
  const first = blocks.find(({ type }) => type !== 'compaction');
  const last = blocks.at(-1);
  if (last !== undefined && isThinking(last))
    yield { path: last.path, message: 'the message ends with thinking: another block must follow' };
  if (first === undefined || isThinking(first)) return;
  const { path } = first;
  if (needsThinking && blocks.some(({ type }) => type === 'tool_use'))
    yield { path, message: 'the message has tool calls in the current tool loop, but does not start with thinking' };
  else if (blocks.some(isThinking)) yield { path, message: 'the message has thinking, but does not start with it' };
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

const MAX_CACHE_MARKS = 4;

/** Wire rule A9: at most four `cache_control` breakpoints, and none on thinking or on a blank text. */
function* marksCacheLegally({ blocks, texts, cacheMarks }: AnthropicView): Breaches {
  for (const path of cacheMarks.slice(MAX_CACHE_MARKS))
    yield { path, message: `the request has more than ${MAX_CACHE_MARKS} cache_control breakpoints` };
  const marked = new Set(cacheMarks);
  yield* breachesOf(texts, ({ path, text }) => {
    return isBlank(text) && marked.has(path) && 'a blank text has a cache_control breakpoint';
  });
  yield* breachesOf(blocks, (block) => {
    return isThinking(block) && isMarked(block) && 'a thinking block has a cache_control breakpoint';
  });
}

/** Wire rule A10: a compaction with content is the first block, and the only one. A failed one may be anywhere. */
function startsWithCompaction({ blocks }: AnthropicView): Breaches {
  const compactions = blocks.filter((block) => block.type === 'compaction' && block.content !== null);
  return breachesOf(compactions, ({ path }, index) => {
    if (index > 0) return 'the request has a second compaction block';
    return path !== blocks[0]?.path && 'the compaction block is not the first block of the request';
  });
}

const SERVER_CALL = /^(server|mcp)_tool_use$/;
const SERVER_RESULT = /_tool_result$/;

/** Wire rule A11: the call of a tool that the provider runs and its result are in one message, in this order. */
function* keepsServerToolsTogether({ turns }: AnthropicView): Breaches {
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
function flagsErrors({ blocks }: AnthropicView): Breaches {
  return breachesOf(blocks, (block) => {
    if (block.type !== 'tool_result') return undefined;
    const { content, is_error = false } = block;
    if (typeof is_error !== 'boolean') return 'is_error of a tool result is not a boolean';
    const isAllText = !Array.isArray(content) || content.every((part) => readBodyBlock(part)?.type === 'text');
    return is_error && !isAllText && 'a tool result with is_error holds content other than text';
  });
}
