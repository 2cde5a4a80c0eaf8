import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import { isThinking } from '../kept-items.ts';
import type { ArrangedItem, Origin } from '../wire-request.ts';
import { findCompactionBlock, hidesPicture, writeAssistant, writeOwnBlocks, writePart, writeResult } from './blocks.ts';
import type { AnthropicBlock, AnthropicMessage, AnthropicThinking } from './body.ts';

/** A message of the body in the making: neighbours of one role share it (A3). */
export interface Turn {
  readonly role: AnthropicMessage['role'];
  readonly blocks: AnthropicBlock[];
  /** of each block */
  readonly origins: Origin[];
}

export interface LaidTurns {
  readonly turns: readonly Turn[];
  /** messages whose raw items were not sent after all */
  readonly withoutRaw: ReadonlySet<Origin>;
  /** messages that lost something of their own here */
  readonly altered: ReadonlySet<Origin>;
  /** messages of which the model thought more than is sent */
  readonly withoutThinking: ReadonlySet<Origin>;
}

/**
 * Lays arranged messages out as turns that alternate (A2, A3). Results stand behind their call and before what the user said
 * since, because they were arranged so (A4).
 */
export function* layTurns(items: readonly ArrangedItem[]): Sliced<LaidTurns> {
  const turns: Turn[] = [];
  const withoutRaw = new Set<Origin>();
  const altered = new Set<Origin>();
  const withoutThinking = new Set<Origin>();
  yield* forEachInSlices(items, (item, index) => {
    const { role, blocks: written, ...fate } = writeItem(item, index === 0);
    const last = turns.at(-1);
    const turn = last?.role === role ? last : { role, blocks: [], origins: [] };
    const blocks = beginsOtherwise(turn) ? written.filter((block) => !isThinking(block)) : written;
    const isAltered = fate.isAltered || blocks.length < written.length;
    if (!fate.isVerbatim || isAltered) withoutRaw.add(item.origin);
    if (isAltered) altered.add(item.origin);
    if (item.kind === 'assistant' && item.thoughts > blocks.filter(isThinking).length) withoutThinking.add(item.origin);
    if (turn !== last) turns.push(turn);
    turn.blocks.push(...blocks);
    turn.origins.push(...blocks.map(() => item.origin));
  });
  const trimmed = trimEnd(turns.at(-1));
  if (trimmed !== undefined) altered.add(trimmed);
  return { turns, withoutRaw, altered, withoutThinking };
}

/** A7: a turn that holds thinking begins with it; a message that is merged behind another (A3) leaves its own out. */
function beginsOtherwise({ role, blocks: [first] }: Turn): boolean {
  return role === 'assistant' && first !== undefined && !isThinking(first);
}

interface WrittenItem {
  readonly role: Turn['role'];
  readonly blocks: readonly AnthropicBlock[];
  /** they are its raw items, all of them and untouched */
  readonly isVerbatim: boolean;
  /** they leave out something of its own */
  readonly isAltered: boolean;
}

function writeItem(item: ArrangedItem, isFirst: boolean): WrittenItem {
  const ours = { isVerbatim: false, isAltered: false };
  switch (item.kind) {
    case 'assistant': {
      const raw = item.raw === undefined ? undefined : writeOwnBlocks(item);
      if (raw === undefined) return { role: 'assistant', blocks: writeAssistant(item), ...ours };
      const { blocks, isVerbatim } = raw;
      return { role: 'assistant', blocks, isVerbatim, isAltered: !isVerbatim };
    }
    case 'result':
      return { role: 'user', blocks: [writeResult(item)], ...ours, isAltered: hidesPicture(item) };
    case 'user': {
      // A10: the API takes its own compaction only as the very first block, and as the assistant's.
      const compaction = isFirst ? findCompactionBlock(item.raw) : undefined;
      return compaction === undefined
        ? { role: 'user', blocks: item.parts.map(writePart), ...ours }
        : { role: 'assistant', blocks: [compaction], isVerbatim: true, isAltered: false };
    }
  }
}

/**
 * A6: a text at the very end may not end blank, since the model would go on with it.
 * @returns the origin of a text that was cut
 */
function trimEnd(turn: Turn | undefined): Origin | undefined {
  const block = turn?.blocks.at(-1);
  if (turn?.role !== 'assistant' || block?.type !== 'text' || block.text === block.text.trimEnd()) return undefined;
  turn.blocks[turn.blocks.length - 1] = { ...block, text: block.text.trimEnd() };
  return turn.origins.at(-1);
}

/**
 * A7: with thinking on, the API wants all that the model thought in the current tool loop; and where every answer begins with
 * thinking, so does every turn with calls. A model that may choose has lost nothing where it called without a thought. The loop
 * is what the model did since the last turn that is all the user's own; text behind results does not end it.
 */
export function hasLostThinking(
  { turns, withoutThinking }: LaidTurns,
  thinking: Pick<AnthropicThinking, 'type'>,
): boolean {
  const start = turns.findLastIndex(
    ({ role, blocks }) => role === 'user' && blocks.every(({ type }) => type !== 'tool_result'),
  );
  const loop = turns.slice(start + 1).filter(({ role, blocks }) => role === 'assistant' && hasCall(blocks));
  return loop.some(({ blocks, origins }) => {
    const isMissing = thinking.type === 'enabled' && !isThinking(blocks[0] ?? {});
    return isMissing || origins.some((origin) => withoutThinking.has(origin));
  });
}

function hasCall(blocks: readonly AnthropicBlock[]): boolean {
  return blocks.some(({ type }) => type === 'tool_use');
}
