import { z } from 'zod';
import { mapInSlices, type Sliced } from '../../../domain/sliced.ts';
import { writeInSlices } from '../../rules/json.ts';
import { BodyReading } from '../../rules/reading.ts';
import { type BodyView, NO_POSITION, type Position, type ViewedMessage } from '../../rules/view.ts';
import { type Block, isMarked, readBlock } from './blocks.ts';

/** A block with its place. A text in short form is a block too. */
export type PlacedBlock = Block & { readonly path: string };

export interface AnthropicTurn {
  readonly path: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: readonly PlacedBlock[];
}

export interface AnthropicView extends BodyView {
  readonly turns: readonly AnthropicTurn[];
  /** where the current tool loop begins: behind the last turn that is all the user's own, since a text behind results ends none */
  readonly loopStart: Position;
  /** of all turns */
  readonly blocks: readonly PlacedBlock[];
  /** the request makes every answer begin with thinking */
  readonly requiresThinking: boolean;
  /** where thinking has a budget, and the output cap that it is a part of */
  readonly thinkingBudget?: { readonly tokens: unknown; readonly maxTokens: unknown };
  /** what carries a cache mark, in the order in which the provider reads it */
  readonly cacheMarks: readonly string[];
}

const MAX_NAME_LENGTH = 128;

const contentSchema = z.union([z.string(), z.array(z.unknown())]);
const bodySchema = z.object({
  messages: z.array(z.unknown()),
  system: contentSchema.optional(),
  tools: z.array(z.unknown()).optional(),
  max_tokens: z.unknown().optional(),
  thinking: z.object({ type: z.string(), budget_tokens: z.unknown().optional() }).optional(),
  cache_control: z.unknown().optional(),
});
const toolSchema = z.object({ name: z.string().optional(), cache_control: z.unknown().optional() });
const messageSchema = z.object({ role: z.enum(['user', 'assistant', 'system']), content: contentSchema });

/** Reads a body of any shape; what cannot be read is told, and the rest is seen. */
export function* viewAnthropic(body: unknown): Sliced<AnthropicView> {
  const reading = new AnthropicReading();
  const read = reading.read(bodySchema, body, '');
  const { system = [], messages = [], thinking, max_tokens } = read ?? {};
  const tools = (read?.tools ?? []).map((tool, index) => reading.read(toolSchema, tool, `tools[${index}]`) ?? {});
  tools.forEach((tool, index) => reading.seeMark(tool, `tools[${index}]`));
  if (read?.system !== undefined) reading.readBlocks(system, 'system', NO_POSITION);
  const turns = yield* mapInSlices(messages, (message, index) => reading.readTurn(message, index));
  reading.seeMark(read ?? {}, '');
  const loopStart = 1 + turns.findLastIndex(({ role, blocks }) => role === 'user' && !blocks.some(isResult));
  const calls = yield* mapInSlices(reading.calls, (call) => ({
    ...call,
    mayBeUndescribed: call.position >= loopStart,
  }));
  const viewed = yield* mapInSlices(turns, viewTurn);
  const blocks = turns.flatMap((turn) => turn.blocks);
  yield;
  const written = yield* writeInSlices(body, 'messages');
  return {
    ...reading.seen,
    calls,
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

class AnthropicReading extends BodyReading {
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

  /** Blocks of one list, whatever they are; texts and cache marks are seen wherever they stand. */
  readBlocks(content: string | readonly unknown[], path: string, position: Position): PlacedBlock[] {
    const blocks: PlacedBlock[] = typeof content === 'string' ? [{ type: 'text', text: content, path }] : [];
    this.readContent(content, { path, position }, (value, at) => {
      const block = readBlock(value);
      if (block === undefined) return this.tell(at, 'no block of the kind that its type says');
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
      if (role !== 'assistant') this.tell(path, `a call in a message of the ${role}`);
      const { id, name, input } = block;
      this.calls.push({ path, id, name, input, position, answer: position });
    }
    if (block.type === 'tool_result') {
      if (role !== 'user') this.tell(path, `a result in a message of the ${role}`);
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
