import type Anthropic from '@anthropic-ai/sdk';
import type { Message } from '../../domain/message.ts';
import {
  type Model,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelProfile,
  type ModelRequest,
} from '../../domain/model.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { readAnthropicAnswer } from '../../wire/anthropic/answer.ts';
import type { AnthropicBody, AnthropicThinking } from '../../wire/anthropic/body.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from '../../wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../wire/anthropic/rules.ts';
import { pieceListeners, streamEvents, type WatchedRequest } from '../answer-stream.ts';
import {
  type CheckedBody,
  callOptions,
  recordAnswer,
  renderChecked,
  sizeContext,
  toWireRequest,
} from '../provider-call.ts';
import { LearnedHabits } from '../provider-habits.ts';
import { FormMemory } from '../refused-form.ts';
import { type AnthropicConnection, classifyAnthropicError, openAnthropicClient } from './client.ts';
import {
  type AnthropicUsage,
  readAnthropicUsage,
  readMessageStream,
  type StreamedAnthropicMessage,
} from './message-stream.ts';

export type { AnthropicThinking };

export interface AnthropicModelOptions extends AnthropicConnection {
  /** Properties of the model. `id` is the model's name at Anthropic. */
  readonly profile: ModelProfile;
  /** Thinking settings. Newer models accept `adaptive` without a budget. If absent, the model does not think. */
  readonly thinking?: AnthropicThinking;
}

/**
 * A model of Anthropic's Messages API. Answers are streamed, because networks cut connections that are idle during a
 * long answer. Retries and the deadline are the caller's task.
 */
export function anthropicModel({ profile: given, thinking, ...connection }: AnthropicModelOptions): Model {
  const habits = new LearnedHabits(given);
  const renderOptions = (): AnthropicOptions => ({
    ...habits.current,
    ...(thinking === undefined ? {} : { thinking }),
  });
  const profile: ModelProfile = { ...given, format: 'anthropic', renderOptions: renderOptions() };
  const caller = { client: openAnthropicClient(connection), profile, renderOptions };
  const memory = new FormMemory(habits);
  return {
    profile,
    generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => memory.send(request, (sent) => compactAnthropic(caller, sent)),
  };
}

function renderAnthropicRequest(
  { profile, renderOptions }: AnthropicCaller,
  request: ModelRequest,
): Promise<CheckedBody<AnthropicBody>> {
  const habits = renderOptions();
  const rendering = renderAnthropicInSlices(toWireRequest(request, profile), habits);
  return renderChecked(rendering, (body) => validateAnthropicInSlices(body, { ...sizeContext(profile), habits }));
}

async function answerRequest(caller: AnthropicCaller, request: WatchedRequest): Promise<ModelAnswer> {
  const { client, profile } = caller;
  const { body, prefix, describe } = await renderAnthropicRequest(caller, request);
  const { signal, headers } = callOptions(request, body);
  const options = { signal, headers: { ...headers, ...betaHeader(body) } };
  const events = streamEvents(
    () => client.messages.create({ ...body, stream: true }, options),
    request,
    (error) => classifyAnthropicError(error, { signal, describe }),
  );
  const message = await readMessageStream(events, {
    ...pieceListeners(request),
    onUsage: (usage) => request.onUsage?.(readAnthropicUsage(usage)),
  });
  checkEnd(message);
  const facts = { version: request.version, prefix };
  return recordAnswer(readAnthropicAnswer(message), profile, facts, readAnthropicUsage(message.usage));
}

/** @throws ModelError if the stream ended too early, or the answer reached the end of the context window */
function checkEnd(message: StreamedAnthropicMessage): void {
  if (message.stop_reason === null) throw new ModelError('retry', 'the stream ended before the answer was complete');
  if (message.stop_reason === 'model_context_window_exceeded') {
    const paid = { code: message.stop_reason, usage: readAnthropicUsage(message.usage) };
    throw new ModelError('overflow', 'the answer was cut off at the end of the context window', paid);
  }
}

type BetaMessage = Anthropic.Beta.BetaMessage;

/**
 * Value of the header `anthropic-beta`. Without this header, the API rejects the parameter `compaction` and blocks of
 * that type.
 */
const COMPACTION_BETA = 'compact-2026-09-04';

const END = '(end of what is to be compacted)';

interface AnthropicCaller {
  readonly client: Anthropic;
  readonly profile: ModelProfile;
  readonly renderOptions: () => AnthropicOptions;
}

/** Returns the beta header that the API requires for a request with a compaction block (wire rule A10). */
function betaHeader({ messages }: AnthropicBody): Readonly<Record<string, string>> {
  const types: string[] = messages.flatMap(({ content }) => content.map(({ type }) => type));
  return types.includes('compaction') ? { 'anthropic-beta': COMPACTION_BETA } : {};
}

/**
 * Asks the API to compact the request that `generate` would send. Both requests start with the same text, so the
 * provider's prompt cache is used.
 * @throws ModelError if the call fails
 */
async function compactAnthropic(caller: AnthropicCaller, request: ModelRequest): Promise<ModelCompaction> {
  const { client, profile } = caller;
  const answerable = { ...request, messages: endWithUser(request.messages) };
  const { body, describe } = await renderAnthropicRequest(caller, answerable);
  const sent = { ...body, compaction: { type: 'summarize' as const } };
  const message = await client.beta.messages
    .stream({ ...sent, betas: [COMPACTION_BETA] }, callOptions(request, sent))
    .finalMessage()
    .catch((error: unknown) => Promise.reject(classifyAnthropicError(error, { signal: request.signal, describe })));
  return readCompaction(message, profile.id);
}

/**
 * Appends a user message if the last message is from the assistant. Newer models refuse a request that ends with an
 * assistant message (wire rule X4), and the documentation has no exception for compactions.
 */
function endWithUser(messages: readonly Message[]): readonly Message[] {
  return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: END }] : messages;
}

/** @throws ModelError if the stream ended too early, or contained no summary */
function readCompaction(message: BetaMessage, model: string): ModelCompaction {
  // A proxy may answer with an error page in place of a message.
  if (!Array.isArray((message as Partial<BetaMessage> | null)?.content))
    throw new ModelError('retry', 'the response is not a model answer: a proxy may have replaced it');
  const { content, stop_reason: reason } = message;
  if (reason === null) throw new ModelError('retry', 'the stream ended before the answer was complete');
  const usage = readAnthropicUsage(sumUsage(message.usage));
  if (reason !== 'compaction')
    throw new ModelError('fatal', 'the provider did not compact the messages', { code: reason, usage });
  const block = content.find(({ type }) => type === 'compaction');
  if (block?.type !== 'compaction' || block.content === null) {
    throw new ModelError('fatal', 'the provider returned a compaction without a summary', {
      code: 'no_compaction',
      usage,
    });
  }
  const raw: RawItems = { format: 'anthropic', model, items: [{ ...block }] };
  return { text: block.content, usage, raw };
}

/** Adds the tokens used by the compaction, which the API reports separately from those of the answer. */
function sumUsage({ iterations, ...answer }: BetaMessage['usage']): AnthropicUsage {
  const passes = [answer, ...(iterations ?? []).filter(({ type }) => type === 'compaction')];
  const sum = (of: (usage: AnthropicUsage) => number | null | undefined): number =>
    passes.reduce((total, usage) => total + (of(usage) ?? 0), 0);
  return {
    input_tokens: sum((usage) => usage.input_tokens),
    cache_read_input_tokens: sum((usage) => usage.cache_read_input_tokens),
    cache_creation_input_tokens: sum((usage) => usage.cache_creation_input_tokens),
    output_tokens: sum((usage) => usage.output_tokens),
  };
}
