import { cutText } from '../answer.ts';
import type { ServerEvent } from '../dialect.ts';
import { type JsonObject, readObjects, readText } from '../json.ts';

/** Yields the stream events of a response, with their sequence numbers. */
export function* streamResponse(response: JsonObject): Iterable<ServerEvent> {
  let number = 0;
  for (const data of writeEvents(response)) {
    yield { event: readText(data['type']), data: { ...data, sequence_number: number } };
    number += 1;
  }
}

function* writeEvents(response: JsonObject): Iterable<JsonObject> {
  const started = { ...response, status: 'in_progress', incomplete_details: null, output: [], usage: null };
  yield { type: 'response.created', response: started };
  yield { type: 'response.in_progress', response: started };
  for (const [index, item] of readObjects(response['output']).entries()) yield* streamItem(item, index);
  yield { type: `response.${readText(response['status'])}`, response };
}

function* streamItem(item: JsonObject, index: number): Iterable<JsonObject> {
  const place = { item_id: item['id'], output_index: index };
  switch (item['type']) {
    case 'reasoning':
      // Encrypted content may be incomplete in this event. Only the finished item is valid.
      yield {
        type: 'response.output_item.added',
        output_index: index,
        item: { ...item, summary: [], encrypted_content: '' },
      };
      yield* streamSummary(item, place);
      break;
    case 'message':
      yield {
        type: 'response.output_item.added',
        output_index: index,
        item: { ...item, status: 'in_progress', content: [] },
      };
      yield* streamContent(item, place);
      break;
    case 'function_call': {
      yield {
        type: 'response.output_item.added',
        output_index: index,
        item: { ...item, status: 'in_progress', arguments: '' },
      };
      const text = readText(item['arguments']);
      for (const delta of cutText(text)) yield { type: 'response.function_call_arguments.delta', ...place, delta };
      yield { type: 'response.function_call_arguments.done', ...place, name: item['name'], arguments: text };
      break;
    }
    default:
      yield { type: 'response.output_item.added', output_index: index, item };
  }
  yield { type: 'response.output_item.done', output_index: index, item };
}

function* streamSummary(item: JsonObject, at: JsonObject): Iterable<JsonObject> {
  for (const [index, part] of readObjects(item['summary']).entries()) {
    const place = { ...at, summary_index: index };
    const text = readText(part['text']);
    yield { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } };
    for (const delta of cutText(text)) yield { type: 'response.reasoning_summary_text.delta', ...place, delta };
    yield { type: 'response.reasoning_summary_text.done', ...place, text };
    yield { type: 'response.reasoning_summary_part.done', ...place, part };
  }
}

function* streamContent(item: JsonObject, at: JsonObject): Iterable<JsonObject> {
  for (const [index, part] of readObjects(item['content']).entries()) {
    const place = { ...at, content_index: index };
    const key = part['type'] === 'refusal' ? 'refusal' : 'text';
    const name = key === 'refusal' ? 'response.refusal' : 'response.output_text';
    const extra = key === 'refusal' ? {} : { logprobs: [] };
    const text = readText(part[key]);
    yield { type: 'response.content_part.added', ...place, part: { ...part, [key]: '' } };
    for (const delta of cutText(text)) yield { type: `${name}.delta`, ...place, delta, ...extra };
    yield { type: `${name}.done`, ...place, [key]: text, ...extra };
    yield { type: 'response.content_part.done', ...place, part };
  }
}

/**
 * Returns the events of a failure. A request that is too long causes an `error` event, and a later failure a failed
 * response.
 */
export function streamFailure(body: JsonObject | string): ServerEvent[] {
  const [error = {}] = typeof body === 'string' ? [] : readObjects([body['error']]);
  const { code, message } = error;
  if (code === 'context_length_exceeded') {
    return [{ event: 'error', data: { type: 'error', sequence_number: 2, error } }];
  }
  const response = {
    id: 'resp_failed',
    object: 'response',
    created_at: 0,
    status: 'failed',
    output: [],
    usage: null,
    error: { code: code ?? 'server_error', message },
  };
  return [{ event: 'response.failed', data: { type: 'response.failed', sequence_number: 2, response } }];
}
