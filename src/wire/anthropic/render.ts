import type { Interruptible } from '../../domain/interruptible.ts';
import type { ToolDescription } from '../../domain/model.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { type ArrangedRequest, arrangeInSlices, placeLaterSystem } from '../arrange.ts';
import type { Rendered, WireRequest } from '../wire-request.ts';
import {
  type AnthropicBlock,
  type AnthropicBody,
  type AnthropicMessage,
  type AnthropicThinking,
  type AnthropicTool,
  type CacheControl,
  MIN_THINKING_TOKENS,
} from './body.ts';
import { type DraftMessage, type DraftRequest, draftMessages, hasLostThinking } from './layout.ts';

export interface AnthropicOptions
  extends Pick<ProviderHabits, 'callIds' | 'isThinkingUnsigned' | 'needsReasoning' | 'takesLaterSystem'> {
  /** Setting of the thinking. Absent: the default of the model applies. */
  readonly thinking?: AnthropicThinking;
  /** Value that turns thinking off. `omit`: thinking is off by default. `never`: it is always on. Default `omit`. */
  readonly off?: 'omit' | 'disabled' | 'between_tools' | 'never';
  /** True: the request has breakpoints for the provider's prompt cache (wire rule A9). Default true. */
  readonly hasCacheMarks?: boolean;
}

export function* renderAnthropicInSlices(
  request: WireRequest,
  options: AnthropicOptions = {},
): Interruptible<Rendered<AnthropicBody>> {
  const arranged = yield* arrangeInSlices(request, 'anthropic', options);
  const draft = yield* draftMessages(placeLaterSystem(arranged.items), options);
  yield;
  const { messages } = draft;
  const thinking = fitThinking(options, draft, request.maxOutputTokens);
  const mark = options.hasCacheMarks === false ? undefined : markFor(request.cacheTtl);
  if (mark !== undefined) markMessages(messages, mark, (origin) => request.messages[origin]?.role === 'summary');
  const body: AnthropicBody = {
    model: request.model,
    max_tokens: request.maxOutputTokens,
    ...writeHead(arranged, mark),
    messages: messages.map(({ role, blocks }) => ({ role, content: blocks }) as AnthropicMessage),
    ...(thinking === undefined ? {} : { thinking }),
  };
  return { format: 'anthropic', body, origins: messages.map(({ origins }) => origins), prefix: arranged.prefix };
}

/** Writes tools and system texts, with a cache breakpoint after the last. The API reads tools before system texts. */
function writeHead(
  { system, tools }: ArrangedRequest,
  mark: CacheMark | undefined,
): Pick<AnthropicBody, 'system' | 'tools'> {
  const texts = system.map(({ text }) => ({ type: 'text' as const, text }));
  const described = tools.map(writeTool);
  return {
    ...(described.length === 0 ? {} : { tools: texts.length === 0 ? markLast(described, mark) : described }),
    ...(texts.length === 0 ? {} : { system: markLast(texts, mark) }),
  };
}

function writeTool({ name, description, parameters }: ToolDescription): AnthropicTool {
  return { name, description, input_schema: { ...parameters, type: 'object' } };
}

/** Wire rule A7: if thinking of the current tool loop is missing, thinking stays off until the loop ends. */
function fitThinking(
  { thinking, off = 'omit' }: AnthropicOptions,
  draft: DraftRequest,
  maxTokens: number,
): AnthropicThinking | undefined {
  const asked = thinking ?? (off === 'omit' ? undefined : { type: 'adaptive' as const });
  if (asked?.type !== 'enabled' && asked?.type !== 'adaptive') return thinking;
  if (hasLostThinking(draft, asked)) return withoutThinking(off);
  if (asked.type !== 'enabled' || asked.budget_tokens < maxTokens) return thinking;
  // The API counts thinking within the limit, so half of a low limit is left for the answer.
  const budget = Math.max(MIN_THINKING_TOKENS, Math.floor(maxTokens / 2));
  return budget >= maxTokens ? withoutThinking(off) : { ...asked, budget_tokens: budget };
}

/** Setting that turns thinking off. Undefined if thinking is off without a setting, or cannot be turned off. */
function withoutThinking(off: AnthropicOptions['off']): AnthropicThinking | undefined {
  return off === 'disabled' ? { type: off } : undefined;
}

interface CacheMark {
  readonly cache_control: CacheControl;
}

function markFor(ttl: WireRequest['cacheTtl']): CacheMark {
  return { cache_control: { type: 'ephemeral', ...(ttl === '1h' && { ttl }) } };
}

/** Types of blocks that may have a cache breakpoint. Thinking may not, and unknown types are sent unchanged. */
const MARKABLE: ReadonlySet<string> = new Set([
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
] satisfies AnthropicBlock['type'][]);

/**
 * Wire rule A9: puts cache breakpoints on three blocks. The breakpoint on tools and system texts is the fourth, and the
 * last allowed.
 * - The last summary stays the same while messages are appended.
 * - The previous user message ended an earlier request. The API looks back only 20 blocks, and an answer may have more.
 * - The last block ends what the next request begins with.
 */
function markMessages(
  messages: readonly DraftMessage[],
  mark: CacheMark,
  isSummary: (origin: number) => boolean,
): void {
  for (const message of messages.toReversed()) {
    const index = message.origins.findLastIndex(isSummary);
    if (index < 0) continue;
    markBlock(message, index, mark);
    break;
  }
  const previous = messages.slice(0, -1).findLast(({ role }) => role === 'user');
  for (const message of [previous, messages.at(-1)])
    if (message !== undefined) markBlock(message, message.blocks.findLastIndex(isMarkable), mark);
}

function markLast<T>(list: readonly T[], mark: CacheMark | undefined): T[] {
  return list.map((entry, index) => (index === list.length - 1 ? { ...entry, ...mark } : entry));
}

function markBlock({ blocks }: DraftMessage, index: number, mark: CacheMark): void {
  const block = blocks[index];
  if (block === undefined || !isMarkable(block)) return;
  blocks[index] = { ...block, ...mark };
}

function isMarkable(block: AnthropicBlock): boolean {
  return MARKABLE.has(block.type);
}
