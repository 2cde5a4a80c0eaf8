import type OpenAI from 'openai';
import { isMapping } from '../../domain/parse.ts';
import type { PieceListeners } from '../answer-stream.ts';
import { CallBuilder, type StreamedCall } from './call-builder.ts';

export interface StreamedChatMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly tool_calls?: readonly StreamedCall[];
  readonly [field: string]: unknown;
}

interface StreamedChatAnswer {
  readonly message: StreamedChatMessage;
  /** Null if no chunk gave a reason. */
  readonly finishReason: string | null;
  /** False if no chunk had a part of an answer. */
  readonly hasAnswer: boolean;
  readonly usage: OpenAI.CompletionUsage | undefined;
  /** OpenRouter reports an error in a choice, MiniMax in a chunk. */
  readonly error: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Builds an answer from the chunks of a stream, and reports each piece. The SDK's helper keeps only the last piece of
 * `reasoning_content`, and relies on call indexes that some servers set wrongly.
 */
export class ChatReading {
  readonly #listeners: PieceListeners;
  readonly #fields: Record<string, unknown> = {};
  readonly #details: Record<string, unknown>[] = [];
  readonly #calls = new CallBuilder();
  #finishReason: string | null = null;
  #hasAnswer = false;
  #usage: OpenAI.CompletionUsage | undefined;
  #error: Readonly<Record<string, unknown>> | undefined;

  constructor(listeners: PieceListeners) {
    this.#listeners = listeners;
  }

  /** @param chunk not validated, because compatible servers send other values, too */
  add(chunk: unknown): void {
    if (!isMapping(chunk)) return;
    const { usage, x_groq, choices, base_resp } = chunk;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    this.#addUsage(usage ?? readField(x_groq, 'usage') ?? readField(choice, 'usage'));
    const code = readField(base_resp, 'status_code');
    if (code !== undefined && code !== 0) this.#error = { message: readField(base_resp, 'status_msg') };
    if (!isMapping(choice)) return;
    this.#hasAnswer = true;
    const { finish_reason, error } = choice;
    // Some servers send an empty reason in every chunk but the last.
    if (typeof finish_reason === 'string' && finish_reason !== '') this.#finishReason = finish_reason;
    if (isMapping(error)) this.#error = error;
    // A server that ignores `stream` sends the whole message.
    const delta = choice['delta'] ?? choice['message'];
    if (!isMapping(delta)) return;
    if (isTextAlone(delta)) this.#addText(delta['content']);
    else this.#addDelta(delta);
  }

  #addUsage(usage: unknown): void {
    // The cast is safe: `checkUsage` drops usage whose fields are not numbers.
    if (isMapping(usage)) this.#usage = usage as unknown as OpenAI.CompletionUsage;
  }

  #addText(text: string): void {
    const before = this.#fields['content'];
    this.#fields['content'] = typeof before === 'string' ? before + text : text;
    this.#listeners.onText(text);
  }

  #addDelta({ tool_calls, function_call, role: _, content: given, ...delta }: Record<string, unknown>): void {
    const { onText, onReasoning, onToolCall } = this.#listeners;
    const { text: content, thinking } = readContent(given);
    const details = delta['reasoning_details'];
    addFields(this.#fields, { ...delta, ...(content !== undefined && { content }) });
    if (Array.isArray(details)) addReasoningDetails(this.#details, details);
    // A refusal is streamed if the model wrote no other text.
    const text = isEmpty(this.#fields['content']) ? delta['refusal'] : content;
    if (typeof text === 'string') onText(text);
    const reasoning = delta['reasoning_content'] ?? delta['reasoning'] ?? thinking;
    if (typeof reasoning === 'string') onReasoning(reasoning);
    else if (Array.isArray(details)) onReasoning(textOfDetails(details));
    const pieces = Array.isArray(tool_calls)
      ? tool_calls
      : isMapping(function_call)
        ? [{ function: function_call }]
        : [];
    for (const piece of this.#calls.add(pieces)) onToolCall(piece);
  }

  finish(): StreamedChatAnswer {
    const made = this.#calls.finish();
    const fields = this.#fields;
    const message: StreamedChatMessage = {
      role: 'assistant',
      content: null,
      ...fields,
      // The empty text at the start of every stream must not hide a refusal.
      ...(isEmpty(fields['content']) && !isEmpty(fields['refusal']) ? { content: null } : {}),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
      ...(made.length === 0 ? {} : { tool_calls: made }),
    };
    return {
      message,
      finishReason: this.#finishReason,
      hasAnswer: this.#hasAnswer,
      usage: this.#usage,
      error: this.#error,
    };
  }
}

/** Nearly all chunks have only a text. */
function isTextAlone(delta: Record<string, unknown>): delta is { content: string } {
  for (const name in delta) if (name !== 'content' && name !== 'role') return false;
  return typeof delta['content'] === 'string';
}

function readField(value: unknown, name: string): unknown {
  return isMapping(value) ? value[name] : undefined;
}

/** Mistral's reasoning models send a list of parts, with thinking in parts of its own. */
function readContent(content: unknown): { readonly text: string | undefined; readonly thinking: string | undefined } {
  if (typeof content === 'string') return { text: content, thinking: undefined };
  if (!Array.isArray(content)) return { text: undefined, thinking: undefined };
  const parts = content.filter(isMapping);
  const thoughts = parts.flatMap(({ thinking }) => (Array.isArray(thinking) ? thinking.filter(isMapping) : []));
  return { text: joinTexts(parts), thinking: joinTexts(thoughts) };
}

function joinTexts(parts: readonly Record<string, unknown>[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}

function isEmpty(text: unknown): boolean {
  return typeof text !== 'string' || text === '';
}

/** Appends strings and replaces objects. Lists are left out: no server documents how to join them (wire rule C7). */
function addFields(fields: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = fields[name];
    if (typeof value === 'string') fields[name] = (typeof before === 'string' ? before : '') + value;
    else if (isMapping(value)) fields[name] = value;
  }
}

type Detail = Record<string, unknown>;

/** Fields whose pieces are joined. All other fields keep the last value. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** OpenRouter streams each reasoning detail in pieces with one `index`. Details are sent back in the same order. */
function addReasoningDetails(details: Detail[], pieces: readonly unknown[]): void {
  for (const piece of pieces.filter(isMapping)) {
    const last = details.at(-1);
    if (last === undefined || !continues(last, piece)) details.push({ ...piece });
    else {
      for (const [name, value] of Object.entries(piece)) last[name] = joinField(name, last[name], value);
    }
  }
}

function continues(last: Detail, piece: Detail): boolean {
  if (last['type'] !== piece['type'] || last['index'] !== piece['index']) return false;
  const id = piece['id'] ?? undefined;
  return id === undefined || last['id'] === undefined || last['id'] === null || last['id'] === id;
}

function joinField(name: string, before: unknown, value: unknown): unknown {
  if (value === undefined || value === null) return before ?? value;
  if (!TEXT_FIELDS.has(name) || typeof value !== 'string') return value;
  return typeof before === 'string' ? before + value : value;
}

function textOfDetails(pieces: readonly unknown[]): string {
  return pieces
    .filter(isMapping)
    .map(({ text, summary }) => (typeof text === 'string' ? text : typeof summary === 'string' ? summary : ''))
    .join('');
}
