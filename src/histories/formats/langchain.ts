import { isMapping } from '../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import type { ForeignMessages } from './foreign-messages.ts';
import type { HistoryFormat } from './format.ts';
import { LANGCHAIN_TYPES, listFormat } from './message-lists.ts';

/** Messages of LangChain and LangGraph: `lc` dumps, `type` with its fields or with `data`, and saved states of a graph. */
export const langchain: HistoryFormat = listFormat({
  name: 'langchain',
  title: 'messages of LangChain',
  recognizes: (messages) =>
    messages.some(({ role, lc, type }) => role === undefined && (lc !== undefined || isType(type))),
  open: () => unwrapLangchain,
});

function isType(type: unknown): boolean {
  return typeof type === 'string' && LANGCHAIN_TYPES.has(type);
}

/** Names of constructors in `lc` dumps, without `Message` or `MessageChunk`. */
const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  ai: 'assistant',
  system: 'system',
  developer: 'developer',
  tool: 'tool',
  function: 'function',
};

/** Fields of chunks and of calls that could not be parsed, which repeat other fields. */
const REPEATED = ['tool_call_chunks', 'chunk_position', 'lc', 'id', 'type', 'additional_kwargs', 'response_metadata'];

/** Returns a message of LangChain in a form that `readMessagesInSlices` reads. @returns undefined for a removal, after a note */
export function unwrapLangchain(given: Block, at: string, messages: ForeignMessages): unknown {
  const { kind, fields } = openMessage(given);
  if (kind === 'remove') return messages.leaveOut('removals of other messages', at);
  const role = ROLES[kind] ?? textOf(fields['role'] ?? given['role'] ?? kind);
  const kept = Object.fromEntries(Object.entries(fields).filter(([key]) => !REPEATED.includes(key)));
  const calls = listCalls(fields);
  const invalid = fields['invalid_tool_calls'];
  const allCalls = [...calls, ...(Array.isArray(invalid) ? (invalid as unknown[]) : [])];
  return {
    ...kept,
    role,
    content: dropRepeatedCalls(fields['content'], allCalls),
    ...(allCalls.length > 0 && { tool_calls: allCalls }),
  };
}

function openMessage(given: Block): { readonly kind: string; readonly fields: Block } {
  const { lc, id, kwargs, data, type } = given;
  if (lc !== undefined && isMapping(kwargs)) {
    const constructor = Array.isArray(id) ? textOf(id.at(-1)) : '';
    return { kind: kindOf(constructor), fields: kwargs };
  }
  const kind = kindOf(textOf(type));
  return { kind, fields: isMapping(data) ? data : given };
}

function kindOf(name: string): string {
  return name.replace(/Message(?:Chunk)?$/, '').toLowerCase();
}

/** Old versions keep the calls of OpenAI only among other fields of the answer. */
function listCalls({ tool_calls: calls, additional_kwargs: others }: Block): readonly unknown[] {
  if (Array.isArray(calls) && calls.length > 0) return calls;
  const old = isMapping(others) ? others['tool_calls'] : undefined;
  if (Array.isArray(old)) return old;
  const called = isMapping(others) ? others['function_call'] : undefined;
  return isMapping(called) ? [{ function: called }] : [];
}

/** LangChain has a call twice: as the content block of the provider, and in `tool_calls`. */
function dropRepeatedCalls(content: unknown, calls: readonly unknown[]): unknown {
  if (!Array.isArray(content)) return content;
  const ids = new Set(calls.map((call) => (isMapping(call) ? call['id'] : undefined)));
  return content.filter((block: unknown) => {
    if (!isMapping(block)) return true;
    const { type, id, call_id: call } = block;
    if (type === 'input_json_delta') return false;
    return !(['tool_use', 'function_call', 'tool_call'].includes(textOf(type)) && (ids.has(id) || ids.has(call)));
  });
}
