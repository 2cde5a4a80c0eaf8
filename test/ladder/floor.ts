import type { Context } from '../../src/compaction/context.ts';
import { type Group, groupMessages } from '../../src/domain/group.ts';
import type { Message, Weight } from '../../src/domain/message.ts';
import type { Policy } from '../../src/domain/policy.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { findSystemPlaces } from '../domain/system-places.ts';
import { weighSent } from './seen-pass.ts';

/** A context, and the settings that decide which of its messages compaction must keep. */
export interface ProtectionInput {
  readonly policy: Policy;
  readonly context: Context;
  /** Sequence number of the log's first user message. */
  readonly firstUserSeq: number | undefined;
}

/**
 * Why compaction keeps a group.
 * - `fixed`: the first system messages, pinned messages, unanswered rounds, and the last user message if the model has not
 *   read it.
 * - `unread`: tool rounds with a result that the model has not read, and the last of the later system messages. A hard compaction may clip them, but never remove them.
 * - `asked`: the last user message, if the model has read it. A hard compaction may clip it or copy it into a summary.
 * - `floor`: the rest of the retention window, which a hard compaction may remove.
 */
export type Protection = 'fixed' | 'unread' | 'asked' | 'floor';

export interface ProtectedGroup extends Group {
  readonly protection: Protection | undefined;
  readonly items: readonly ContextItem[];
}

/**
 * Lists the groups of a context and why each is kept, oldest first. Shares no code with the compaction that it checks.
 */
export function protectGroups({ policy, context: { items }, firstUserSeq }: ProtectionInput): ProtectedGroup[] {
  const messages = items.map(({ message }) => message);
  const live = messages.findLastIndex(({ role }) => role === 'user');
  // A summary may also replace the first user message.
  const lastModelPosition = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'summary');
  const { first, last } = findSystemPlaces(items, firstUserSeq);
  const windowStart = items.length - policy.retentionWindow;
  return groupMessages(messages).map((group) => {
    const { positions, isOpen, kind } = group;
    const own = positions.map((position) => items[position] as ContextItem);
    const isFixed = positions.some((position) => first.has(position)) || isOpen || own.some(isPinned);
    const isLive = positions.includes(live);
    const isFloor =
      positions.some((position) => position >= windowStart) ||
      (policy.keepFirstUser && own.some((item) => coversSeq(item, firstUserSeq)));
    const isUnread =
      (kind === 'round' && positions.some((position) => position > lastModelPosition)) ||
      positions.some((position) => position === last);
    const kept = { isFixed, isLive, isRead: live < lastModelPosition, isUnread, isFloor };
    return { ...group, items: own, protection: protectionOf(kept) };
  });
}

type Facts = Readonly<Record<'isFixed' | 'isLive' | 'isRead' | 'isUnread' | 'isFloor', boolean>>;

function protectionOf({ isFixed, isLive, isRead, isUnread, isFloor }: Facts): Protection | undefined {
  if (isFixed) return 'fixed';
  if (isLive) return isRead ? 'asked' : 'fixed';
  if (isUnread) return 'unread';
  return isFloor ? 'floor' : undefined;
}

/**
 * Lists the groups of the retention window in the order in which a hard compaction removes them: oldest first, the
 * log's first user message last.
 */
export function floorOrder(input: ProtectionInput): ProtectedGroup[] {
  const floor = protectGroups(input).filter(({ protection }) => protection === 'floor');
  const isFirst = ({ items }: ProtectedGroup): boolean =>
    input.policy.keepFirstUser && items.some((item) => coversSeq(item, input.firstUserSeq));
  return [...floor.filter((group) => !isFirst(group)), ...floor.filter(isFirst)];
}

/**
 * Computes the size of the groups that must stay, which is the smallest context that a hard or soft compaction can
 * make.
 */
export function leastWeight(input: ProtectionInput, isHard: boolean): Weight {
  return weighSent(
    protectGroups(input)
      .filter(({ protection }) => protection !== undefined && (protection !== 'floor' || !isHard))
      .flatMap(({ items }) => items),
  );
}

/** True for the user message with this sequence number, and for a summary that replaces it. */
export function coversSeq({ from, to, message: { role } }: ContextItem, seq: number | undefined): boolean {
  return seq !== undefined && from <= seq && seq <= to && (role === 'user' || role === 'summary');
}

function isPinned({ message }: { readonly message: Message }): boolean {
  return message.pinned === true;
}
