import type Anthropic from '@anthropic-ai/sdk';
import type { ModelUsage } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import type { AnthropicAnswer } from '../../wire/anthropic/answer.ts';
import { isToolUse } from '../../wire/anthropic/layout.ts';
import type { PieceListeners } from '../answer-stream.ts';

export interface StreamedAnthropicMessage extends AnthropicAnswer {
  readonly usage: AnthropicUsage;
}

interface StreamListeners extends Partial<PieceListeners> {
  readonly onUsage?: (usage: AnthropicUsage) => void;
}

/** Usage until the first count arrives. `checkUsage` drops usage that is not a number. */
const UNCOUNTED: AnthropicUsage = { input_tokens: Number.NaN, output_tokens: Number.NaN };

/**
 * Builds a message from the events of a stream, and reports each piece. The SDK's helper parses tool input, and drops
 * the whole answer if the input is not valid JSON.
 */
export class MessageReading {
  readonly #listeners: StreamListeners;
  readonly #opened: OpenBlock[] = [];
  #usage = UNCOUNTED;
  #reason: string | null = null;
  #isComplete = false;
  #whole: StreamedAnthropicMessage | undefined;

  constructor(listeners: StreamListeners) {
    this.#listeners = listeners;
  }

  /** Returns true if the message is complete. */
  add(event: Anthropic.MessageStreamEvent): boolean {
    // A server that ignores `stream` sends the message instead of events.
    if (isWholeMessage(event)) {
      this.#whole = event;
      return true;
    }
    switch (event?.type) {
      case 'message_start':
        this.#count(event.message?.usage);
        break;
      case 'content_block_start':
        this.#opened.push(openBlock(this.#opened, event.content_block, this.#listeners));
        break;
      case 'content_block_delta': {
        const open = this.#opened[event.index];
        if (open === undefined) break;
        addDelta(open, event.delta);
        reportDelta(open, event.delta, this.#listeners);
        break;
      }
      case 'message_delta':
        this.#count(event.usage);
        this.#reason = event.delta?.stop_reason ?? this.#reason;
        break;
      case 'message_stop':
        this.#isComplete = true;
        return true;
      default:
    }
    return false;
  }

  /** `stop_reason` is null if the stream ended too early. */
  finish(): StreamedAnthropicMessage {
    return (
      this.#whole ?? {
        content: this.#opened.map(({ block }) => block),
        inputs: this.#opened.map(({ input }) => input),
        stop_reason: this.#isComplete ? this.#reason : null,
        usage: this.#usage,
      }
    );
  }

  #count(usage: Partial<Anthropic.MessageDeltaUsage> | undefined): void {
    this.#usage = updateUsage(this.#usage, usage);
    this.#listeners.onUsage?.(this.#usage);
  }
}

function isWholeMessage(event: unknown): event is StreamedAnthropicMessage {
  return (
    isMapping(event) && event['type'] === 'message' && Array.isArray(event['content']) && isMapping(event['usage'])
  );
}

interface OpenBlock {
  readonly block: BlockFields;
  input: string;
  /** Index among the calls of the answer. Undefined if the block is no call. */
  readonly call: number | undefined;
}

/** A block may have other fields, and a type that the SDK does not know. */
interface BlockFields {
  readonly type: string;
  text?: string;
  citations?: Anthropic.TextBlock['citations'];
  thinking?: string;
  signature?: string;
}

function openBlock(
  opened: readonly OpenBlock[],
  block: Anthropic.RawContentBlockStartEvent['content_block'],
  { onToolCall }: StreamListeners,
): OpenBlock {
  const call = isToolUse({ ...block }) ? opened.filter((open) => open.call !== undefined).length : undefined;
  if (call !== undefined && 'name' in block) onToolCall?.({ call, name: block.name });
  return { block: { ...block }, input: '', call };
}

function reportDelta(
  { call }: OpenBlock,
  delta: Anthropic.RawContentBlockDelta | undefined,
  { onText, onReasoning, onToolCall }: StreamListeners,
): void {
  if (delta?.type === 'text_delta') onText?.(delta.text);
  if (delta?.type === 'thinking_delta') onReasoning?.(delta.thinking);
  if (delta?.type === 'input_json_delta' && call !== undefined) onToolCall?.({ call, arguments: delta.partial_json });
}

function addDelta(open: OpenBlock, delta: Anthropic.RawContentBlockDelta | undefined): void {
  const { block } = open;
  switch (delta?.type) {
    case 'text_delta':
      block.text = (block.text ?? '') + delta.text;
      break;
    case 'citations_delta':
      block.citations = [...(block.citations ?? []), delta.citation];
      break;
    case 'input_json_delta':
      open.input += delta.partial_json;
      break;
    case 'thinking_delta':
      block.thinking = (block.thinking ?? '') + delta.thinking;
      break;
    case 'signature_delta':
      block.signature = delta.signature;
      break;
    default:
  }
}

/** Counts are totals for the whole message. A count that an event lacks keeps its value. */
function updateUsage(before: AnthropicUsage, now: Partial<Anthropic.MessageDeltaUsage> | undefined): AnthropicUsage {
  return {
    input_tokens: now?.input_tokens ?? before.input_tokens,
    cache_read_input_tokens: now?.cache_read_input_tokens ?? before.cache_read_input_tokens ?? null,
    cache_creation_input_tokens: now?.cache_creation_input_tokens ?? before.cache_creation_input_tokens ?? null,
    output_tokens: now?.output_tokens ?? before.output_tokens,
  };
}

export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly output_tokens: number;
}

export function readAnthropicUsage(usage: AnthropicUsage): ModelUsage {
  const cachedInput = usage.cache_read_input_tokens ?? 0;
  const cacheWrite = usage.cache_creation_input_tokens ?? 0;
  const output = usage.output_tokens;
  return {
    inputTotal: usage.input_tokens + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    output,
    outputKept: output,
  };
}
