import type { ModelAnswer } from '../../domain/model.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isCall, joinTexts } from './own-items.ts';

/** What of a whole (accumulated) answer is read here; the SDK's `Response` is one. */
export interface ResponsesAnswer {
  readonly status?: string | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
  readonly output: readonly { readonly type: string }[];
}

/** Text, calls and verbatim items of an answer. A refusal's own words are its text. */
export function readResponsesAnswer(response: ResponsesAnswer): AnswerParts {
  const items = response.output.map((item): RawItem => ({ ...item }));
  return {
    content: joinTexts(items),
    toolCalls: items.filter(isCall).map((item) => ({
      id: String(item['call_id']),
      name: String(item.name),
      arguments: String(item['arguments']),
    })),
    end: endOf(response, items),
    items,
  };
}

function endOf(
  { status, incomplete_details }: ResponsesAnswer,
  items: readonly RawItem[],
): NonNullable<ModelAnswer['end']> {
  if (items.some(isRefusal) || incomplete_details?.reason === 'content_filter') return 'refusal';
  return status === 'completed' ? 'complete' : 'cut_off';
}

function isRefusal({ content }: RawItem): boolean {
  return Array.isArray(content) && content.some((part: unknown) => isMapping(part) && part['type'] === 'refusal');
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
