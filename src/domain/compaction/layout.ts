import { type ContextItem, weighItems } from '../context.ts';
import { type Group, groupInSlices, indexGroups } from '../group.ts';
import type { Weight } from '../message.ts';
import type { Policy } from '../policy.ts';
import { mapInSlices, type Sliced } from '../sliced.ts';

/**
 * Why a group stays in the context.
 * - `system`, `pin`, `open_round`: always whole.
 * - `last_user`: the last user message, which the model has not read. Always whole.
 * - `unread`: a round with a result that the model has not read. Without the result the model would repeat its calls. Such
 *   rounds may only be shortened, and only with a hard reason.
 * - `retention`, `first_user`, `read_user`: the floor, which a hard reason relaxes. `read_user` is the last user message
 *   if the model has read it. It may be shortened, or copied into a summary, but never removed.
 */
export type Protection =
  | 'system'
  | 'pin'
  | 'open_round'
  | 'last_user'
  | 'unread'
  | 'read_user'
  | 'retention'
  | 'first_user';

const FLOOR: ReadonlySet<Protection> = new Set(['retention', 'first_user', 'read_user']);

/** A context prepared for a plan: its groups, their weights and their protections. */
export interface Layout {
  readonly items: readonly ContextItem[];
  readonly groups: readonly Group[];
  /** Index of the group, by position of the item. */
  readonly groupOf: readonly number[];
  /** Protection, by index of the group. Undefined if the group may be removed. */
  readonly protections: readonly (Protection | undefined)[];
  /** Weight, by index of the group. */
  readonly groupWeights: readonly Weight[];
  /** Index of the group that holds the log's first user message, if the floor protects it. */
  readonly firstUserGroup: number | undefined;
}

/** Seqs that determine protections. They stay the same while items are removed. */
export interface Landmarks {
  /** The log's first user message, if there is one. */
  readonly firstUserSeq?: number | undefined;
  /** The last message of the model. The model has read nothing after it. */
  readonly lastModelSeq: number;
}

/**
 * Finds the last seq that the model wrote. A summary covers messages of the model.
 * @param items all items of a context
 */
export function findLastModelSeq(items: readonly ContextItem[]): number {
  return items.findLast(({ message: { role } }) => role === 'assistant' || role === 'summary')?.to ?? 0;
}

/** Groups the items of a context and finds the weight and the protection of each group. */
export function* layOutInSlices(items: readonly ContextItem[], policy: Policy, landmarks: Landmarks): Sliced<Layout> {
  const { firstUserSeq } = landmarks;
  const groups = yield* groupInSlices(items.map((item) => item.message));
  const groupOf = indexGroups(groups, items.length);
  yield;
  const groupWeights = yield* mapInSlices(groups, ({ positions }) =>
    weighItems(positions.map((position) => items[position] as ContextItem)),
  );
  const protections = yield* protectGroups(items, groups, policy, landmarks);
  const first = groups.findIndex(({ positions: [at = -1] }) => holdsFirstUser(items[at], firstUserSeq));
  const isKept = policy.keepFirstUser && isFloor(protections[first]);
  return { items, groups, groupOf, groupWeights, protections, firstUserGroup: isKept ? first : undefined };
}

export interface FloorItem {
  readonly item: ContextItem;
  readonly isFirstUser: boolean;
}

/** Lists the messages of the floor. */
export function findFloor({ items, groupOf, protections }: Layout): FloorItem[] {
  return items.flatMap((item, position) => {
    const protection = protections[groupOf[position] as number];
    return isFloor(protection) ? [{ item, isFirstUser: protection === 'first_user' }] : [];
  });
}

export function isFloor(protection: Protection | undefined): boolean {
  return protection !== undefined && FLOOR.has(protection);
}

/** Checks whether a group belongs to the fixed part, which every budget has to pay. */
export function isFixed(protection: Protection | undefined): boolean {
  return protection === 'read_user' || (protection !== undefined && !isFloor(protection));
}

/** Checks whether a hard reason permits to shorten messages with this protection. */
export function isFlexible(protection: Protection): boolean {
  return isFloor(protection) || protection === 'unread';
}

function* protectGroups(
  items: readonly ContextItem[],
  groups: readonly Group[],
  policy: Policy,
  { firstUserSeq, lastModelSeq }: Landmarks,
): Sliced<(Protection | undefined)[]> {
  const lastUser = items.findLastIndex((item) => item.message.role === 'user');
  // A round that reaches into the window is kept whole.
  const windowStart = items.length - policy.retentionWindow;
  return yield* mapInSlices(groups, (group): Protection | undefined => {
    const first = group.positions[0] as number;
    const last = group.positions.at(-1) as number;
    if (group.kind === 'system') return 'system';
    if (group.positions.some((position) => items[position]?.message.pinned === true)) return 'pin';
    if (group.isOpen) return 'open_round';
    if (first === lastUser) return (items[first] as ContextItem).to > lastModelSeq ? 'last_user' : 'read_user';
    if (group.kind === 'round' && (items[last] as ContextItem).from > lastModelSeq) return 'unread';
    if (last >= windowStart) return 'retention';
    if (policy.keepFirstUser && holdsFirstUser(items[first], firstUserSeq)) return 'first_user';
    return undefined;
  });
}

/** Checks whether an item is the first user message, or the summary that begins with its text. */
function holdsFirstUser(item: ContextItem | undefined, seq: number | undefined): boolean {
  if (item === undefined || seq === undefined) return false;
  const { role } = item.message;
  return (role === 'user' || role === 'summary') && item.from <= seq && seq <= item.to;
}
