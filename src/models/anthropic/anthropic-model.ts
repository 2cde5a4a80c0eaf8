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
import { codeFailures, tellEvents, tellTo, type WatchedRequest } from '../answer-stream.ts';
import { type CheckedBody, callOptions, renderChecked, sizeContext, toWireRequest } from '../provider-call.ts';
import { mendThinking } from '../provider-errors.ts';
import { type AnthropicConnection, codeAnthropicFailure, openAnthropicClient } from './client.ts';
import {
  type AnthropicUsage,
  readAnthropicUsage,
  readMessageStream,
  type StreamedAnthropicMessage,
} from './message-stream.ts';

export type { AnthropicThinking };

export interface AnthropicModelOptions extends AnthropicConnection {
  /** `id` is the provider's name of the model */
  readonly profile: ModelProfile;
  /** which form a model takes is its own: newer ones want `adaptive` and no budget. Absent: off */
  readonly thinking?: AnthropicThinking;
}

/**
 * A model of the Messages API. Answers are streamed, since a long one outlives idle connections; retries are the turn's, and
 * the deadline is the step's.
 */
export function anthropicModel({ profile: given, thinking, ...connection }: AnthropicModelOptions): Model {
  const rendering = thinking === undefined ? {} : { renderOptions: { thinking } };
  const profile: ModelProfile = { ...given, format: 'anthropic', ...rendering };
  const caller = { client: openAnthropicClient(connection), profile, thinking };
  return {
    profile,
    generate: (request) => mendThinking(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => mendThinking(request, (sent) => compactAnthropic(caller, sent)),
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
  const { body, marks, describe } = await renderAnthropicRequest(caller, request);
  const { signal, headers } = callOptions(request, body);
  const code = (error: unknown): ModelError => codeAnthropicFailure(error, { signal, describe });
  const events = await client.messages
    .create({ ...body, stream: true }, { signal, headers: { ...headers, ...betaHeader(body) } })
    .catch((error: unknown) => Promise.reject(code(error)));
  const told = codeFailures(tellEvents(events, request.onEvent), signal, code);
  const message = await readMessageStream(told, {
    tell: tellTo(request.onText),
    tellUsage: (usage) => request.onUsage?.(readAnthropicUsage(usage)),
  });
  const version = request.version === undefined ? {} : { version: request.version };
  return readMessage(message, { format: 'anthropic', model: profile.id, prefix: marks.prefix, ...version });
}

/** @throws ModelError where the stream broke off, or the window ended the answer */
function readMessage(message: StreamedAnthropicMessage, raw: Record<string, unknown>): ModelAnswer {
  if (message.stop_reason === null) throw new ModelError('retry', 'the answer broke off');
  if (message.stop_reason === 'model_context_window_exceeded') {
    const paid = { code: message.stop_reason, usage: readAnthropicUsage(message.usage) };
    throw new ModelError('overflow', 'the answer met the end of the window', paid);
  }
  const { items, end, ...said } = readAnthropicAnswer(message);
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    usage: readAnthropicUsage(message.usage),
    raw: { ...raw, items },
  };
}

type BetaMessage = Anthropic.Beta.BetaMessage;

/** Without it the API knows neither the parameter nor the block. */
const COMPACTION_BETA = 'compact-2026-09-04';

const END = '(end of what is to be compacted)';

export interface AnthropicCaller {
  readonly client: Anthropic;
  readonly profile: ModelProfile;
  readonly thinking: AnthropicThinking | undefined;
}

/** The header that a request needs which sends a compaction back (A10). */
function betaHeader({ messages }: AnthropicBody): Readonly<Record<string, string>> {
  const types: string[] = messages.flatMap(({ content }) => content.map(({ type }) => type));
  return types.includes('compaction') ? { 'anthropic-beta': COMPACTION_BETA } : {};
}

/**
 * The API's own compaction of what `generate` would send, in the same words, so that the prompt cache serves it. Streamed as
 * every answer is.
 * @throws ModelError
 */
async function compactAnthropic(caller: AnthropicCaller, request: ModelRequest): Promise<ModelCompaction> {
  const { client, profile } = caller;
  const asked = { ...request, messages: endWithUser(request.messages) };
  const { body, describe } = await renderAnthropicRequest(caller, asked);
  const sent = { ...body, compaction: { type: 'summarize' as const } };
  const message = await client.beta.messages
    .stream({ ...sent, betas: [COMPACTION_BETA] }, callOptions(request, sent))
    .finalMessage()
    .catch((error: unknown) => Promise.reject(codeAnthropicFailure(error, { signal: request.signal, describe })));
  return readCompaction(message, profile.id);
}

/** Newer models take no request that ends with the assistant's words (X4). Nothing says that this one is exempt. */
function endWithUser(messages: readonly Message[]): readonly Message[] {
  return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: END }] : messages;
}

/** @throws ModelError where the stream broke off, or brought no summary */
function readCompaction(message: BetaMessage, model: string): ModelCompaction {
  // A page of something in between comes back as text where an answer should be.
  if (!Array.isArray((message as Partial<BetaMessage> | null)?.content)) throw new ModelError('retry', 'no answer');
  const { content, stop_reason: reason } = message;
  if (reason === null) throw new ModelError('retry', 'the answer broke off');
  const usage = readAnthropicUsage(sumUsage(message.usage));
  if (reason !== 'compaction') throw new ModelError('fatal', 'nothing was compacted', { code: reason, usage });
  const block = content.find(({ type }) => type === 'compaction');
  if (block?.type !== 'compaction' || block.content === null) {
    throw new ModelError('fatal', 'the compaction failed', { code: 'no_compaction', usage });
  }
  const raw: RawItems = { format: 'anthropic', model, items: [{ ...block }] };
  return { text: block.content, usage, raw };
}

/** What a compaction read and wrote stands beside the answer's own counts, not in them. */
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
