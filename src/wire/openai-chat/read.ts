import { z } from 'zod';
import { parseInput } from '../../domain/parse.ts';
import { type Part, readParts } from '../../domain/parts.ts';
import { type Piece, restoreMessages } from '../restore.ts';
import { type Marks, NO_ORIGIN, type WireMessages } from '../wire-request.ts';

const contentSchema = z.union([z.string(), z.array(z.unknown())]).nullish();
const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().optional(),
});
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
 * Reads a Chat Completions body, ours with its marks or another's without.
 * @throws invalid_input, with the field
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
      return readAssistant(message, parts, at(0), marks === undefined);
    case 'tool': {
      const callId = message.tool_call_id ?? '';
      return [{ ...at(0), role, parts, result: { callId, isError: false } }];
    }
    default:
      return parts.map((part, index) => ({ ...at(index), role: role === 'user' ? role : 'system', parts: [part] }));
  }
}

function readAssistant(
  message: ReadMessage,
  parts: readonly Part[],
  at: Pick<Piece, 'place' | 'origin'>,
  isForeign: boolean,
): Piece[] {
  const calls = (message.tool_calls ?? []).map(
    ({ id, function: call }): Piece => ({
      ...at,
      role: 'assistant',
      call: { id, ...call },
    }),
  );
  const hasReasoning = message['reasoning_content'] !== undefined && message['reasoning_content'] !== null;
  const own: Piece[] = isForeign && hasReasoning ? [{ ...at, role: 'assistant', item: message }] : [];
  return [{ ...at, role: 'assistant', parts }, ...calls, ...own];
}

function partsOf(content: ReadMessage['content']): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return readParts({ content: '', parts: content ?? [] });
}
