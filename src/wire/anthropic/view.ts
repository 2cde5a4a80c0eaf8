import { z } from 'zod';
import { type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import { isMapping } from '../../domain/parse.ts';
import {
  BodyReader,
  type BodyView,
  contentSchema,
  isGiven,
  listSchema,
  NO_POSITION,
  type Position,
  type ViewedMessage,
  writeInSlices,
} from '../rules/body-view.ts';

export type PlacedBlock = BodyBlock & { readonly path: string };

interface AnthropicTurn {
  readonly path: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: readonly PlacedBlock[];
}

export interface AnthropicView extends BodyView {
  readonly turns: readonly AnthropicTurn[];
  /** Index of the message after the last user message without tool results. */
  readonly loopStart: Position;
  readonly blocks: readonly PlacedBlock[];
  readonly requiresThinking: boolean;
  readonly thinkingBudget?: { readonly tokens: unknown; readonly maxTokens: unknown };
  readonly cacheMarks: readonly string[];
}

const MAX_NAME_LENGTH = 128;

const bodySchema = z.object({
  messages: listSchema,
  system: contentSchema.optional(),
  tools: listSchema.optional(),
  max_tokens: z.unknown().optional(),
  thinking: z.object({ type: z.string(), budget_tokens: z.unknown().optional() }).optional(),
  cache_control: z.unknown().optional(),
});
const toolSchema = z.object({ name: z.string().optional(), cache_control: z.unknown().optional() });
const messageSchema = z.object({ role: z.enum(['user', 'assistant', 'system']), content: contentSchema });

export function* viewAnthropic(body: unknown): Interruptible<AnthropicView> {
  const reading = new AnthropicReading();
  const read = reading.read(bodySchema, body, '');
  const { system = [], messages = [], thinking, max_tokens } = read ?? {};
  const tools = (read?.tools ?? []).map((tool, index) => reading.read(toolSchema, tool, `tools[${index}]`) ?? {});
  tools.forEach((tool, index) => reading.seeMark(tool, `tools[${index}]`));
  if (read?.system !== undefined) reading.readBlocks(system, 'system', NO_POSITION);
  const turns = yield* mapInSlices(messages, (message, index) => reading.readTurn(message, index));
  reading.seeMark(read ?? {}, '');
  const loopStart = 1 + turns.findLastIndex(({ role, blocks }) => role === 'user' && !blocks.some(isResult));
  const viewed = yield* mapInSlices(turns, viewTurn);
  const blocks = turns.flatMap((turn) => turn.blocks);
  yield;
  const written = yield* writeInSlices(body, 'messages');
  return {
    ...reading.seen,
    body,
    written,
    messages: viewed,
    turns,
    loopStart,
    blocks,
    tools: tools.flatMap(({ name }, index) => (name === undefined ? [] : [{ path: `tools[${index}]`, name }])),
    maxNameLength: MAX_NAME_LENGTH,
    requiresThinking: thinking?.type === 'enabled',
    ...(thinking?.budget_tokens === undefined
      ? {}
      : { thinkingBudget: { tokens: thinking.budget_tokens, maxTokens: max_tokens } }),
    cacheMarks: reading.cacheMarks,
  };
}

class AnthropicReading extends BodyReader {
  readonly cacheMarks: string[] = [];

  readTurn(value: unknown, position: Position): AnthropicTurn {
    const path = `messages[${position}]`;
    const read = this.read(messageSchema, value, path);
    if (read === undefined) return { path, role: 'user', blocks: [] };
    const { role, content } = read;
    const blocks = this.readBlocks(content, `${path}.content`, position);
    for (const block of blocks) this.#see(block, role, position);
    return { path, role, blocks };
  }

  readBlocks(content: string | readonly unknown[], path: string, position: Position): PlacedBlock[] {
    const blocks: PlacedBlock[] = typeof content === 'string' ? [{ type: 'text', text: content, path }] : [];
    this.readContent(content, { path, position }, (value, at) => {
      const block = readBodyBlock(value);
      if (block === undefined) return this.report(at, 'the block lacks fields that its type requires');
      if (block.type === 'text') this.texts.push({ path: at, text: block.text, position });
      this.seeMark(block, at);
      blocks.push({ ...block, path: at });
    });
    return blocks;
  }

  seeMark(marked: { readonly cache_control?: unknown }, path: string): void {
    if (isMarked(marked)) this.cacheMarks.push(path);
  }

  #see(block: PlacedBlock, role: AnthropicTurn['role'], position: Position): void {
    const { path } = block;
    if (block.type === 'tool_use') {
      const { id, name, input } = block;
      const misplaced = `a tool call in a message with the role ${role}: only assistant messages may have tool calls`;
      if (role !== 'assistant') this.report(path, misplaced);
      this.calls.push({ path, id, name, input, position, answer: position });
    }
    if (block.type === 'tool_result') {
      if (role !== 'user')
        this.report(path, `a tool result in a message with the role ${role}: only user messages may have results`);
      this.results.push({ path, callId: block.tool_use_id, position });
      if (block.content !== undefined) this.readBlocks(block.content, `${path}.content`, position);
    }
  }
}

function viewTurn({ path, role, blocks }: AnthropicTurn, position: Position): ViewedMessage {
  if (role === 'system') return { path, author: 'system' };
  if (role === 'assistant') {
    return { path, author: 'assistant', answer: position, isCompaction: blocks[0]?.type === 'compaction' };
  }
  const holdsResults = blocks.length > 0 && blocks.every(isResult);
  return { path, author: holdsResults ? 'result' : 'user' };
}

function isResult({ type }: PlacedBlock): boolean {
  return type === 'tool_result';
}

const unchecked = z.unknown().optional();
const cacheMark = { cache_control: unchecked };
const toolUse = { type: z.literal('tool_use'), id: z.string(), name: z.string(), input: unchecked };
const toolResult = { type: z.literal('tool_result'), tool_use_id: z.string(), is_error: unchecked };

const knownSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), ...cacheMark }),
  z.object({ ...toolUse, ...cacheMark }),
  z.object({ ...toolResult, content: contentSchema.optional(), ...cacheMark }),
  z.object({ type: z.literal('thinking'), thinking: unchecked, signature: unchecked, ...cacheMark }),
  z.object({ type: z.literal('redacted_thinking'), data: unchecked, ...cacheMark }),
  z.object({ type: z.literal('compaction'), content: unchecked, ...cacheMark }),
]);

/** Pictures, documents, server tools, and types that do not exist yet. */
const otherSchema = z.object({
  type: z.string(),
  id: z.string().optional(),
  tool_use_id: z.string().optional(),
  ...cacheMark,
});

type KnownBlock = z.infer<typeof knownSchema>;

interface OtherBlock extends Omit<z.infer<typeof otherSchema>, 'type'> {
  readonly type: 'other';
  readonly kind: string;
}

type BodyBlock = KnownBlock | OtherBlock;

const KNOWN_KINDS: ReadonlySet<unknown> = new Set(knownSchema.options.map(({ shape }) => shape.type.value));

export function isMarked({ cache_control }: { readonly cache_control?: unknown }): boolean {
  return isGiven(cache_control);
}

export function readBodyBlock(value: unknown): BodyBlock | undefined {
  if (isMapping(value) && KNOWN_KINDS.has(value['type'])) return knownSchema.safeParse(value).data;
  const { type: kind, ...rest } = otherSchema.safeParse(value).data ?? {};
  return kind === undefined ? undefined : { type: 'other', kind, ...rest };
}
