import type OpenAI from 'openai';
import { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelUsage } from '../../domain/model.ts';
import type { ModelOptions } from '../../domain/model-options.ts';
import { readChatAnswer } from '../../wire/openai-chat/answer.ts';
import { keepsReasoning } from '../../wire/openai-chat/reasoning.ts';
import { type ChatOptions, renderChatInSlices, type ServerOptions } from '../../wire/openai-chat/render.ts';
import { validateChatInSlices } from '../../wire/openai-chat/rules.ts';
import { pieceListeners, type WatchedRequest } from '../answer-stream.ts';
import { checkApiKey, checkOptions } from '../check-options.ts';
import { callOptions, gateOf, loadSdk, renderChecked, toModelAnswer, toWireRequest } from '../provider-call.ts';
import { brokenOff, classifyFailure, exceededWindow, readErrorFields } from '../provider-errors.ts';
import { FormMemory, LearnedHabits } from '../provider-habits.ts';
import { receiveEvents } from '../received-events.ts';
import { ChatReading, type StreamedChatMessage } from './chat-stream.ts';
import type { OpenAiAccess, OpenAiOptions } from './client.ts';
import { findToolRefusal, knowsHints, writeChatParameters, writeHints } from './parameters.ts';

export type { ServerOptions };

export interface ChatModelOptions extends OpenAiOptions, ModelOptions {
  /** Rendering options for an OpenAI-compatible server. */
  readonly chat?: ServerOptions;
}

/**
 * A model of the Chat Completions API, from OpenAI or an OpenAI-compatible server.
 * @throws invalid_config for an option that the model does not accept, with the field
 */
export function chatModel(model: ChatModelOptions): Model {
  const { profile: given, apiKey, baseUrl, hasRequestHints = knowsHints(baseUrl), chat: server = {}, ...asked } = model;
  const { options, profile: limited } = checkOptions(asked, given, 'openai-chat');
  const { outputCapField } = options;
  const chat: ChatOptions = { ...server, ...(outputCapField !== undefined && { outputCapField }) };
  const habits = new LearnedHabits({ id: given.id, habits: { ...given.habits, ...server } });
  const renderOptions = (): ChatOptions => ({ ...chat, ...habits.current });
  const toolRefusal = findToolRefusal(given, options);
  const profile: ModelProfile = {
    ...limited,
    format: 'openai-chat',
    renderOptions: renderOptions(),
    ...(toolRefusal !== undefined && { toolRefusal }),
  };
  checkApiKey(apiKey);
  const access = loadSdk(
    () => import('./client.ts'),
    ({ openOpenAi }) => openOpenAi({ apiKey, baseUrl }),
  );
  const caller = { access, profile, options, hasRequestHints, renderOptions };
  const memory = new FormMemory(habits);
  const gate = gateOf(options, profile, apiKey, baseUrl);
  return { profile, gate, generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)) };
}

interface ChatCaller {
  readonly access: () => Promise<OpenAiAccess>;
  readonly profile: ModelProfile;
  readonly options: ModelOptions;
  readonly hasRequestHints: boolean;
  readonly renderOptions: () => ChatOptions;
}

async function answerRequest(
  { access, profile, options, hasRequestHints, renderOptions }: ChatCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const sdk = await access();
  const habits = renderOptions();
  const context = { maxBytes: profile.maxRequestBytes, hasStrictTemplate: habits.isStrict === true, habits };
  const rendering = renderChatInSlices(toWireRequest(request, profile), habits);
  const { body, describe } = await renderChecked(rendering, (rendered) => validateChatInSlices(rendered, context));
  const { version } = request;
  const { streamOptions = true, extraHeaders } = options;
  const streamed = {
    ...body,
    ...writeHints(request, hasRequestHints),
    stream: true as const,
    ...(streamOptions && { stream_options: { include_usage: true } }),
    ...writeChatParameters(options, profile, request),
  };
  const reading = new ChatReading(pieceListeners(request));
  const { isMarked, nextCallAt } = await receiveEvents<unknown>({
    access: sdk,
    request,
    describe,
    send: (sending) =>
      sdk.client.chat.completions
        .create(streamed, { ...callOptions(request, streamed, extraHeaders), ...sending })
        .asResponse(),
    take: (chunk) => {
      reading.add(chunk);
      return false;
    },
  });
  const { message, finishReason, hasAnswer, error, ...read } = reading.finish();
  if (error !== undefined) throw classifyFailure(readErrorFields(error), Date.now(), describe);
  const usage = read.usage && readChatUsage(read.usage, isThoughtKept(message, habits));
  const isEmpty = message.tool_calls === undefined && (message.content ?? '').trim() === '';
  const { windowTokens } = profile;
  const reason = readChatEnd({ finishReason, isEmpty, windowTokens, isMarked: isMarked && hasAnswer, usage });
  const answer = readChatAnswer({ finish_reason: reason, message });
  return toModelAnswer(answer, profile, { version, nextCallAt }, usage);
}

/** True if the reasoning of an answer is sent back, at least inside its tool loop (wire rule C7). */
function isThoughtKept({ tool_calls, ...message }: StreamedChatMessage, { reasoning = 'loop' }: ChatOptions): boolean {
  const hasCalls = tool_calls !== undefined;
  const hasThought = 'reasoning_content' in message || 'reasoning' in message || 'reasoning_details' in message;
  return hasThought && keepsReasoning(reasoning, { hasCalls, isInLoop: hasCalls });
}

function readChatUsage(usage: OpenAI.CompletionUsage, isThoughtSentAgain: boolean): ModelUsage {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  const thought = isThoughtSentAgain ? 0 : (completion_tokens_details?.reasoning_tokens ?? 0);
  return {
    inputTotal: prompt_tokens,
    cachedInput: prompt_tokens_details?.cached_tokens ?? 0,
    cacheWrite: prompt_tokens_details?.cache_write_tokens ?? 0,
    output: completion_tokens,
    outputKept: Math.max(0, completion_tokens - thought),
  };
}

const WINDOW_END = /^(?:model_)?context_(?:window|length)_exceeded$/i;
/** Finish reasons of OpenRouter, z.ai, DeepSeek, SGLang and vLLM, and Gemini that mean a failed answer. */
const FAILED_END = /^(?:error|network_error|insufficient_system_resource|abort)$|malformed_(?:function|tool)_call/i;

/** Share of the window that a request must fill, so that an answer without text counts as cut off by the window. */
const FULL = 0.98;

interface ChatEnd {
  readonly finishReason: string | null;
  readonly isEmpty: boolean;
  readonly windowTokens: number;
  /** True if the server marked the end of its stream with `data: [DONE]`. */
  readonly isMarked: boolean;
  readonly usage: ModelUsage | undefined;
}

/**
 * A server that gives no reason, but marks the end of its stream, has sent the whole answer.
 * @throws ModelError if the stream ended too early, or the reason is an error
 */
function readChatEnd({ finishReason, isEmpty, windowTokens, isMarked, usage }: ChatEnd): string {
  const paid = usage === undefined ? {} : { usage };
  if (finishReason === null) {
    if (isMarked) return 'stop';
    throw brokenOff(paid);
  }
  if (WINDOW_END.test(finishReason)) throw exceededWindow(finishReason, paid);
  if (FAILED_END.test(finishReason))
    throw new ModelError('retry', 'the provider stopped the answer with an error', { code: finishReason, ...paid });
  const usedTokens = (usage?.inputTotal ?? 0) + (usage?.output ?? 0);
  if (finishReason === 'length' && isEmpty && usedTokens >= FULL * windowTokens)
    throw new ModelError('overflow', 'the request fills the context window', { code: finishReason, ...paid });
  return finishReason;
}
