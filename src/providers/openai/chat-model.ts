import type OpenAI from 'openai';
import type { Dispatcher } from 'undici';
import type { Model, ModelAnswer, ModelProfile, ModelUsage } from '../../domain/model.ts';
import type { ModelOptions } from '../../domain/model-options.ts';
import { readChatAnswer } from '../../wire/openai-chat/answer.ts';
import { keepsReasoning } from '../../wire/openai-chat/reasoning.ts';
import { type ChatOptions, renderChatInSlices, type ServerOptions } from '../../wire/openai-chat/render.ts';
import { validateChatInSlices } from '../../wire/openai-chat/rules.ts';
import { pieceListeners, type WatchedRequest } from '../answer-stream.ts';
import { checkOptions } from '../check-options.ts';
import {
  callOptions,
  gateOf,
  openAgent,
  recordAnswer,
  renderChecked,
  sizeContext,
  toWireRequest,
} from '../provider-call.ts';
import { classifyFailure } from '../provider-errors.ts';
import { LearnedHabits } from '../provider-habits.ts';
import { receiveEvents } from '../received-events.ts';
import { FormMemory } from '../refused-form.ts';
import { readChatEnd } from './chat-end.ts';
import { ChatReading, type StreamedChatMessage } from './chat-stream.ts';
import { classifyOpenAiError, decodeOpenAiEvent, type OpenAiOptions, openOpenAiClient, readFailure } from './client.ts';
import { findToolRefusal, writeChatParameters } from './parameters.ts';
import { knowsHints, writeHints } from './request-hints.ts';

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
  const dispatcher = openAgent();
  const client = openOpenAiClient({ apiKey, ...(baseUrl !== undefined && { baseUrl }) }, dispatcher);
  const caller = { client, dispatcher, profile, options, hasRequestHints, renderOptions };
  const memory = new FormMemory(habits);
  const gate = gateOf(options, profile, apiKey, baseUrl);
  return { profile, gate, generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)) };
}

interface ChatCaller {
  readonly client: OpenAI;
  readonly dispatcher: Dispatcher;
  readonly profile: ModelProfile;
  readonly options: ModelOptions;
  readonly hasRequestHints: boolean;
  readonly renderOptions: () => ChatOptions;
}

async function answerRequest(
  { client, dispatcher, profile, options, hasRequestHints, renderOptions }: ChatCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const habits = renderOptions();
  const context = { ...sizeContext(profile), hasStrictTemplate: habits.isStrict === true, habits };
  const rendering = renderChatInSlices(toWireRequest(request, profile), habits);
  const { body, describe } = await renderChecked(rendering, (rendered) => validateChatInSlices(rendered, context));
  const { signal, version } = request;
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
    dispatcher,
    request,
    send: (sending) =>
      client.chat.completions
        .create(streamed, { ...callOptions(request, streamed, extraHeaders), ...sending })
        .asResponse(),
    decode: decodeOpenAiEvent,
    classify: (failed) => classifyOpenAiError(failed, { signal, describe }),
    take: (chunk) => {
      reading.add(chunk);
      return false;
    },
  });
  const { message, finishReason, hasAnswer, error, ...read } = reading.finish();
  if (error !== undefined) throw classifyFailure(readFailure(error), Date.now(), describe);
  const usage = read.usage && readChatUsage(read.usage, isThoughtKept(message, habits));
  const isEmpty = message.tool_calls === undefined && (message.content ?? '').trim() === '';
  const { windowTokens } = profile;
  const reason = readChatEnd({ finishReason, isEmpty, windowTokens, isMarked: isMarked && hasAnswer, usage });
  const answer = readChatAnswer({ finish_reason: reason, message });
  return recordAnswer(answer, profile, { version, nextCallAt }, usage);
}

/** Wire rule C7: returns true if the reasoning of an answer is sent back, at least inside its tool loop. */
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
