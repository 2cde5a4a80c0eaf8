import { isObject, type JsonObject, readObjects, readText } from '../json.ts';
import type { PlacedBlock } from './refuse.ts';

/** A message of the request with its content as a list of blocks. A string is one text block. */
export interface Turn {
  readonly role: string;
  readonly index: number;
  readonly content: unknown;
  readonly blocks: readonly PlacedBlock[];
}

export function readTurns(body: JsonObject): Turn[] {
  return readObjects(body['messages']).map(({ role, content }, index) => ({
    role: readText(role),
    index,
    content,
    blocks: toBlocks(content).map((block, position) => ({
      block,
      type: readText(block['type']),
      path: `messages.${index}.content.${position}`,
    })),
  }));
}

export function toBlocks(content: unknown): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : readObjects(content);
}

export function blocksOf(turn: Turn | undefined, type: string): readonly PlacedBlock[] {
  return turn?.blocks.filter((block) => block.type === type) ?? [];
}

export function isThinking({ type }: PlacedBlock): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

export function isThinkingOn(body: JsonObject): boolean {
  const thinking = body['thinking'];
  return isObject(thinking) && thinking['type'] !== 'disabled';
}

/**
 * Returns the assistant messages of the current tool loop: those after the last user message with content other than
 * tool results.
 */
export function readOpenLoop(turns: readonly Turn[]): Turn[] {
  const isQuestion = (turn: Turn): boolean => turn.role === 'user' && blocksOf(turn, 'tool_result').length === 0;
  const start = turns.findLastIndex(isQuestion) + 1;
  return turns.slice(start).filter(({ role }) => role === 'assistant');
}
