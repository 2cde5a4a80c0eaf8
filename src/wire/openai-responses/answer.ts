import { isMapping } from '../../domain/parse.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isOwnCall, joinOutputTexts } from './layout.ts';

/** The fields of a complete Responses API answer that turnfold reads. The SDK's `Response` has these fields. */
export interface ResponsesAnswer {
  readonly status?: string | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
  readonly output: readonly { readonly type: string }[];
}

/** Fields that the SDK adds to items, or that only answers have. The API refuses them in a request. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set(['parsed_arguments', 'created_by']);

/**
 * Reads the text, tool calls and verbatim items of a Responses API answer. If the model refused, the text of its
 * refusal becomes the answer's text.
 */
export function readResponsesAnswer(response: ResponsesAnswer): AnswerParts {
  const items = response.output.map(readItem);
  return {
    content: joinOutputTexts(items),
    toolCalls: items.filter(isOwnCall).map((item) => ({
      id: String(item['call_id']),
      name: String(item.name),
      arguments: String(item['arguments']),
    })),
    end: endOf(response, items),
    items,
  };
}

function readItem(item: object): RawItem {
  const fields = Object.entries(item).filter(([name]) => !ANSWER_FIELDS.has(name));
  return Object.fromEntries(fields.map(([name, value]) => [name, name === 'content' ? dropParsed(value) : value]));
}

/** Removes the field `parsed` that the SDK's parser adds to each text, because the API refuses it in a request. */
function dropParsed(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    if (!isMapping(part) || !('parsed' in part)) return part;
    const { parsed: _, ...rest } = part;
    return rest;
  });
}

function endOf({ status, incomplete_details }: ResponsesAnswer, items: readonly RawItem[]): AnswerParts['end'] {
  if (items.some(isRefusal) || incomplete_details?.reason === 'content_filter') return 'refusal';
  return status === 'completed' ? 'complete' : 'cut_off';
}

function isRefusal({ content }: RawItem): boolean {
  return Array.isArray(content) && content.some((part: unknown) => isMapping(part) && part['type'] === 'refusal');
}
