import { z } from 'zod';
import { parseInput } from '../../../src/domain/parse.ts';
import { type Part, readParts } from '../../../src/domain/parts.ts';
import type { RawItem } from '../../../src/domain/raw-items.ts';
import { type Marks, NO_ORIGIN, type Origin } from '../../../src/wire/wire-request.ts';
import { type Piece, restoreMessages, type WireMessages } from '../restore-messages.ts';

/** Blocks are kept as they are. Only fields that are read are checked. */
const blockSchema = z.custom<RawItem & { type: string }>(
  (value) => typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string',
  'expected a block with a type',
);
const contentSchema = z
  .union([z.string(), z.array(blockSchema)])
  .transform((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
const toolUseSchema = z.object({ id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) });
const toolResultSchema = z.object({
  tool_use_id: z.string(),
  content: contentSchema.default([]),
  is_error: z.boolean().default(false),
});
const bodySchema = z.object({
  model: z.string().default(''),
  system: contentSchema.default([]),
  messages: z.array(z.object({ role: z.enum(['user', 'assistant', 'system']), content: contentSchema })),
  tools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().default(''),
        input_schema: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .default([]),
});

interface ReadBlock {
  readonly block: RawItem;
  /** Path of the block in the body. */
  readonly path: string;
  readonly place: number;
  readonly origin?: Origin;
}

/**
 * Reads a Messages body, with the marks of our renderer or from elsewhere.
 * @throws invalid_input with the field
 */
export function readAnthropic(body: unknown, marks?: Marks): WireMessages {
  const { model, system, messages, tools } = parseInput(bodySchema, body);
  const originOf = (origins: readonly Origin[] | undefined, index: number): { origin?: Origin } =>
    marks === undefined ? {} : { origin: origins?.[index] ?? NO_ORIGIN };
  const pieces = [
    ...system.map((block, index): Piece => {
      const given = { block, path: `system[${index}]`, place: -1, ...originOf(marks?.system, index) };
      return { ...placeOf(given), role: 'system', parts: partsOf([block]) };
    }),
    ...messages.flatMap(({ role, content }, place) =>
      content.map((block, index): Piece => {
        const path = `messages[${place}].content[${index}]`;
        const given = { block, path, place, ...originOf(marks?.origins[place], index) };
        return role === 'assistant' ? readOwnBlock(given) : readGivenBlock(given, role);
      }),
    ),
  ];
  const described = tools
    .filter(({ name }) => marks?.stubs.has(name) !== true)
    .map(({ name, description, input_schema }) => ({ name, description, parameters: input_schema }));
  return { ...restoreMessages(pieces, { format: 'anthropic', model, marks }), tools: described };
}

/** Reads an assistant block. A block other than text, picture or call is kept as a raw item. */
function readOwnBlock(given: ReadBlock): Piece {
  const { cache_control: _ours, ...item } = given.block;
  const own = { ...placeOf(given), role: 'assistant' as const, item };
  if (item.type === 'tool_use') {
    const { id, name, input } = parseInput(toolUseSchema, item, given.path);
    return { ...own, call: { id, name, arguments: JSON.stringify(input) } };
  }
  const parts = partsOf([item]).filter((part) => part.kind !== 'other');
  return parts.length === 0 ? own : { ...own, parts };
}

/** Reads a block of a user or system message. */
function readGivenBlock(given: ReadBlock, role: 'user' | 'system'): Piece {
  if (given.block.type !== 'tool_result') return { ...placeOf(given), role, parts: partsOf([given.block]) };
  const { tool_use_id, content, is_error } = parseInput(toolResultSchema, given.block, given.path);
  const result = { callId: tool_use_id, isError: is_error };
  return { ...placeOf(given), role: 'tool', parts: partsOf(content), result };
}

function placeOf({ place, origin }: ReadBlock): Pick<Piece, 'place' | 'origin'> {
  return { place, ...(origin === undefined ? {} : { origin }) };
}

function partsOf(blocks: readonly RawItem[]): Part[] {
  return readParts({ content: '', parts: [...blocks] });
}
