import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import type { Block } from '../../../wire/histories/values.ts';
import { blocksOf, type Survivor } from './kind.ts';

/** How a format keeps results of calls among the content blocks of a message. */
export interface ResultBlocks {
  /** Key of a result block that holds the id of its call. */
  readonly idKey: string;
  readonly replace: (block: Block, result: Message) => Block;
}

/**
 * Writes a message whose content blocks are results of calls, and maybe texts. Blocks that did not change stay as they
 * were given, with all their keys.
 * @returns undefined if the message is not such a message
 */
export function patchResults(
  parts: readonly unknown[],
  survivors: readonly Survivor[],
  { idKey, replace }: ResultBlocks,
): unknown[] | undefined {
  const [part] = parts;
  if (parts.length !== 1 || !isMapping(part) || part['role'] === 'assistant') return undefined;
  const given = blocksOf(part['content']);
  const speeches = survivors.filter(({ message }) => message.role !== 'tool');
  const results = new Map(survivors.map((survivor) => [survivor.message.toolCallId, survivor]));
  if (speeches.length > 1 || !given.some((block) => block[idKey] !== undefined)) return undefined;
  const [speech] = speeches;
  const content = given.flatMap((block): Block[] => {
    const id = block[idKey];
    // A message of a tool has no text, but may have answers to requests for approval.
    if (id === undefined) return part['role'] === 'tool' || speech?.isChanged === false ? [block] : [];
    const result = results.get(id as string);
    if (result === undefined) return [];
    return [result.isChanged ? replace(block, result.message) : block];
  });
  if (speech?.isChanged === true) content.push({ type: 'text', text: speech.message.content });
  const written = content.filter((block) => block[idKey] !== undefined).length;
  return written === survivors.length - speeches.length ? [{ ...part, content }] : undefined;
}
