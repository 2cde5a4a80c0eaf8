import { z } from 'zod';
import { parseInput } from '../../../src/domain/parse.ts';
import { type Part, readParts } from '../../../src/domain/parts.ts';
import type { RawItem } from '../../../src/domain/raw-items.ts';
import { type Marks, NO_ORIGIN } from '../../../src/wire/wire-request.ts';
import { type Piece, restoreMessages, type WireMessages } from '../restore-messages.ts';

const contentSchema = z.union([z.string(), z.array(z.unknown())]).nullish();
const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  refusal: z.string().nullish(),
});
const resultSchema = z.object({ tool_call_id: z.string() });
const bodySchema = z.object({
  model: z.string().default(''),
  messages: z.array(messageSchema),
  tools: z
    .array(
      z.object({
        function: z.object({
          name: z.string(),
          description: z.string().default(''),
          parameters: z.record(z.string(), z.unknown()).default({}),
        }),
      }),
    )
    .default([]),
});

type ReadMessage = z.infer<typeof messageSchema>;

/**
 * Reads a Chat Completions body, with the marks of our renderer or from elsewhere.
 * @throws invalid_input with the field
 */
export function readChat(body: unknown, marks?: Marks): WireMessages {
  const { model, messages, tools } = parseInput(bodySchema, body);
  const pieces = messages.flatMap((message, place) => readMessage(message, place, marks));
  const described = tools.flatMap(({ function: tool }) => (marks?.stubs.has(tool.name) === true ? [] : [tool]));
  return { ...restoreMessages(pieces, { format: 'openai-chat', model, marks }), tools: described };
}

function readMessage(message: ReadMessage, place: number, marks: Marks | undefined): Piece[] {
  const origins = marks?.origins[place];
  const at = (index: number): Pick<Piece, 'place' | 'origin'> =>
    marks === undefined ? { place } : { place, origin: origins?.[index] ?? NO_ORIGIN };
  const { role } = message;
  const parts = partsOf(message.content);
  switch (role) {
    case 'assistant':
      return readAssistant(message, at(0), marks === undefined);
    case 'tool': {
      const { tool_call_id } = parseInput(resultSchema, message, `messages[${place}]`);
      return [{ ...at(0), role, parts, result: { callId: tool_call_id, isError: false } }];
    }
    default:
      return parts.map((part, index) => ({ ...at(index), role: role === 'user' ? role : 'system', parts: [part] }));
  }
}

/** A message is its own raw item. A message from elsewhere is kept as one only if it has unknown fields. */
function readAssistant(message: ReadMessage, at: Pick<Piece, 'place' | 'origin'>, isForeign: boolean): Piece[] {
  const { content, refusal, tool_calls } = message;
  const own = { ...at, role: 'assistant' as const };
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: given } }): Piece => {
    return { ...own, call: { id, name, arguments: given } };
  });
  const item = !isForeign || hasOwnFields(message) ? [{ ...own, item: message }] : [];
  return [{ ...own, parts: partsOf(content ?? refusal) }, ...calls, ...item];
}

function partsOf(content: ReadMessage['content']): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return readParts({ content: '', parts: content ?? [] });
}

/** True if a message has fields of its server, which have no other form. */
function hasOwnFields(message: RawItem): boolean {
  const { role: _role, content: _content, tool_calls: _calls, ...own } = message;
  return Object.values(own).some((value) => value !== null && value !== undefined);
}
