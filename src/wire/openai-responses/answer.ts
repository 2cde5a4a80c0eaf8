import type { ToolCall } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { completeCalls } from '../answer-calls.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isFunctionCall, joinOutputTexts } from './layout.ts';

export interface ResponsesAnswer {
  readonly status?: string | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
  readonly output: readonly { readonly type: string }[];
}

/** Fields of the SDK or of answers, which the API refuses in a request. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set(['parsed_arguments', 'created_by']);

export function readResponsesAnswer(response: ResponsesAnswer): AnswerParts {
  const received = response.output.map(readItem);
  const toolCalls = completeCalls(
    received.filter(isFunctionCall).map((item) => ({ ...item, id: item['call_id'] ?? item['id'] })),
  );
  const left = toolCalls.values();
  const items = received.map((item) => {
    if (!isFunctionCall(item)) return item;
    const { id, name, arguments: given } = left.next().value as ToolCall;
    return { ...item, call_id: id, name, arguments: given };
  });
  const isFiltered = response.incomplete_details?.reason === 'content_filter';
  const end =
    isFiltered || items.some(isRefusal) ? 'refusal' : response.status === 'completed' ? 'complete' : 'cut_off';
  return { content: joinOutputTexts(items), toolCalls, end, ...(isFiltered && { isFiltered }), items };
}

function readItem(item: object): RawItem {
  const fields = Object.entries(item).filter(([name]) => !ANSWER_FIELDS.has(name));
  return Object.fromEntries(fields.map(([name, value]) => [name, name === 'content' ? dropParsed(value) : value]));
}

function dropParsed(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    if (!isMapping(part) || !('parsed' in part)) return part;
    const { parsed: _, ...rest } = part;
    return rest;
  });
}

function isRefusal({ content }: RawItem): boolean {
  return Array.isArray(content) && content.some((part: unknown) => isMapping(part) && part['type'] === 'refusal');
}
