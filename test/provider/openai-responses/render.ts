import { type Answer, type AnswerPart, newId } from '../answer.ts';
import type { RenderedAnswer } from '../dialect.ts';
import type { Issued } from '../issued.ts';
import type { JsonObject } from '../json.ts';
import { encrypt } from '../seals.ts';
import { readItems } from './items.ts';
import { streamResponse } from './stream.ts';

export function renderResponse(answer: Answer, request: JsonObject, issued: Issued): RenderedAnswer {
  const output = answer.parts.map((part) => writeItem(part, answer.end, String(request['model'])));
  issued.recordItems(output);
  const body = {
    ...writeHead(request),
    ...readStatus(answer),
    output,
    usage: writeUsage(answer),
  };
  return { body, events: [...streamResponse(body)] };
}

/** Returns the response of `/responses/compact`: the user messages, followed by the summary of the other messages. */
export function renderCompaction(answer: Answer, request: JsonObject): RenderedAnswer {
  const kept = readItems(request)
    .filter(({ item }) => item['role'] === 'user')
    .map(({ item }) => ({ id: newId('msg_'), type: 'message', status: 'completed', ...item }));
  const body = {
    id: newId('resp_'),
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...kept, writeItem({ compaction: '' }, 'complete', String(request['model']))],
    usage: writeUsage(answer),
  };
  return { body, events: [] };
}

function writeHead(request: JsonObject): JsonObject {
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    background: false,
    error: null,
    instructions: request['instructions'] ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    metadata: {},
    model: request['model'],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: request['reasoning'] ?? { effort: null, summary: null },
    service_tier: 'default',
    store: request['store'] ?? true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: request['tools'] ?? [],
    top_p: 1,
    truncation: 'disabled',
  };
}

function readStatus({ end, parts }: Answer): JsonObject {
  const isWordless = !parts.some((part) => 'text' in part);
  if (end === 'cut_off' || end === 'window_full') {
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
  }
  if (end === 'refusal' && isWordless) {
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
  }
  return { status: 'completed', incomplete_details: null };
}

function writeItem(part: AnswerPart, end: Answer['end'], model: string): JsonObject {
  if ('call' in part) {
    const { id, name, arguments: given } = part.call;
    return { id: newId('fc_'), type: 'function_call', status: 'completed', arguments: given, call_id: id, name };
  }
  if ('thinking' in part) {
    const id = newId('rs_');
    const summary = part.isRedacted === true ? [] : [{ type: 'summary_text', text: part.thinking }];
    return { id, type: 'reasoning', encrypted_content: encrypt(id, model), summary };
  }
  if ('compaction' in part) {
    return { id: newId('cmp_'), type: 'compaction', encrypted_content: encrypt('compaction', model) };
  }
  const said =
    end === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: [], logprobs: [], text: part.text };
  return { id: newId('msg_'), type: 'message', status: 'completed', content: [said], role: 'assistant' };
}

function writeUsage({ usage }: Answer): JsonObject {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking },
    total_tokens: usage.input + usage.output,
  };
}
