import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';

/**
 * The fields of a complete Chat Completions answer that turnfold reads. A choice of the SDK's `ChatCompletion` has
 * these fields.
 */
export interface ChatAnswer {
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

/**
 * Maps `finish_reason` to how the answer ended. Unlisted reasons mean `complete`. Only OpenAI-compatible servers, not
 * OpenAI, send the last three.
 */
const ENDS: Readonly<Record<string, AnswerParts['end']>> = {
  length: 'cut_off',
  content_filter: 'refusal',
  model_length: 'cut_off',
  insufficient_system_resource: 'cut_off',
  error: 'cut_off',
};

/**
 * Reads the text, tool calls and verbatim message of a Chat Completions answer. If the model refused, the text of its
 * refusal becomes the answer's text.
 */
export function readChatAnswer({ finish_reason, message }: ChatAnswer): AnswerParts {
  const { content, refusal, tool_calls } = message;
  const isRefusal = typeof refusal === 'string' && refusal !== '';
  return {
    content: content ?? (isRefusal ? refusal : ''),
    toolCalls: (tool_calls ?? []).map(({ id, function: called, custom }) => ({
      id,
      name: called?.name ?? custom?.name ?? '',
      arguments: called?.arguments ?? JSON.stringify({ input: custom?.input ?? '' }),
    })),
    // A stream that broke off has no finish reason.
    end: isRefusal ? 'refusal' : finish_reason === null ? 'cut_off' : (ENDS[finish_reason] ?? 'complete'),
    items: [dropEmptyFields(message)],
  };
}

/** Removes empty fields that the SDK adds. Some servers refuse a message with fields that they did not write. */
function dropEmptyFields(message: ChatAnswer['message']): RawItem {
  const fields = Object.entries(message).filter(([name, value]) => name === 'content' || isFilled(value));
  return Object.fromEntries(fields);
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}
