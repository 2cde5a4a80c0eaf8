import type { Breach } from '../../rules/rule.ts';
import { isMarked, readBlock } from './blocks.ts';
import type { AnthropicView, PlacedBlock } from './view.ts';

/** A provider takes this many cache marks. */
const MAX_CACHE_MARKS = 4;

/** The API's least. */
const MIN_BUDGET_TOKENS = 1_024;

/**
 * A7: thinking is whole, its budget one that the API takes, and a turn that has any begins with it and ends otherwise. Where the request makes every answer
 * begin with it, so do those with calls of the current tool loop; adaptive thinking leaves that to the model. Whether a block
 * is unmodified only its provider can tell.
 */
export function* keepsThinking(view: AnthropicView): Generator<Breach> {
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
export function* marksCacheLegally({ blocks, texts, cacheMarks }: AnthropicView): Generator<Breach> {
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
export function* startsWithCompaction({ blocks }: AnthropicView): Generator<Breach> {
  const compactions = blocks.filter((block) => block.type === 'compaction' && block.content !== null);
  for (const [index, { path }] of compactions.entries()) {
    if (index > 0) yield { path, message: 'a second compaction block' };
    else if (path !== blocks[0]?.path) yield { path, message: 'a compaction block that is not the first of all' };
  }
}

const SERVER_CALL = /^(server|mcp)_tool_use$/;
const SERVER_RESULT = /_tool_result$/;

/** A11: what a tool of the provider's own was asked and what it answered stand in one turn, in this order. */
export function* keepsServerToolsTogether({ turns }: AnthropicView): Generator<Breach> {
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
export function* flagsErrors({ blocks }: AnthropicView): Generator<Breach> {
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const { path, content, is_error = false } = block;
    if (typeof is_error !== 'boolean') yield { path, message: 'is_error is no boolean' };
    const isAllText = !Array.isArray(content) || content.every((part) => readBlock(part)?.type === 'text');
    if (is_error === true && !isAllText) yield { path, message: 'an error that is not all text' };
  }
}
