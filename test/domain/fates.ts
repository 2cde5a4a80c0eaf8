import type { Context } from '../../src/compaction/context.ts';
import { nameSegment as nameOfSegment } from '../../src/compaction/segments.ts';
import type { SettledContext } from '../../src/compaction/settle.ts';
import { hasHardReason, hasTokenReason } from '../../src/domain/pass.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { contextOfStory, type TakenPass } from './passes.ts';
import { findSystemPlaces } from './system-places.ts';

/** Fate of a context item under compaction: it stays, it is gone, or the summary of this range replaced it. */
export type Fate = 'kept' | 'gone' | `under ${number}-${number}`;

/** A compaction pass that made a version. */
export interface CommittedPass extends TakenPass {
  readonly settlement: SettledContext;
}

export function isCommitted(pass: TakenPass): pass is CommittedPass {
  return pass.settlement?.kind === 'version';
}

export function contextAfter(pass: CommittedPass): Context {
  return contextOfStory(pass.story);
}

function nameOf({ segment }: ContextItem): string {
  return segment === undefined ? '' : `${segment.kind} ${nameOfSegment(segment)}`;
}

/** For each position in the context before the pass, what happened to the item. */
export function fatesOf(pass: CommittedPass): Fate[] {
  const after = contextAfter(pass).items;
  return pass.request.context.items.map((item): Fate => {
    const holder = after.find((other) => other.from <= item.from && item.to <= other.to);
    if (holder === undefined) return 'gone';
    const isSame = holder.from === item.from && holder.to === item.to && nameOf(holder) === nameOf(item);
    return isSame ? 'kept' : `under ${holder.from}-${holder.to}`;
  });
}

/** For each position, the position of the first message of its tool round, or its own. Uses only the call ids. */
export function ownersOf(items: readonly ContextItem[]): number[] {
  return items.map(({ message }, position) =>
    message.role === 'tool'
      ? items.findIndex((other) => other.message.toolCalls?.some((call) => call.id === message.toolCallId) === true)
      : position,
  );
}

/**
 * Positions of groups whose messages are all droppable, or that a newer system message repeats. They are removed, and a
 * summary may cover messages around them.
 */
export function droppablePositions({ request: { context, firstUserSeq } }: Pick<TakenPass, 'request'>): Set<number> {
  const { items } = context;
  const owners = ownersOf(items);
  const { repeated } = findSystemPlaces(items, firstUserSeq);
  const isDroppable = (position: number): boolean =>
    items[position]?.message.droppable === true || repeated.has(position);
  const kept = new Set(owners.filter((_, position) => !isDroppable(position)));
  return positionsOf(owners, new Set(owners.filter((owner) => !kept.has(owner))));
}

/**
 * Positions that always stay: the first system messages and the last one, pinned groups, open tool rounds, unread results and
 * the last user message.
 */
export function fixedPositions({ request: { context, firstUserSeq } }: Pick<TakenPass, 'request'>): Set<number> {
  const { items } = context;
  const { first, last } = findSystemPlaces(items, firstUserSeq);
  const owners = ownersOf(items);
  const lastUser = items.findLastIndex((item) => item.message.role === 'user');
  // A summary replaces messages of the model, so it counts as the model's message.
  const lastSaid = items.findLastIndex(({ message: { role } }) => role === 'assistant' || role === 'summary');
  const answered = new Set(items.map((item) => item.message.toolCallId));
  const fixedOwners = new Set<number>();
  items.forEach(({ message }, position) => {
    const isOpen = message.toolCalls?.some((call) => !answered.has(call.id)) === true;
    const isUnread = message.role === 'tool' && position > lastSaid;
    const isFixedSystem = first.has(position) || position === last;
    if (isFixedSystem || message.pinned === true || isOpen || isUnread || position === lastUser) {
      fixedOwners.add(owners[position] as number);
    }
  });
  return positionsOf(owners, fixedOwners);
}

/**
 * Positions that stay in a soft pass: the retention window with whole tool rounds, and the log's first user message.
 */
export function floorPositions({ request }: TakenPass): Set<number> {
  const { items } = request.context;
  const owners = ownersOf(items);
  const windowStart = Math.max(0, items.length - request.policy.retentionWindow);
  const floorOwners = new Set(owners.slice(windowStart));
  const first = items.findIndex((item) => item.message.role === 'user' && item.from === request.firstUserSeq);
  if (request.policy.keepFirstUser && first !== -1) floorOwners.add(first);
  return positionsOf(owners, floorOwners);
}

/** Checks whether a summary may replace this position, although it is in the floor. */
export function maySummaryTake(pass: TakenPass, position: number): boolean {
  const { context, firstUserSeq, reasons } = pass.request;
  const isFirstUser = context.items[position]?.from === firstUserSeq;
  return hasHardReason(reasons) || (mayFold(pass) && isFirstUser);
}

/** Checks whether one summary may take user messages with what is between them. */
export function mayFold({ request: { policy, reasons } }: TakenPass): boolean {
  return policy.scope === 'prefix' || hasTokenReason(reasons);
}

function positionsOf(owners: readonly number[], chosen: ReadonlySet<number>): Set<number> {
  return new Set(owners.flatMap((owner, position) => (chosen.has(owner) ? [position] : [])));
}
