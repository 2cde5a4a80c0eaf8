import type { RawAnswer } from '../provider/fault.ts';
import type { JsonObject } from '../provider/json.ts';

/** A chunk of a Chat Completions stream. */
export function chunk(delta: JsonObject, finish: string | null = null, more: JsonObject = {}): JsonObject {
  return {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  };
}

/** A chunk with tool calls, or pieces of them. */
export function calls(...list: readonly JsonObject[]): JsonObject {
  return chunk({ tool_calls: list });
}

/** A failed request with an error in OpenAI's form. */
export function refusal(status: number, error: JsonObject | string): RawAnswer {
  return { status, body: { error } };
}

export function anthropicRefusal(status: number, type: string, message: string, code?: string): RawAnswer {
  const details = code === undefined ? {} : { details: { error_code: code } };
  return { status, body: { type: 'error', error: { type, message, ...details }, request_id: 'req_1' } };
}

/** The events of an Anthropic message with these content blocks, each sent whole when it starts. */
export function anthropicMessage(blocks: readonly JsonObject[], reason: string | null = 'end_turn'): JsonObject[] {
  const usage = { input_tokens: 20, output_tokens: 5 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage,
  };
  return [
    { type: 'message_start', message },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
}

/** The last event of a Responses stream. */
export function completed(output: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  const usage = { input_tokens: 20, output_tokens: 5, total_tokens: 25 };
  return { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output, usage, ...more } };
}
