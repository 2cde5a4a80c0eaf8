import type OpenAI from 'openai';
import { type Model, ModelError, type ModelProfile, type ModelUsage, type ToolCallPiece } from '../../domain/model.ts';
import type { ModelOptions } from '../../domain/model-options.ts';
import { readChatAnswer } from '../../wire/openai-chat/answer.ts';
import { type ChatOptions, renderChatInSlices, type ServerOptions } from '../../wire/openai-chat/render.ts';
import { validateChatInSlices } from '../../wire/openai-chat/rules.ts';
import { type PieceListeners, pieceListeners, streamEvents, type WatchedRequest } from '../answer-stream.ts';
import { checkOptions } from '../check-options.ts';
import { callOptions, recordAnswer, renderChecked, sizeContext, toWireRequest } from '../provider-call.ts';
import { classifyOpenAiError, type OpenAiOptions, openOpenAiClient } from './client.ts';
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
  const { outputCapField, streamOptions = true, extraHeaders } = options;
  const chat: ChatOptions = { ...server, ...(outputCapField !== undefined && { outputCapField }) };
  const toolRefusal = findToolRefusal(given, options);
  const profile: ModelProfile = {
    ...limited,
    format: 'openai-chat',
    renderOptions: chat,
    ...(toolRefusal !== undefined && { toolRefusal }),
  };
  const client = openOpenAiClient({ apiKey, ...(baseUrl !== undefined && { baseUrl }) });
  return {
    profile,
    async generate(request: WatchedRequest) {
      const context = { ...sizeContext(profile), hasStrictTemplate: chat.isStrict === true };
      const { body, describe } = await renderChecked(
        renderChatInSlices(toWireRequest(request, profile), chat),
        (rendered) => validateChatInSlices(rendered, context),
      );
      const { signal, version } = request;
      const sent = {
        ...body,
        ...writeHints(request, hasRequestHints),
        stream: true as const,
        ...(streamOptions && { stream_options: { include_usage: true } }),
        ...writeChatParameters(options, profile, request),
      };
      const chunks = streamEvents(
        () => client.chat.completions.create(sent, callOptions(request, sent, extraHeaders)),
        request,
        (error) => classifyOpenAiError(error, { signal, describe }),
      );
      const { message, finishReason, usage } = await readChatStream(chunks, pieceListeners(request));
      if (finishReason === null) throw new ModelError('retry', 'the stream ended before the answer was complete');
      const answer = readChatAnswer({ finish_reason: finishReason, message });
      return recordAnswer(answer, profile, { version }, usage && readChatUsage(usage, isThoughtKept(message)));
    },
  };
}

/**
 * Wire rule C7: returns true if the message has reasoning that is sent back inside its tool loop. Only open-weight
 * models get their reasoning back.
 */
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

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta;
type CallDelta = NonNullable<Delta['tool_calls']>[number];

interface StreamedCall {
  id: string;
  readonly type: 'function';
  readonly function: { name: string; arguments: string };
  /** Other fields of the server, such as a signature that must be sent back. */
  readonly [field: string]: unknown;
}

interface StreamedChatMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly tool_calls?: readonly StreamedCall[];
  readonly [field: string]: unknown;
}

interface StreamedAnswer {
  readonly message: StreamedChatMessage;
  /** Why the model stopped. Null if the stream ended too early. */
  readonly finishReason: string | null;
  readonly usage: OpenAI.CompletionUsage | undefined;
}

/**
 * Builds an answer from the chunks of a stream. The SDK's own helper is not used. It keeps only the last piece of
 * `reasoning_content`, and it relies on call indexes that some OpenAI-compatible servers set wrongly.
 * @param listeners called with each piece of the answer
 */
async function readChatStream(
  chunks: AsyncIterable<OpenAI.ChatCompletionChunk>,
  { onText, onReasoning, onToolCall }: PieceListeners,
): Promise<StreamedAnswer> {
  const fields: Record<string, unknown> = {};
  const calls: OpenCall[] = [];
  let finishReason: string | null = null;
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const chunk of chunks) {
    usage = chunk?.usage ?? usage;
    const choice = chunk?.choices?.[0];
    if (choice === undefined) continue;
    finishReason = choice.finish_reason ?? finishReason;
    const { tool_calls, role: _, ...delta } = choice.delta ?? {};
    addFields(fields, delta);
    // If the model refused and wrote no other text, the text of its refusal is streamed.
    const text = isEmpty(fields['content']) ? delta.refusal : delta.content;
    if (typeof text === 'string') onText(text);
    const reasoning = readReasoning(delta);
    if (reasoning !== undefined) onReasoning(reasoning);
    for (const piece of tool_calls ?? []) onToolCall(addToCall(calls, piece));
  }
  const made = calls.map(({ call }) => call);
  const message: StreamedChatMessage = {
    role: 'assistant',
    content: null,
    ...fields,
    // Every stream starts with an empty text. The empty text is removed here, so that it does not hide a refusal.
    ...(isEmpty(fields['content']) && !isEmpty(fields['refusal']) ? { content: null } : {}),
    ...(made.length === 0 ? {} : { tool_calls: made }),
  };
  return { message, finishReason, usage };
}

/** Returns the reasoning in a chunk. Servers of open-weight models use one of two names for this text. */
function readReasoning(delta: Readonly<Record<string, unknown>>): string | undefined {
  const text = delta['reasoning_content'] ?? delta['reasoning'];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function isEmpty(text: unknown): boolean {
  return typeof text !== 'string' || text === '';
}

/**
 * Merges the fields of a chunk: strings are appended and objects are replaced. Lists are dropped, because no server
 * documents how to join their pieces (wire rule C7).
 */
function addFields(fields: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = fields[name];
    if (typeof value === 'string') fields[name] = (typeof before === 'string' ? before : '') + value;
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) fields[name] = value;
  }
}

interface OpenCall {
  readonly number: number | undefined;
  readonly call: StreamedCall;
}

/** Adds a piece to its tool call. Returns the same piece for listeners. */
function addToCall(calls: OpenCall[], { index, id, type: _, function: piece, ...own }: CallDelta): ToolCallPiece {
  const number = index ?? undefined;
  const name = piece?.name ?? '';
  const call = findCall(calls, { number, id, name }) ?? startCall(calls, number);
  Object.assign(call, own);
  call.id ||= id ?? '';
  // Some servers repeat the whole name in every chunk.
  if (name !== call.function.name) call.function.name += name;
  call.function.arguments += piece?.arguments ?? '';
  return {
    call: calls.findIndex((open) => open.call === call),
    name: call.function.name,
    arguments: piece?.arguments ?? '',
  };
}

/**
 * Returns the tool call that a chunk continues, or undefined if the chunk starts a new call. OpenAI-compatible servers
 * may send no index, or the same index for all parallel calls. A chunk with a name and a new id therefore starts a new
 * call.
 */
function findCall(
  calls: readonly OpenCall[],
  { number, id, name }: { readonly number: number | undefined; readonly id: string | undefined; readonly name: string },
): StreamedCall | undefined {
  const call = calls.findLast((open) => number === undefined || open.number === number)?.call;
  const isOther = call !== undefined && name !== '' && Boolean(id) && call.id !== '' && id !== call.id;
  return isOther ? undefined : call;
}

function startCall(calls: OpenCall[], number: number | undefined): StreamedCall {
  const call: StreamedCall = { id: '', type: 'function', function: { name: '', arguments: '' } };
  calls.push({ number, call });
  return call;
}
