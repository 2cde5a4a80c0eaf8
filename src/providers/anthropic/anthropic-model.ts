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
import type { ModelOptions } from '../../domain/model-options.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { readAnthropicAnswer } from '../../wire/anthropic/answer.ts';
import type { AnthropicBody } from '../../wire/anthropic/body.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from '../../wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../wire/anthropic/rules.ts';
import { pieceListeners, type WatchedRequest } from '../answer-stream.ts';
import { checkApiKey, checkOptions, holdsFor } from '../check-options.ts';
import {
  type CheckedBody,
  callOptions,
  gateOf,
  loadSdk,
  renderChecked,
  toModelAnswer,
  toWireRequest,
} from '../provider-call.ts';
import { brokenOff, exceededWindow, replacedAnswer } from '../provider-errors.ts';
import { FormMemory, LearnedHabits } from '../provider-habits.ts';
import { readNextCallAt } from '../rate-limits.ts';
import { receiveEvents } from '../received-events.ts';
import type { AnthropicAccess, AnthropicConnection } from './client.ts';
import {
  type AnthropicUsage,
  MessageReading,
  readAnthropicUsage,
  type StreamedAnthropicMessage,
} from './message-stream.ts';
import { renderOptionsOf, turnThinkingOff, writeParameters } from './parameters.ts';

export interface AnthropicModelOptions extends AnthropicConnection, ModelOptions {
  /** Properties of the model. `id` is the model's name at Anthropic. */
  readonly profile: ModelProfile;
}

/**
 * A model of Anthropic's Messages API. Answers are streamed, because networks close idle connections.
 * @throws invalid_config for an option that the model does not accept, with the field
 */
export function anthropicModel({ profile: given, apiKey, baseUrl, ...asked }: AnthropicModelOptions): Model {
  const { options, profile: limited } = checkOptions(asked, given, 'anthropic');
  const habits = new LearnedHabits(given);
  const renderOptions = (): AnthropicOptions => ({ ...habits.current, ...renderOptionsOf(options, given) });
  const profile: ModelProfile = { ...limited, format: 'anthropic', renderOptions: renderOptions() };
  checkApiKey(apiKey);
  const access = loadSdk(
    () => import('./client.ts'),
    ({ openAnthropic }) => openAnthropic({ apiKey, baseUrl }),
  );
  const caller = { access, profile, options, renderOptions };
  const memory = new FormMemory(habits);
  return {
    profile,
    gate: gateOf(options, profile, apiKey, baseUrl),
    generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => memory.send(request, (sent) => compactAnthropic(caller, sent)),
  };
}

function renderAnthropicRequest(
  { profile, renderOptions }: AnthropicCaller,
  request: ModelRequest,
): Promise<CheckedBody<AnthropicBody>> {
  const asked = renderOptions();
  // The API refuses a forced tool call of a model that thinks. Options of the model cannot ask for both, but a turn can.
  const isForcedByTurn = request.toolChoice === 'required' && holdsFor('required', request);
  const habits = request.thinking === 'off' || isForcedByTurn ? turnThinkingOff(asked) : asked;
  const rendering = renderAnthropicInSlices(toWireRequest(request, profile), habits);
  return renderChecked(rendering, (body) =>
    validateAnthropicInSlices(body, { maxBytes: profile.maxRequestBytes, habits }),
  );
}

async function answerRequest(caller: AnthropicCaller, request: WatchedRequest): Promise<ModelAnswer> {
  const { profile, options } = caller;
  const access = await caller.access();
  const { body, prefix, describe } = await renderAnthropicRequest(caller, request);
  const sent = { ...body, ...writeParameters(options, profile, body, request) };
  const { signal, headers } = callOptions(request, sent);
  const sending = { signal, headers: { ...headers, ...headersOf(options, hasCompactionBlock(body)) } };
  const reading = new MessageReading({
    ...pieceListeners(request),
    onUsage: (usage) => request.onUsage?.(readAnthropicUsage(usage)),
  });
  const { nextCallAt } = await receiveEvents({
    access,
    request,
    describe,
    send: (own) => access.client.messages.create({ ...sent, stream: true }, { ...sending, ...own }).asResponse(),
    take: (event) => reading.add(event),
  });
  const message = reading.finish();
  checkEnd(message);
  const facts = { version: request.version, prefix, nextCallAt };
  return toModelAnswer(readAnthropicAnswer(message), profile, facts, readAnthropicUsage(message.usage));
}

function checkEnd(message: StreamedAnthropicMessage): void {
  if (message.stop_reason === null) throw brokenOff();
  if (message.stop_reason === 'model_context_window_exceeded')
    throw exceededWindow(message.stop_reason, { usage: readAnthropicUsage(message.usage) });
}

type BetaMessage = Anthropic.Beta.BetaMessage;

/** Without this beta header, the API refuses the parameter `compaction` and blocks of that type. */
const COMPACTION_BETA = 'compact-2026-09-04';

const END = '(end of what is to be compacted)';

interface AnthropicCaller {
  readonly access: () => Promise<AnthropicAccess>;
  readonly profile: ModelProfile;
  readonly options: ModelOptions;
  readonly renderOptions: () => AnthropicOptions;
}

function headersOf({ extraHeaders = {} }: ModelOptions, hasCompaction: boolean): Record<string, string> {
  const { [BETA_HEADER]: beta, ...others } = lowerNames(extraHeaders);
  const betas = [beta, hasCompaction ? COMPACTION_BETA : undefined].filter((name) => name !== undefined);
  return { ...others, ...(betas.length === 0 ? {} : { [BETA_HEADER]: betas.join(',') }) };
}

const BETA_HEADER = 'anthropic-beta';

function hasCompactionBlock({ messages }: AnthropicBody): boolean {
  const types: string[] = messages.flatMap(({ content }) => content.map(({ type }) => type));
  return types.includes('compaction');
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Asks the API to compact the request of `generate`. An equal start lets the provider use its prompt cache. */
async function compactAnthropic(caller: AnthropicCaller, request: ModelRequest): Promise<ModelCompaction> {
  const { profile, options } = caller;
  const { client, classify } = await caller.access();
  const answerable = { ...request, messages: endWithUser(request.messages) };
  const { body, describe } = await renderAnthropicRequest(caller, answerable);
  // A compaction calls no tool, so no tool may be forced.
  const { toolChoice: _, ...others } = options;
  const parameters = writeParameters(others, profile, body, request);
  const sent = { ...body, ...parameters, compaction: { type: 'summarize' as const } };
  const { signal, headers } = callOptions(request, sent);
  const stream = client.beta.messages.stream(sent, { signal, headers: { ...headers, ...headersOf(options, true) } });
  const [message, { response }] = await Promise.all([stream.finalMessage(), stream.withResponse()]).catch(
    (error: unknown) => Promise.reject(classify(error, { signal: request.signal, describe })),
  );
  return { ...readCompaction(message, profile.id), nextCallAt: readNextCallAt(response.headers, Date.now()) };
}

/** Newer models refuse an assistant message at the end (wire rule X4). The documentation excepts no compaction. */
function endWithUser(messages: readonly Message[]): readonly Message[] {
  return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: END }] : messages;
}

function readCompaction(message: BetaMessage, model: string): ModelCompaction {
  // A proxy may answer with an error page instead of a message.
  if (!Array.isArray((message as Partial<BetaMessage> | null)?.content)) throw replacedAnswer();
  const { content, stop_reason: reason } = message;
  if (reason === null) throw brokenOff();
  const usage = readAnthropicUsage(sumUsage(message.usage));
  if (reason !== 'compaction')
    throw new ModelError('fatal', 'the provider did not compact the messages', { code: reason, usage });
  const block = content.find(({ type }) => type === 'compaction');
  if (block?.type !== 'compaction' || block.content === null) {
    const options = { code: 'no_compaction', usage };
    throw new ModelError('fatal', 'the provider returned a compaction without a summary', options);
  }
  const raw: RawItems = { format: 'anthropic', model, items: [{ ...block }] };
  return { text: block.content, usage, raw };
}

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
