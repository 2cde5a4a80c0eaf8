import { type Answer, type AnswerPart, cutText, newId } from '../answer.ts';
import type { RenderedAnswer, ServerEvent } from '../dialect.ts';
import type { Issued } from '../issued.ts';
import { type JsonObject, readObjects, readText } from '../json.ts';
import { seal } from '../seals.ts';
import { bondOf } from './bond.ts';
import { signSummary } from './cache-checks.ts';

const STOP_REASONS = {
  complete: 'end_turn',
  cut_off: 'max_tokens',
  refusal: 'refusal',
  window_full: 'model_context_window_exceeded',
  paused: 'pause_turn',
} as const satisfies Record<Answer['end'], string>;

export function renderAnthropic(answer: Answer, request: JsonObject, issued: Issued): RenderedAnswer {
  const content = renderBlocks(answer, request);
  const seals = content.flatMap(({ type, signature, data }) =>
    type === 'thinking' || type === 'redacted_thinking' ? [readText(signature ?? data)] : [],
  );
  issued.recordThinking(
    answer.calls.map(({ id }) => id),
    seals,
  );
  const stop = {
    stop_reason: readStopReason(answer),
    stop_sequence: null,
    stop_details: answer.end === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  };
  const body = {
    id: newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: request['model'],
    content,
    ...stop,
    container: null,
    diagnostics: null,
    usage: writeUsage(answer),
  };
  return { body, events: stream(body, stop) };
}

function renderBlocks({ parts }: Answer, request: JsonObject): JsonObject[] {
  const content: JsonObject[] = [];
  for (const part of parts) {
    const messages = [
      ...readObjects(request['messages']),
      { role: 'assistant', content: [...content, openBlock(part)] },
    ];
    const signature = seal(bondOf({ ...request, messages }, messages.length - 1, content.length));
    content.push(writeBlock(part, signature));
  }
  return content;
}

/** Returns the fields of a block that its signature covers. */
function openBlock(part: AnswerPart): JsonObject {
  return 'thinking' in part ? { type: 'thinking', thinking: part.isRedacted === true ? '' : part.thinking } : {};
}

function writeBlock(part: AnswerPart, signature: string): JsonObject {
  if ('text' in part) return { type: 'text', text: part.text, citations: null };
  if ('compaction' in part) {
    const content = part.compaction;
    return { type: 'compaction', content, encrypted_content: null, signature: signSummary(content) };
  }
  if ('call' in part) {
    const { id, name, input } = part.call;
    return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
  }
  return part.isRedacted === true
    ? { type: 'redacted_thinking', data: signature }
    : { type: 'thinking', thinking: part.thinking, signature };
}

function readStopReason({ end, calls, parts }: Answer): string {
  if (end !== 'complete') return STOP_REASONS[end];
  if (calls.length > 0) return 'tool_use';
  return parts.length > 0 && parts.every((part) => 'compaction' in part) ? 'compaction' : 'end_turn';
}

function writeUsage({ usage }: Answer): JsonObject {
  return {
    input_tokens: usage.input - usage.cachedInput - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cachedInput,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.thinking },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: 'not_available',
    speed: 'standard',
  };
}

interface Whole extends JsonObject {
  readonly content: readonly JsonObject[];
  readonly usage: JsonObject;
}

function stream(body: Whole, stop: JsonObject): ServerEvent[] {
  const nothing = Object.fromEntries(Object.keys(stop).map((key) => [key, null]));
  const start = { ...body, content: [], ...nothing, usage: { ...body.usage, output_tokens: 1 } };
  return [
    typed({ type: 'message_start', message: start }),
    typed({ type: 'ping' }),
    ...body.content.flatMap((block, index) => streamBlock(block, index)),
    typed({ type: 'message_delta', delta: stop, usage: body.usage }),
    typed({ type: 'message_stop' }),
  ];
}

function streamBlock(block: JsonObject, index: number): ServerEvent[] {
  const [opened, deltas] = splitBlock(block);
  return [
    typed({ type: 'content_block_start', index, content_block: opened }),
    ...deltas.map((delta) => typed({ type: 'content_block_delta', index, delta })),
    typed({ type: 'content_block_stop', index }),
  ];
}

/** Splits a block into its initial form in a stream, and the deltas that follow. */
function splitBlock(block: JsonObject): [JsonObject, JsonObject[]] {
  switch (block['type']) {
    case 'text':
      return [{ ...block, text: '' }, cutText(readText(block['text'])).map((text) => ({ type: 'text_delta', text }))];
    case 'thinking':
      return [
        { ...block, thinking: '', signature: '' },
        [
          ...cutText(readText(block['thinking'])).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      ];
    case 'tool_use':
      return [
        { ...block, input: {} },
        ['', ...cutText(JSON.stringify(block['input']))].map((json) => ({
          type: 'input_json_delta',
          partial_json: json,
        })),
      ];
    case 'compaction':
      return [
        { ...block, content: null },
        [{ type: 'compaction_delta', content: block['content'], encrypted_content: null }],
      ];
    default:
      return [block, []];
  }
}

function typed(data: JsonObject): ServerEvent {
  return { event: readText(data['type']), data };
}
