import type { Context, ContextItem } from '../../src/domain/context.ts';
import { weighItems } from '../../src/domain/context.ts';
import { type Group, groupMessages } from '../../src/domain/group.ts';
import type { Message, Weight } from '../../src/domain/message.ts';
import type { Policy } from '../../src/domain/policy.ts';

/** A context, and what says which of its messages stay. */
export interface Held {
  readonly policy: Policy;
  readonly context: Context;
  /** the log's first user message */
  readonly firstUserSeq: number | undefined;
}

/**
 * Why a group is kept. `fixed`: system, pins, open rounds and the live user message. `unread`: rounds with a result that the
 * model has not read. They may be clipped and never go. `floor`: the rest of the floor, which yields to hard reasons.
 */
export type Hold = 'fixed' | 'unread' | 'floor';

export interface HeldGroup extends Group {
  readonly hold: Hold | undefined;
  readonly items: readonly ContextItem[];
}

/** The groups of a context, oldest first. Written from the design's words, without what plans and settles. */
export function holdGroups({ policy, context: { items }, firstUserSeq }: Held): HeldGroup[] {
  const said = items.map(({ message }) => message);
  const live = said.findLastIndex(({ role }) => role === 'user');
  // A summary covers the first user message as well.
  const lastSaid = said.findLastIndex(({ role }) => role === 'assistant' || role === 'summary');
  const windowStart = items.length - policy.retentionWindow;
  return groupMessages(said).map((group) => {
    const { positions, isOpen, kind } = group;
    const own = positions.map((position) => items[position] as ContextItem);
    const isFixed = kind === 'system' || isOpen || positions.includes(live) || own.some(isPinned);
    const isFloor =
      positions.some((position) => position >= windowStart) ||
      (policy.keepFirstUser && own.some((item) => holdsSeq(item, firstUserSeq)));
    const isUnread = kind === 'round' && positions.some((position) => position > lastSaid);
    const hold = isFixed ? 'fixed' : isUnread ? 'unread' : isFloor ? 'floor' : undefined;
    return { ...group, items: own, hold };
  });
}

/** Groups that yield, in their order: the window, oldest first, then the first user message. */
export function yieldOrder(held: Held): HeldGroup[] {
  const floor = holdGroups(held).filter(({ hold }) => hold === 'floor');
  const isFirst = ({ items }: HeldGroup): boolean =>
    held.policy.keepFirstUser && items.some((item) => holdsSeq(item, held.firstUserSeq));
  return [...floor.filter((group) => !isFirst(group)), ...floor.filter(isFirst)];
}

/** The least that a context can be made: what no reason, or no soft one, takes. */
export function leastWeight(held: Held, isHard: boolean): Weight {
  return weighItems(
    holdGroups(held)
      .filter(({ hold }) => hold === 'fixed' || hold === 'unread' || (hold === 'floor' && !isHard))
      .flatMap(({ items }) => items),
  );
}

/** The user message of this seq, or the summary that begins with its text. */
export function holdsSeq({ from, to, message: { role } }: ContextItem, seq: number | undefined): boolean {
  return seq !== undefined && from <= seq && seq <= to && (role === 'user' || role === 'summary');
}

function isPinned({ message }: { readonly message: Message }): boolean {
  return message.pinned === true;
}
