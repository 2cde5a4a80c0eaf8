import type { ProviderHabits, ToolDescription } from '../../domain/model.ts';
import type { Sliced } from '../../domain/sliced.ts';
import { type ArrangedRequest, arrangeInSlices } from '../arrange.ts';
import type { Rendered, WireRequest } from '../wire-request.ts';
import type { AnthropicBlock, AnthropicBody, AnthropicThinking, AnthropicTool, CacheControl } from './body.ts';
import { hasLostThinking, type LaidTurns, layTurns, type Turn } from './layout.ts';

export interface AnthropicOptions extends Pick<ProviderHabits, 'callIds' | 'isThinkingUnsigned' | 'needsReasoning'> {
  /** Thinking settings of the request. If absent, the model does not think. */
  readonly thinking?: AnthropicThinking;
  /** If true, adds cache breakpoints for the provider's prompt cache (wire rule A9). Default true. */
  readonly hasCacheMarks?: boolean;
}

/**
 * Smallest `budget_tokens` for thinking that the API accepts. If the output limit allows less, the request is sent
 * without thinking.
 */
const MIN_THINKING_TOKENS = 1_024;

/**
 * Renders a request for Anthropic's Messages API by wire rules A1–A12.
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
export function* renderAnthropicInSlices(
  request: WireRequest,
  options: AnthropicOptions = {},
): Sliced<Rendered<AnthropicBody>> {
  const arranged = yield* arrangeInSlices(request, 'anthropic', options.callIds);
  const laid = yield* layTurns(arranged.items, options);
  yield;
  const { turns } = laid;
  const thinking = fitThinking(options.thinking, laid, request.maxOutputTokens);
  if (options.hasCacheMarks !== false) markMessages(turns, (origin) => request.messages[origin]?.role === 'summary');
  const body: AnthropicBody = {
    model: request.model,
    max_tokens: request.maxOutputTokens,
    ...writeHead(arranged, options),
    messages: turns.map(({ role, blocks }) => ({ role, content: blocks })),
    ...(thinking === undefined ? {} : { thinking }),
  };
  return { format: 'anthropic', body, origins: turns.map(({ origins }) => origins), prefix: arranged.prefix };
}

/**
 * Writes the tools and system texts, with one cache breakpoint after the last of them. The API reads tools before
 * system texts.
 */
function writeHead(
  { system, tools }: ArrangedRequest,
  { hasCacheMarks = true }: AnthropicOptions,
): Pick<AnthropicBody, 'system' | 'tools'> {
  const texts = system.map(({ text }) => ({ type: 'text' as const, text }));
  const described = tools.map(writeTool);
  const isOnTools = hasCacheMarks && texts.length === 0;
  return {
    ...(described.length === 0 ? {} : { tools: isOnTools ? markLast(described) : described }),
    ...(texts.length === 0 ? {} : { system: hasCacheMarks ? markLast(texts) : texts }),
  };
}

function writeTool({ name, description, parameters }: ToolDescription): AnthropicTool {
  return { name, description, input_schema: { ...parameters, type: 'object' } };
}

/**
 * Wire rule A7: turns thinking off until the current tool loop ends, if some thinking of that loop can no longer be
 * sent. Otherwise the API would refuse the request.
 */
function fitThinking(
  thinking: AnthropicThinking | undefined,
  laid: LaidTurns,
  maxTokens: number,
): AnthropicThinking | undefined {
  if (thinking === undefined || hasLostThinking(laid, thinking)) return undefined;
  if (thinking.type !== 'enabled' || thinking.budget_tokens < maxTokens) return thinking;
  const budget = maxTokens - 1;
  return budget < MIN_THINKING_TOKENS ? undefined : { ...thinking, budget_tokens: budget };
}

const MARK: { readonly cache_control: CacheControl } = { cache_control: { type: 'ephemeral' } };

/**
 * Block types that may carry a cache breakpoint. The API refuses breakpoints on thinking, and blocks of unknown types
 * are sent back unchanged.
 */
const MARKABLE: ReadonlySet<string> = new Set([
  'text',
  'image',
  'tool_use',
  'tool_result',
] satisfies AnthropicBlock['type'][]);

/**
 * Wire rule A9: puts a cache breakpoint on the last summary and on the last block of the request. The summary stays the
 * same while messages are appended, so the cache can serve everything before it. Together with the breakpoint on tools
 * and system texts, a request has three of the four allowed.
 */
function markMessages(turns: readonly Turn[], isSummary: (origin: number) => boolean): void {
  for (const turn of turns.toReversed()) {
    const index = turn.origins.findLastIndex(isSummary);
    if (index < 0) continue;
    markBlock(turn, index);
    break;
  }
  const tail = turns.at(-1);
  if (tail !== undefined) markBlock(tail, tail.blocks.findLastIndex(isMarkable));
}

function markLast<T>(list: readonly T[]): T[] {
  return list.map((entry, index) => (index === list.length - 1 ? { ...entry, ...MARK } : entry));
}

function markBlock({ blocks }: Turn, index: number): void {
  const block = blocks[index];
  if (block === undefined || !isMarkable(block)) return;
  blocks[index] = { ...block, ...MARK };
}

function isMarkable(block: AnthropicBlock): boolean {
  return MARKABLE.has(block.type);
}
