import type OpenAI from 'openai';
import { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelUsage } from '../../domain/model.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { describeForm } from '../../wire/form.ts';
import { readChatAnswer } from '../../wire/openai-chat/answer.ts';
import { type ChatOptions, renderChatInSlices } from '../../wire/openai-chat/render.ts';
import { validateChatInSlices } from '../../wire/openai-chat/rules.ts';
import { codeFailures, tellEvents, tellTo } from '../answer-stream.ts';
import type { WatchedRequest } from '../first-event.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { readChatStream, type StreamedAnswer, type StreamedChatMessage } from './chat-stream.ts';
import { codeOpenAiFailure, type OpenAiOptions, openOpenAiClient } from './client.ts';

export type { ChatOptions };

export interface ChatModelOptions extends OpenAiOptions {
  /** what a compatible server wants otherwise */
  readonly chat?: ChatOptions;
}

/** A model of Chat Completions: OpenAI's own, and every server that speaks the same. */
export function chatModel({ profile: given, chat = {}, ...connection }: ChatModelOptions): Model {
  const profile: ModelProfile = { ...given, format: 'openai-chat', renderOptions: chat };
  const client = openOpenAiClient(connection);
  return {
    profile,
    async generate(request: WatchedRequest) {
      const { body } = await eventLoopShare.run(renderChatInSlices(toWireRequest(request, profile), chat));
      const describe = (refusal: string): string => describeForm(body, refusal);
      const context = { ...sizeContext(profile), hasStrictTemplate: chat.isStrict === true };
      checkBody(await eventLoopShare.run(validateChatInSlices(body, context)), describe);
      const { signal, version } = request;
      const streamed = { ...body, stream: true as const, stream_options: { include_usage: true } };
      const code = (error: unknown): ModelError => codeOpenAiFailure(error, { signal, describe });
      const chunks = await client.chat.completions
        .create(streamed, callOptions(request, body))
        .catch((error: unknown) => Promise.reject(code(error)));
      const events = codeFailures(tellEvents(chunks, request.onEvent), signal, code);
      const answer = await readChatStream(events, tellTo(request.onText));
      const raw = { format: 'openai-chat', model: profile.id, ...(version === undefined ? {} : { version }) };
      return finishAnswer(answer, raw);
    },
  };
}

/** @throws ModelError where the stream broke off, or brought something that is no answer */
function finishAnswer({ message, finishReason, usage }: StreamedAnswer, raw: Record<string, unknown>): ModelAnswer {
  if (finishReason === null) throw new ModelError('retry', 'the answer broke off');
  const { items, end, ...said } = readChatAnswer({ finish_reason: finishReason, message });
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    ...(usage === undefined ? {} : { usage: readChatUsage(usage, isThoughtKept(message)) }),
    raw: { ...raw, items },
  };
}

/** C7: the thinking of an open model goes back inside of its tool loop; any other stays with the provider. */
function isThoughtKept({ tool_calls, ...message }: StreamedChatMessage): boolean {
  return tool_calls !== undefined && ('reasoning_content' in message || 'reasoning' in message);
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
