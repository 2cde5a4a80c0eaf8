import type Anthropic from '@anthropic-ai/sdk';
import type { ModelUsage } from '../../domain/model.ts';
import type { AnthropicAnswer } from '../../wire/anthropic/answer.ts';

export interface StreamedAnthropicMessage extends AnthropicAnswer {
  readonly usage: AnthropicUsage;
}

export interface StreamListeners {
  readonly onText: (piece: string) => void;
  readonly onUsage?: (usage: AnthropicUsage) => void;
}

/** Usage until an event reports counts. `checkUsage` drops usage without numbers. */
const UNCOUNTED: AnthropicUsage = { input_tokens: Number.NaN, output_tokens: Number.NaN };

/**
 * Assembles a streamed message. `stop_reason` is null if the stream broke off. The SDK's helper is not used: it parses
 * tool input and drops the whole answer if that is not JSON.
 * @param listeners called with text as it comes, and with usage before the answer ends
 */
export async function readMessageStream(
  events: AsyncIterable<Anthropic.MessageStreamEvent>,
  { onText, onUsage }: StreamListeners,
): Promise<StreamedAnthropicMessage> {
  const opened: OpenBlock[] = [];
  let usage = UNCOUNTED;
  let reason: string | null = null;
  let isWhole = false;
  for await (const event of events) {
    switch (event?.type) {
      case 'message_start':
        usage = updateUsage(usage, event.message?.usage);
        onUsage?.(usage);
        break;
      case 'content_block_start':
        opened.push({ block: { ...event.content_block }, input: '' });
        break;
      case 'content_block_delta': {
        const open = opened[event.index];
        if (open === undefined) break;
        addDelta(open, event.delta);
        if (event.delta?.type === 'text_delta') onText(event.delta.text);
        break;
      }
      case 'message_delta':
        usage = updateUsage(usage, event.usage);
        onUsage?.(usage);
        reason = event.delta?.stop_reason ?? reason;
        break;
      case 'message_stop':
        isWhole = true;
        break;
      default:
    }
  }
  return {
    content: opened.map(({ block }) => block),
    inputs: opened.map(({ input }) => input),
    stop_reason: isWhole ? reason : null,
    usage,
  };
}

interface OpenBlock {
  readonly block: BlockFields;
  /** Arguments of a call as JSON, as far as they have come. */
  input: string;
}

/** Fields that come in pieces. A block may have more fields, and a type that the SDK does not know. */
interface BlockFields {
  readonly type: string;
  text?: string;
  citations?: Anthropic.TextBlock['citations'];
  thinking?: string;
  signature?: string;
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

/** Takes the counts of an event, which cover the whole message so far. An absent count keeps its value. */
function updateUsage(before: AnthropicUsage, now: Partial<Anthropic.MessageDeltaUsage> | undefined): AnthropicUsage {
  return {
    input_tokens: now?.input_tokens ?? before.input_tokens,
    cache_read_input_tokens: now?.cache_read_input_tokens ?? before.cache_read_input_tokens ?? null,
    cache_creation_input_tokens: now?.cache_creation_input_tokens ?? before.cache_creation_input_tokens ?? null,
    output_tokens: now?.output_tokens ?? before.output_tokens,
  };
}

/** The fields that we read of the SDK's usage. */
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
