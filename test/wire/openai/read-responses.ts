import { z } from 'zod';
import { parseInput } from '../../../src/domain/parse.ts';
import { type Part, readParts } from '../../../src/domain/parts.ts';
import type { RawItem } from '../../../src/domain/raw-items.ts';
import { type Marks, NO_ORIGIN } from '../../../src/wire/wire-request.ts';
import { type Piece, restoreMessages, type WireMessages } from '../restore-messages.ts';

const contentSchema = z.union([z.string(), z.array(z.unknown())]);
const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: contentSchema,
});
const callSchema = z.object({ call_id: z.string(), name: z.string(), arguments: z.string() });
const outputSchema = z.object({ call_id: z.string(), output: contentSchema });
const itemSchema = z.custom<RawItem>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an item',
);
const bodySchema = z.object({
  model: z.string().default(''),
  instructions: z.string().nullish(),
  input: z
    .union([z.string(), z.array(itemSchema)])
    .transform((input): RawItem[] => (typeof input === 'string' ? [{ role: 'user', content: input }] : input)),
  tools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().default(''),
        parameters: z.record(z.string(), z.unknown()).nullish(),
      }),
    )
    .default([]),
});

/**
 * Reads a Responses body, with the marks of our renderer or from elsewhere.
 * @throws invalid_input with the field
 */
export function readResponses(body: unknown, marks?: Marks): WireMessages {
  const { model, instructions, input, tools } = parseInput(bodySchema, body);
  const prompt: Piece[] =
    typeof instructions === 'string'
      ? [
          {
            place: -1,
            role: 'system',
            parts: [{ kind: 'text', text: instructions }],
            ...(marks && { origin: NO_ORIGIN }),
          },
        ]
      : [];
  const places = placesOf(input);
  const pieces = input.flatMap((item, index) => {
    const path = `input[${index}]`;
    const place = places[index] as number;
    return readItem(item, path).map((piece, part): Piece => {
      const origins = marks?.origins[index];
      return { ...piece, place, ...(marks && { origin: origins?.[part] ?? origins?.[0] ?? NO_ORIGIN }) };
    });
  });
  const described = tools
    .filter(({ name }) => marks?.stubs.has(name) !== true)
    .map(({ name, description, parameters }) => ({ name, description, parameters: parameters ?? {} }));
  return { ...restoreMessages([...prompt, ...pieces], { format: 'openai-responses', model, marks }), tools: described };
}

/** Without marks, the items of one answer form one message, from its reasoning to its last call (R5). */
function placesOf(input: readonly RawItem[]): number[] {
  let place = 0;
  let hasCalls = false;
  return input.map((item, index) => {
    const previous = input[index - 1];
    const isOwn = isOfAnswer(item);
    const continues = isOwn && previous !== undefined && isOfAnswer(previous) && !startsAnswer(item, hasCalls);
    if (!continues) {
      place += 1;
      hasCalls = false;
    }
    hasCalls ||= item.type === 'function_call';
    return place;
  });
}

function isOfAnswer({ type, role }: RawItem): boolean {
  return role === 'assistant' || (typeof type === 'string' && type !== 'message' && !type.endsWith('_output'));
}

/** Behind a call, an answer has only more calls. */
function startsAnswer({ type }: RawItem, hasCalls: boolean): boolean {
  return hasCalls && type !== 'function_call';
}

type ReadPiece = Omit<Piece, 'place' | 'origin'>;

function readItem(item: RawItem, path: string): ReadPiece[] {
  if (item.type === 'function_call_output') {
    const { call_id, output } = parseInput(outputSchema, item, path);
    return [{ role: 'tool', parts: partsOf(output), result: { callId: call_id, isError: false } }];
  }
  if (item.type === 'function_call') {
    const { call_id, name, arguments: given } = parseInput(callSchema, item, path);
    return [{ role: 'assistant', item, call: { id: call_id, name, arguments: given } }];
  }
  if (item.type !== undefined && item.type !== 'message') return [{ role: roleOf(item), item }];
  const { role, content } = parseInput(messageSchema, item, path);
  const parts = partsOf(content);
  if (role === 'assistant') return [{ role, item, parts }];
  return parts.map((part) => ({ role: role === 'user' ? role : 'system', parts: [part] }));
}

/** A compaction is a user message here. Only its mark makes it a summary. */
function roleOf({ type }: RawItem): 'user' | 'assistant' {
  return type === 'compaction' ? 'user' : 'assistant';
}

function partsOf(content: z.infer<typeof contentSchema>): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return content.map((part): Part => {
    const refusal = typeof part === 'object' && part !== null && 'refusal' in part ? part.refusal : undefined;
    if (typeof refusal === 'string') return { kind: 'text', text: refusal };
    return readParts({ content: '', parts: [part] })[0] as Part;
  });
}
