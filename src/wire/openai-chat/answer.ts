import type { AnswerParts } from '../wire-request.ts';

/** What of a whole (accumulated) answer is read here; a choice of the SDK's `ChatCompletion` is one. */
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

/** Text, calls and the verbatim message of an answer. A refusal's own words are its text. */
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
    end: isRefusal || finish_reason === 'content_filter' ? 'refusal' : endOf(finish_reason),
    items: [{ ...message }],
  };
}

/** Without a reason the stream broke off. */
function endOf(reason: string | null): 'complete' | 'cut_off' {
  return reason === 'length' || reason === null ? 'cut_off' : 'complete';
}
