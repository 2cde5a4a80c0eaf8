import type OpenAI from 'openai';
import { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelUsage } from '../../domain/model.ts';
import { describeForm } from '../../wire/form.ts';
import { readChatAnswer } from '../../wire/openai-chat/answer.ts';
import { type ChatOptions, renderChat } from '../../wire/openai-chat/render.ts';
import { validateChat } from '../../wire/openai-chat/rules.ts';
import { classifyFailure } from '../provider-errors.ts';
import { checkBody, sizeContext, toWireRequest } from '../request.ts';
import { describeError, type OpenAiOptions, openClient } from './client.ts';

export interface ChatModelOptions extends OpenAiOptions {
  /** what a compatible server wants otherwise */
  readonly chat?: ChatOptions;
}

/** A model of Chat Completions: OpenAI's own, and every server that speaks the same. */
export function chatModel({ profile: given, chat = {}, ...connection }: ChatModelOptions): Model {
  const profile: ModelProfile = { ...given, format: 'openai-chat' };
  const client = openClient(connection);
  return {
    profile,
    async generate(request) {
      const { body } = renderChat(toWireRequest(request, profile), chat);
      const describe = (refusal: string): string => describeForm(body, refusal);
      const context = { ...sizeContext(profile), hasStrictTemplate: chat.isStrict === true };
      checkBody(validateChat(body, context), describe);
      const { signal, version } = request;
      const streamed = { ...body, stream: true as const, stream_options: { include_usage: true } };
      try {
        const answer = await readStream(await client.chat.completions.create(streamed, { signal }));
        const raw = { format: 'openai-chat', model: profile.id, ...(version === undefined ? {} : { version }) };
        return finishAnswer(answer, raw);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof ModelError ? error : classifyFailure(describeError(error), Date.now(), describe);
      }
    },
  };
}

type Message = Parameters<typeof readChatAnswer>[0]['message'];

interface StreamedAnswer {
  message: { role: 'assistant'; content: string | null; [key: string]: unknown };
  readonly calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  finishReason: string | null;
  usage: OpenAI.CompletionUsage | undefined;
}

/** Deltas put together here: the client's own helper keeps only the last piece of an open model's `reasoning_content`. */
async function readStream(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<StreamedAnswer> {
  const answer: StreamedAnswer = {
    message: { role: 'assistant', content: null },
    calls: [],
    finishReason: null,
    usage: undefined,
  };
  for await (const chunk of chunks) {
    answer.usage = chunk.usage ?? answer.usage;
    const [choice] = chunk.choices;
    if (choice === undefined) continue;
    answer.finishReason = choice.finish_reason ?? answer.finishReason;
    const { tool_calls, role: _, ...texts } = choice.delta ?? {};
    for (const [field, text] of Object.entries(texts)) {
      const before = answer.message[field];
      if (typeof text === 'string') answer.message[field] = (typeof before === 'string' ? before : '') + text;
    }
    for (const { index, id, function: called } of tool_calls ?? []) {
      const call = (answer.calls[index ?? nextIndex(answer.calls, id)] ??= startCall());
      // What goes on with a call may have an id that is empty.
      call.id = id || call.id;
      call.function.name += called?.name ?? '';
      call.function.arguments += called?.arguments ?? '';
    }
  }
  return answer;
}

function startCall(): StreamedAnswer['calls'][number] {
  return { id: '', type: 'function', function: { name: '', arguments: '' } };
}

/** Some compatible servers number no calls: an id begins one, and what has none goes on with the last. */
function nextIndex({ length }: StreamedAnswer['calls'], id: string | undefined): number {
  return id === undefined || id === '' ? Math.max(0, length - 1) : length;
}

/** @throws ModelError where the stream broke off, or brought something that is no answer */
function finishAnswer(
  { message, calls, finishReason, usage }: StreamedAnswer,
  raw: Record<string, unknown>,
): ModelAnswer {
  if (finishReason === null) throw new ModelError('retry', 'the answer broke off');
  // A server that counts from one leaves a hole.
  const whole: Message = { ...message, ...(calls.length === 0 ? {} : { tool_calls: calls.flat() }) };
  const { items, end, ...said } = readChatAnswer({ finish_reason: finishReason, message: whole });
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    ...(usage === undefined ? {} : { usage: readUsage(usage, isThoughtKept(whole)) }),
    raw: { ...raw, items },
  };
}

/** C7: the thinking of an open model goes back inside of its tool loop; any other stays with the provider. */
function isThoughtKept({ tool_calls, ...message }: Message): boolean {
  return tool_calls !== undefined && 'reasoning_content' in message;
}

function readUsage(usage: OpenAI.CompletionUsage, isThoughtSentAgain: boolean): ModelUsage {
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
