import type { Message } from '../../domain/message.ts';
import type { ToolDescription } from '../../domain/model.ts';
import { runToEnd, type Sliced } from '../../domain/sliced.ts';
import { type ArrangedRequest, arrangeInSlices } from '../arrange.ts';
import type { Marks, Origin, Rendered, WireRequest } from '../wire-request.ts';
import type { AnthropicBody, AnthropicThinking, AnthropicTool } from './body.ts';
import { markLast, markMessages } from './cache-marks.ts';
import { hasLostThinking, type LaidTurns, layTurns } from './turns.ts';

export interface AnthropicOptions {
  /** absent: off */
  readonly thinking?: AnthropicThinking;
  /** marks for the provider's prompt cache (A9); true by default */
  readonly hasCacheMarks?: boolean;
}

/** The API's least; a request whose output cap leaves no room for it goes without thinking. */
const MIN_THINKING_TOKENS = 1_024;

/**
 * A request as the Messages API takes it: A1–A12 of the wire rules, with the marks that undo it.
 * @throws orphan_result, duplicate_call where the messages are no history
 */
export function renderAnthropic(request: WireRequest, options: AnthropicOptions = {}): Rendered<AnthropicBody> {
  return runToEnd(renderAnthropicInSlices(request, options));
}

/** The same, in slices. */
export function* renderAnthropicInSlices(
  request: WireRequest,
  options: AnthropicOptions = {},
): Sliced<Rendered<AnthropicBody>> {
  const arranged = yield* arrangeInSlices(request, 'anthropic');
  const laid = yield* layTurns(arranged.items);
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
  yield;
  return { body, marks: writeMarks(arranged, laid, request.messages) };
}

/** Tools and system texts, with one cache mark at the end of both: the API reads the tools first. */
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

/** A7: off to the end of a tool loop that has lost its thinking, which the API would refuse otherwise. */
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

function writeMarks(
  { marks }: ArrangedRequest,
  { turns, withoutRaw, altered }: LaidTurns,
  messages: readonly Message[],
): Marks {
  const whole = [...altered].map((origin): [Origin, Message] => [origin, messages[origin] as Message]);
  return {
    ...marks,
    replaced: new Map([...marks.replaced, ...whole]),
    raw: marks.raw.difference(withoutRaw),
    origins: turns.map(({ origins }) => origins),
  };
}
