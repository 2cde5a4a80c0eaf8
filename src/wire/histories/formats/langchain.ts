import { isMapping } from '../../../domain/parse.ts';
import { type Block, blocksIn, toText, withoutFields } from '../values.ts';
import type { ForeignMessages, HistoryFormat } from './format.ts';
import { LANGCHAIN_TYPES, listFormat } from './message-lists.ts';

/** LangChain and LangGraph: `lc` dumps, `type` with its fields or with `data`, and saved states of a graph. */
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

/** Roles by `type`, or by the class in an `lc` dump, in lower case and without `Message` or `MessageChunk`. */
const ROLES: ReadonlyMap<string, string> = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ...['system', 'developer', 'tool', 'function'].map((role) => [role, role] as const),
]);

/** Fields of chunks and dumps that repeat other fields. */
const REPEATED = new Set(['tool_call_chunks', 'chunk_position', 'lc', 'id', 'type', 'response_metadata']);

/** @returns undefined for a message that removes an earlier message. The removal is only noted */
export function unwrapLangchain(given: Block, at: string, messages: ForeignMessages): unknown {
  const { kind, fields } = openMessage(given);
  if (kind === 'remove') return messages.leaveOut('removals of other messages', at);
  const role = ROLES.get(kind) ?? toText(fields['role'] ?? given['role'] ?? kind);
  return { ...withoutFields(fields, REPEATED), role, content: dropRepeatedCalls(fields) };
}

function openMessage(given: Block): { readonly kind: string; readonly fields: Block } {
  const { lc, id, kwargs, data, type } = given;
  if (lc !== undefined && isMapping(kwargs)) {
    const constructor = Array.isArray(id) ? toText(id.at(-1)) : '';
    return { kind: kindOf(constructor), fields: kwargs };
  }
  const kind = kindOf(toText(type));
  return { kind, fields: isMapping(data) ? data : given };
}

function kindOf(name: string): string {
  return name.replace(/Message(?:Chunk)?$/, '').toLowerCase();
}

/** Drops content blocks with calls that `tool_calls` or `invalid_tool_calls` list, too. */
function dropRepeatedCalls({ content, ...fields }: Block): unknown {
  if (!Array.isArray(content)) return content;
  const ids = new Set(
    ['tool_calls', 'invalid_tool_calls'].flatMap((field) => blocksIn(fields[field]).map(({ id }) => id)),
  );
  return content.filter((block: unknown) => {
    if (!isMapping(block)) return true;
    const { type, id, call_id: call } = block;
    if (type === 'input_json_delta') return false;
    return !(CALL_BLOCKS.has(toText(type)) && (ids.has(id) || ids.has(call)));
  });
}

const CALL_BLOCKS: ReadonlySet<string> = new Set(
  'tool_use function_call tool_call invalid_tool_call tool_call_chunk'.split(' '),
);
