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
import { renderAnthropicInSlices } from '../../wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../wire/anthropic/rules.ts';
import { streamEvents, textNotifier, type WatchedRequest } from '../answer-stream.ts';
import {
  type CheckedBody,
  callOptions,
  recordAnswer,
  renderChecked,
  sizeContext,
  toWireRequest,
} from '../provider-call.ts';
import { retryWithoutThinking } from '../provider-errors.ts';
import { type AnthropicConnection, classifyAnthropicError, openAnthropicClient } from './client.ts';
import {
  type AnthropicUsage,
  readAnthropicUsage,
  readMessageStream,
  type StreamedAnthropicMessage,
} from './message-stream.ts';

export type { AnthropicThinking };

export interface AnthropicModelOptions extends AnthropicConnection {
  /** `id` is the provider's name of the model. */
  readonly profile: ModelProfile;
  /** Newer models take `adaptive` without a budget. Off if absent. */
  readonly thinking?: AnthropicThinking;
}

/**
 * A model of the Messages API. Answers are streamed, because idle connections are cut during long ones. The turn
 * retries, and the step sets the deadline.
 */
export function anthropicModel({ profile: given, thinking, ...connection }: AnthropicModelOptions): Model {
  const rendering = thinking === undefined ? {} : { renderOptions: { thinking } };
  const profile: ModelProfile = { ...given, format: 'anthropic', ...rendering };
  const caller = { client: openAnthropicClient(connection), profile, thinking };
  return {
    profile,
    generate: (request) => retryWithoutThinking(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => retryWithoutThinking(request, (sent) => compactAnthropic(caller, sent)),
  };
}

function renderAnthropicRequest(
  { profile, thinking }: AnthropicCaller,
  request: ModelRequest,
): Promise<CheckedBody<AnthropicBody>> {
  const rendering = renderAnthropicInSlices(
    toWireRequest(request, profile),
    thinking === undefined ? {} : { thinking },
  );
  return renderChecked(rendering, (body) => validateAnthropicInSlices(body, sizeContext(profile)));
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
    onText: textNotifier(request.onText),
    onUsage: (usage) => request.onUsage?.(readAnthropicUsage(usage)),
  });
  checkEnd(message);
  const facts = { version: request.version, prefix };
  return recordAnswer(readAnthropicAnswer(message), profile, facts, readAnthropicUsage(message.usage));
}

/** @throws ModelError if the stream broke off, or the window ended the answer */
function checkEnd(message: StreamedAnthropicMessage): void {
  if (message.stop_reason === null) throw new ModelError('retry', 'the answer broke off');
  if (message.stop_reason === 'model_context_window_exceeded') {
    const paid = { code: message.stop_reason, usage: readAnthropicUsage(message.usage) };
    throw new ModelError('overflow', 'the window ended the answer', paid);
  }
}

type BetaMessage = Anthropic.Beta.BetaMessage;

/** Beta header. Without it, the API knows neither the parameter `compaction` nor the block. */
const COMPACTION_BETA = 'compact-2026-09-04';

const END = '(end of what is to be compacted)';

interface AnthropicCaller {
  readonly client: Anthropic;
  readonly profile: ModelProfile;
  readonly thinking: AnthropicThinking | undefined;
}

/** Returns the header that a request with a compaction block needs (A10). */
function betaHeader({ messages }: AnthropicBody): Readonly<Record<string, string>> {
  const types: string[] = messages.flatMap(({ content }) => content.map(({ type }) => type));
  return types.includes('compaction') ? { 'anthropic-beta': COMPACTION_BETA } : {};
}

/**
 * Asks the API to compact what `generate` would send. The request has the same prefix, so that the prompt cache serves
 * it.
 * @throws ModelError
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
 * Newer models refuse a request that ends with an assistant message (X4). The documentation names no exception for
 * compactions.
 */
function endWithUser(messages: readonly Message[]): readonly Message[] {
  return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: END }] : messages;
}

/** @throws ModelError if the stream broke off, or brought no summary */
function readCompaction(message: BetaMessage, model: string): ModelCompaction {
  // A proxy's error page arrives as text in place of an answer.
  if (!Array.isArray((message as Partial<BetaMessage> | null)?.content))
    throw new ModelError('retry', 'the response is no answer');
  const { content, stop_reason: reason } = message;
  if (reason === null) throw new ModelError('retry', 'the answer broke off');
  const usage = readAnthropicUsage(sumUsage(message.usage));
  if (reason !== 'compaction') throw new ModelError('fatal', 'the provider compacted nothing', { code: reason, usage });
  const block = content.find(({ type }) => type === 'compaction');
  if (block?.type !== 'compaction' || block.content === null) {
    throw new ModelError('fatal', 'the compaction failed', { code: 'no_compaction', usage });
  }
  const raw: RawItems = { format: 'anthropic', model, items: [{ ...block }] };
  return { text: block.content, usage, raw };
}

/** Adds the usage of the compaction, which the API reports beside the counts of the answer. */
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
