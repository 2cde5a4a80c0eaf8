import { type Answer, cutText, newId } from '../answer.ts';
import type { RenderedAnswer, ServerEvent } from '../dialect.ts';
import type { Issued } from '../issued.ts';
import { isObject, type JsonObject } from '../json.ts';

const FINISH_REASONS = {
  complete: 'stop',
  cut_off: 'length',
  refusal: 'content_filter',
  window_full: 'length',
  paused: 'stop',
} as const satisfies Record<Answer['end'], string>;

export function renderChat(answer: Answer, request: JsonObject, issued: Issued): RenderedAnswer {
  const message = writeMessage(answer);
  const { reasoning_content: reasoning } = message;
  if (typeof reasoning === 'string') {
    issued.recordReasoning(
      answer.calls.map(({ id }) => id),
      reasoning,
    );
  }
  const head = {
    id: newId('chatcmpl-'),
    created: Math.floor(Date.now() / 1000),
    model: request['model'],
    service_tier: 'default',
    system_fingerprint: 'fp_0000000000',
  };
  const finish = readFinishReason(answer, message);
  const usage = writeUsage(answer);
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  const body = { object: 'chat.completion', ...head, choices: [choice], usage };
  const chunk = { object: 'chat.completion.chunk', ...head };
  const options = request['stream_options'];
  const isUsageAsked = isObject(options) && options['include_usage'] === true;
  return { body, events: [...stream(chunk, { message, finish, usage: isUsageAsked ? usage : undefined })] };
}

interface Message extends JsonObject {
  readonly content: string | null;
  readonly refusal: string | null;
  readonly tool_calls?: readonly JsonObject[];
  readonly reasoning_content?: string;
}

function writeMessage({ parts, calls, end }: Answer): Message {
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('');
  const thinking = parts.flatMap((part) => ('thinking' in part ? [part.thinking] : [])).join('\n');
  const isRefusal = end === 'refusal' && text !== '';
  return {
    role: 'assistant',
    content: isRefusal || text === '' ? null : text,
    refusal: isRefusal ? text : null,
    annotations: [],
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: given }) => ({
            id,
            type: 'function',
            function: { name, arguments: given },
          })),
        }),
  };
}

/**
 * Returns the finish reason. If the model refuses in its own words, the reason is `stop`. A content filter has a reason
 * of its own.
 */
function readFinishReason({ end, calls }: Answer, { refusal }: Message): string {
  if (end === 'complete' && calls.length > 0) return 'tool_calls';
  return refusal === null ? FINISH_REASONS[end] : 'stop';
}

function writeUsage({ usage }: Answer): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.thinking,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

interface Said {
  readonly message: Message;
  readonly finish: string;
  /** Token usage. Undefined if the request did not ask for it. */
  readonly usage: JsonObject | undefined;
}

function* stream(chunk: JsonObject, { message, finish, usage }: Said): Iterable<ServerEvent> {
  const whole = usage === undefined ? chunk : { ...chunk, usage: null };
  const say = (delta: JsonObject, finishReason: string | null = null): ServerEvent => ({
    data: { ...whole, choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }] },
  });
  yield say({ role: 'assistant', content: message.tool_calls === undefined ? '' : null, refusal: null });
  for (const text of cutText(message.reasoning_content ?? '')) yield say({ reasoning_content: text });
  for (const content of cutText(message.content ?? '')) yield say({ content });
  for (const refusal of cutText(message.refusal ?? '')) yield say({ refusal });
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const { name, arguments: given } = call['function'] as { name: string; arguments: string };
    yield say({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] });
    for (const text of cutText(given)) yield say({ tool_calls: [{ index, function: { arguments: text } }] });
  }
  yield say({}, finish);
  if (usage !== undefined) yield { data: { ...chunk, choices: [], usage } };
  yield { data: '[DONE]' };
}
