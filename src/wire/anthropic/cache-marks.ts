import type { AnthropicBlock, CacheControl } from './body.ts';
import type { Turn } from './turns.ts';

const MARK: { readonly cache_control: CacheControl } = { cache_control: { type: 'ephemeral' } };

/** Kinds that take a mark. Thinking must not bear one, and what only the provider knows goes back as it came. */
const MARKABLE: ReadonlySet<string> = new Set([
  'text',
  'image',
  'tool_use',
  'tool_result',
] satisfies AnthropicBlock['type'][]);

/**
 * A9: marks the tail and the end of the last summary, which outlives what grows behind it. With the one on system or tools
 * that is three of the four that the API takes.
 */
export function markMessages(turns: readonly Turn[], isSummary: (origin: number) => boolean): void {
  for (const turn of turns.toReversed()) {
    const index = turn.origins.findLastIndex(isSummary);
    if (index < 0) continue;
    markBlock(turn, index);
    break;
  }
  const tail = turns.at(-1);
  if (tail !== undefined) markBlock(tail, tail.blocks.findLastIndex(isMarkable));
}

/** Marks the last of a list of system texts or tools. */
export function markLast<T>(list: readonly T[]): T[] {
  return list.map((entry, index) => (index === list.length - 1 ? { ...entry, ...MARK } : entry));
}

function markBlock({ blocks }: Turn, index: number): void {
  const block = blocks[index];
  if (block === undefined || !isMarkable(block)) return;
  blocks[index] = { ...block, ...MARK };
}

function isMarkable(block: AnthropicBlock): boolean {
  return MARKABLE.has(block.type);
}
