import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { ModelError, type ModelUsage } from '../../domain/model.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { parseObject } from '../../wire/calls.ts';
import type { AnswerParts } from '../../wire/wire-request.ts';
import type { PieceListeners } from '../answer-stream.ts';
import { brokenOff, exceededWindow } from '../provider-errors.ts';
import { isAgentCall, textOfItems } from './content-items.ts';

/** An answer whose items are parts with the provider's metadata, in the form in which later prompts have them. */
interface AiSdkAnswer extends AnswerParts {
  readonly usage: ModelUsage | undefined;
}

type TextPart = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;
type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

function isTextPart(part: LanguageModelV4StreamPart): part is TextPart {
  return /^(?:text|reasoning)-/.test(part.type);
}

/**
 * Files that the model generated, and the sources that it cites, are left out.
 * @throws ModelError if the stream ends without a whole answer, or if its finish reason is an error
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
  /** Unfinished parts by type and id, because a text and a reasoning may have the same id. */
  readonly #open = new Map<string, OpenBlock>();
  /** Ids of the calls that turnfold runs, in the order of their start. */
  readonly #calls: string[] = [];
  #finish: Finish | undefined;

  constructor(listeners: PieceListeners) {
    this.#listeners = listeners;
  }

  take(part: LanguageModelV4StreamPart): void {
    if (isTextPart(part)) return this.#addText(part);
    switch (part.type) {
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.#startCall(part.id, part.toolName);
        return;
      case 'tool-input-delta':
        return this.#addInput(part.id, part.delta);
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
    const end = readEnd(this.#finish?.finishReason, usage);
    return {
      content: textOfItems(items),
      toolCalls: items.filter(isAgentCall).map(({ toolCallId, toolName, input }) => ({
        id: String(toolCallId),
        name: String(toolName),
        arguments: String(input),
      })),
      end,
      ...(end === 'refusal' && { isFiltered: true }),
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
    // The metadata of a later part is complete, so it replaces the metadata of an earlier part.
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

  #addInput(id: string, given: string): void {
    const call = this.#calls.indexOf(id);
    if (call >= 0) this.#listeners.onToolCall({ call, arguments: given });
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

/** Keeps metadata as the options of the same part in a later prompt. */
function withOptions({ providerMetadata }: { readonly providerMetadata?: object }): { providerOptions?: object } {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

function writeProviderResult(part: Extract<LanguageModelV4StreamPart, { type: 'tool-result' }>): object {
  const { toolCallId, toolName, result, isError } = part;
  const output = { type: isError === true ? 'error-json' : 'json', value: result };
  return { type: 'tool-result', toolCallId, toolName, output, ...withOptions(part) };
}

function readEnd(reason: LanguageModelV4FinishReason | undefined, usage: ModelUsage | undefined): AiSdkAnswer['end'] {
  const paid = usage && { usage };
  // A broken stream ends with `interrupted` in version 4 of the specification. In version 3, a broken stream ends with
  // `other`, without a reason by the provider.
  const isBroken = reason?.unified === 'interrupted' || (reason?.unified === 'other' && reason.raw === undefined);
  if (reason === undefined || isBroken) throw brokenOff(paid);
  if (reason.raw === 'model_context_window_exceeded') throw exceededWindow(reason.raw, paid);
  switch (reason.unified) {
    case 'error':
      throw new ModelError('retry', 'the provider ended the answer with an error', paid);
    case 'length':
      return 'cut_off';
    case 'content-filter':
      return 'refusal';
    default:
      return reason.raw === 'pause_turn' ? 'cut_off' : 'complete';
  }
}

/** Reasoning without metadata is not kept, because no provider accepts it back. */
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
