import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ToolCall } from '../../domain/message.ts';
import { type ModelAnswer, ModelError, type ModelUsage } from '../../domain/model.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { parseObject } from '../../wire/calls.ts';
import type { PieceListeners } from '../answer-stream.ts';
import { isAgentCall, textOfItems } from './content-items.ts';

interface AiSdkAnswer {
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly usage: ModelUsage | undefined;
  /** Parts of the answer with the provider's metadata, in the form of a later prompt. */
  readonly items: readonly RawItem[];
}

type TextPart = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;
type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

/**
 * Builds an answer from the parts of a stream. Generated files and sources are left out.
 * @throws ModelError if the stream ends without a whole answer, or with an error that only its finish reason names
 */
export async function readAnswerStream(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  listeners: PieceListeners,
): Promise<AiSdkAnswer> {
  const reader = new AnswerReader(listeners);
  for await (const part of parts) reader.take(part);
  return reader.finish();
}

interface OpenBlock {
  text: string;
  providerOptions?: unknown;
  readonly type: 'text' | 'reasoning';
}

class AnswerReader {
  readonly #listeners: PieceListeners;
  readonly #items: object[] = [];
  /** Open blocks by type and id, because a text and a reasoning may have the same id. */
  readonly #open = new Map<string, OpenBlock>();
  /** Ids of the calls that turnfold runs, in the order in which the calls started. */
  readonly #calls: string[] = [];
  #finish: Finish | undefined;

  constructor(listeners: PieceListeners) {
    this.#listeners = listeners;
  }

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addText(part);
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.#startCall(part.id, part.toolName);
        return;
      case 'tool-input-delta':
        if (this.#calls.includes(part.id)) {
          this.#listeners.onToolCall({ call: this.#calls.indexOf(part.id), arguments: part.delta });
        }
        return;
      case 'tool-call':
        return this.#addCall(part);
      case 'tool-result':
        if (part.preliminary !== true) this.#items.push(writeProviderResult(part));
        return;
      case 'custom':
        this.#items.push({ type: 'custom', kind: part.kind, ...withOptions(part) });
        return;
      case 'tool-approval-request':
        throw new ModelError(
          'fatal',
          "the provider asks a person to approve a call of its own tool. Allow the tool's calls, or give the agent a tool with needsApproval",
          { code: 'tool_approval_request' },
        );
      case 'finish':
        this.#finish = part;
        return;
      default:
    }
  }

  finish(): AiSdkAnswer {
    const items = this.#items as RawItem[];
    const usage = this.#finish && readUsage(this.#finish.usage, items);
    return {
      content: textOfItems(items),
      toolCalls: items.filter(isAgentCall).map(({ toolCallId, toolName, input }) => ({
        id: String(toolCallId),
        name: String(toolName),
        arguments: String(input),
      })),
      end: readEnd(this.#finish?.finishReason, usage),
      usage,
      items,
    };
  }

  #addText(part: TextPart): void {
    const type = part.type.startsWith('text') ? 'text' : 'reasoning';
    const key = `${type} ${part.id}`;
    const isNew = part.type.endsWith('-start') || !this.#open.has(key);
    const block = (!isNew && this.#open.get(key)) || { type, text: '' };
    if (isNew) {
      this.#open.set(key, block);
      this.#items.push(block);
    }
    // The metadata of a later part is complete, so it replaces the earlier one.
    Object.assign(block, withOptions(part));
    if (!('delta' in part) || part.delta === '') return;
    block.text += part.delta;
    if (type === 'text') this.#listeners.onText(part.delta);
    else this.#listeners.onReasoning(part.delta);
  }

  #startCall(id: string, name: string): number {
    this.#listeners.onToolCall({ call: this.#calls.length, name });
    return this.#calls.push(id) - 1;
  }

  #addCall(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): void {
    const { toolName, input, providerExecuted } = part;
    const toolCallId = part.toolCallId || `call_${this.#items.length}`;
    const call = { type: 'tool-call', toolCallId, toolName, ...withOptions(part) };
    if (providerExecuted === true) {
      this.#items.push({ ...call, input: parseObject(input) ?? {}, providerExecuted });
      return;
    }
    if (!this.#calls.includes(part.toolCallId)) {
      const index = this.#startCall(part.toolCallId, toolName);
      this.#listeners.onToolCall({ call: index, arguments: input });
    }
    this.#items.push({ ...call, input });
  }
}

/** Keeps the metadata of an answer's part as options, which the same part has in a later prompt. */
function withOptions({ providerMetadata }: { readonly providerMetadata?: object }): { providerOptions?: object } {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

function writeProviderResult(part: Extract<LanguageModelV4StreamPart, { type: 'tool-result' }>): object {
  const { toolCallId, toolName, result, isError } = part;
  const output = { type: isError === true ? 'error-json' : 'json', value: result };
  return { type: 'tool-result', toolCallId, toolName, output, ...withOptions(part) };
}

const RAW_ENDS: ReadonlyMap<string, AiSdkAnswer['end']> = new Map(
  Object.entries<AiSdkAnswer['end']>({ pause_turn: 'cut_off' }),
);

function readEnd(reason: LanguageModelV4FinishReason | undefined, usage: ModelUsage | undefined): AiSdkAnswer['end'] {
  const paid = usage && { usage };
  // In version 3, there is no reason `interrupted`. A broken stream has the reason `other`, and no reason by the
  // provider.
  const isBroken = reason?.unified === 'interrupted' || (reason?.unified === 'other' && reason.raw === undefined);
  if (reason === undefined || isBroken)
    throw new ModelError('retry', 'the stream ended before the answer was complete', paid);
  if (reason.raw === 'model_context_window_exceeded') {
    const options = { code: reason.raw, ...paid };
    throw new ModelError('overflow', 'the answer was cut off at the end of the context window', options);
  }
  switch (reason.unified) {
    case 'error':
      throw new ModelError('retry', 'the provider ended the answer with an error', paid);
    case 'length':
      return 'cut_off';
    case 'content-filter':
      return 'refusal';
    default:
      return RAW_ENDS.get(reason.raw ?? '') ?? 'complete';
  }
}

/** Reasoning without any metadata does not count as kept, because no provider accepts it back. */
function readUsage(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  items: readonly RawItem[],
): ModelUsage | undefined {
  const { total: inputTotal, cacheRead, cacheWrite } = inputTokens;
  const { total: output, reasoning = 0 } = outputTokens;
  if (inputTotal === undefined || output === undefined) return undefined;
  const isKept = items.some((item) => item.type === 'reasoning' && item['providerOptions'] !== undefined);
  return {
    inputTotal,
    cachedInput: cacheRead ?? 0,
    cacheWrite: cacheWrite ?? 0,
    output,
    outputKept: isKept ? output : Math.max(0, output - reasoning),
  };
}
