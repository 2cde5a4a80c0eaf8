import { isFixed, type Layout } from './layout.ts';

/** The newest messages of a context, which stay verbatim. */
export interface Tail {
  /** Position of its first item. The number of items if the tail is empty. */
  readonly start: number;
  /** Without the fixed part. */
  readonly tokens: number;
}

/**
 * Newest groups that fit `maxTokens`. Fixed groups are not counted: the budget was reduced by them before.
 * @param mayRelaxFloor false: the retention window belongs to the tail, however large it is
 */
export function findTail(
  { items, groups, groupOf, protections, groupWeights }: Layout,
  maxTokens: number,
  mayRelaxFloor: boolean,
): Tail {
  let tail: Tail = { start: items.length, tokens: 0 };
  let tokens = 0;
  for (let position = items.length - 1; position >= 0; position -= 1) {
    const group = groupOf[position] as number;
    const positions = groups[group]?.positions ?? [];
    const protection = protections[group];
    if (positions.at(-1) === position && !isFixed(protection)) {
      const isFree = mayRelaxFloor || protection !== 'retention';
      tokens += groupWeights[group]?.tokens ?? 0;
      if (isFree && tokens > maxTokens) break;
    }
    // A round belongs to the tail from its first message.
    if (positions[0] === position) tail = { start: position, tokens };
  }
  return tail;
}
