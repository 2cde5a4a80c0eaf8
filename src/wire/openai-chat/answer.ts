import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';

interface ChatAnswer {
  readonly finish_reason: string | null;
  readonly message: {
    readonly content?: string | null;
    readonly refusal?: string | null;
    readonly tool_calls?: readonly ChatAnswerCall[] | null;
  };
}

interface ChatAnswerCall {
  readonly id: string;
  readonly type: string;
  readonly function?: { readonly name: string; readonly arguments: string };
  readonly custom?: { readonly name: string; readonly input: string };
}

/** Finish reasons that do not mean `complete`. Gateways also send the names of other providers. */
const ENDS: readonly (readonly [name: RegExp, end: AnswerParts['end']])[] = [
  [/^(?:length|model_length|max_tokens|max_output_tokens|error|insufficient_system_resource)$/i, 'cut_off'],
  // z.ai sends `sensitive`. Gemini sends names such as `content_filter: PROHIBITED_CONTENT`.
  [/^(?:content_filter\b.*|sensitive|safety|recitation|refusal|prohibited_content|blocklist|spii)$/i, 'refusal'],
];

function readEnd(reason: string): AnswerParts['end'] {
  return ENDS.find(([name]) => name.test(reason))?.[1] ?? 'complete';
}

export function readChatAnswer({ finish_reason, message }: ChatAnswer): AnswerParts {
  const { content, refusal, tool_calls } = message;
  const end = finish_reason === null ? 'cut_off' : readEnd(finish_reason);
  const isRefusal = typeof refusal === 'string' && refusal !== '';
  return {
    content: content ?? (isRefusal ? refusal : ''),
    toolCalls: (tool_calls ?? []).map(({ id, function: called, custom }) => ({
      id,
      name: called?.name ?? custom?.name ?? '',
      arguments: called?.arguments ?? JSON.stringify({ input: custom?.input ?? '' }),
    })),
    // A stream that broke off has no finish reason.
    end: isRefusal ? 'refusal' : end,
    ...(end === 'refusal' && { isFiltered: true }),
    items: [dropEmptyFields(message)],
  };
}

/** Drops fields that the SDK adds: some servers refuse a message with fields that they did not write. */
function dropEmptyFields(message: ChatAnswer['message']): RawItem {
  const fields = Object.entries(message).filter(([name, value]) => name === 'content' || isFilled(value));
  return Object.fromEntries(fields);
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}
