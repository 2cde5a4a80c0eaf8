import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';

/** The fields that we read of a whole answer. A choice of the SDK's `ChatCompletion` has them. */
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

/** Ends by finish reason. Any other reason is `complete`. The last three come from compatible servers. */
const ENDS: Readonly<Record<string, AnswerParts['end']>> = {
  length: 'cut_off',
  content_filter: 'refusal',
  model_length: 'cut_off',
  insufficient_system_resource: 'cut_off',
  error: 'cut_off',
};

/** The words of a refusal become the text of the answer. */
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

/** Drops the empty fields that the SDK adds: some servers refuse fields that they did not write. */
function dropEmptyFields(message: ChatAnswer['message']): RawItem {
  const fields = Object.entries(message).filter(([name, value]) => name === 'content' || isFilled(value));
  return Object.fromEntries(fields);
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}
