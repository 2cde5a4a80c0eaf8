import { type ContextItem, weighItems } from '../context.ts';
import { type Group, groupInSlices, indexGroups } from '../group.ts';
import type { Weight } from '../message.ts';
import type { Policy } from '../policy.ts';
import { mapInSlices, runToEnd, type Sliced } from '../sliced.ts';

/**
 * Why a group stays. The first five hold always; `retention` and `first_user` are the floor, which yields to the budget
 * where a pass has a hard reason. `unread` are rounds with a result that the model has not read: without it the model would
 * make the same calls again, and the next pass would take them again. They may be clipped, no more.
 */
export type Protection = 'system' | 'pin' | 'open_round' | 'last_user' | 'unread' | 'retention' | 'first_user';

const FLOOR: ReadonlySet<Protection> = new Set(['retention', 'first_user']);

/** A context as a plan sees it: its groups, what each weighs, and which of them stay. */
export interface Layout {
  readonly items: readonly ContextItem[];
  readonly groups: readonly Group[];
  /** by position: index of the item's group */
  readonly groupOf: readonly number[];
  /** by group */
  readonly protections: readonly (Protection | undefined)[];
  /** by group */
  readonly groupWeights: readonly Weight[];
  /** index of the group that holds the log's first user message, where it is of the floor */
  readonly firstUserGroup: number | undefined;
}

/** Seqs that decide what stays, whatever of the context is left. */
export interface Landmarks {
  /** the log's first user message, where the log has one */
  readonly firstUserSeq?: number | undefined;
  /** the last message that the model said: what is behind it was not read */
  readonly lastSaidSeq: number;
}

/** What lies under a summary was said, too. @param items of a context, whole */
export function findLastSaid(items: readonly ContextItem[]): number {
  return items.findLast(({ message: { role } }) => role === 'assistant' || role === 'summary')?.to ?? 0;
}

export function layOut(items: readonly ContextItem[], policy: Policy, landmarks: Landmarks): Layout {
  return runToEnd(layOutInSlices(items, policy, landmarks));
}

/** The same, in slices. */
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

export function isFloor(protection: Protection | undefined): boolean {
  return protection !== undefined && FLOOR.has(protection);
}

function* protectGroups(
  items: readonly ContextItem[],
  groups: readonly Group[],
  policy: Policy,
  { firstUserSeq, lastSaidSeq }: Landmarks,
): Sliced<(Protection | undefined)[]> {
  const lastUser = items.findLastIndex((item) => item.message.role === 'user');
  // A straddling round has a member in the window and is kept whole.
  const windowStart = items.length - policy.retentionWindow;
  return yield* mapInSlices(groups, (group): Protection | undefined => {
    const first = group.positions[0] as number;
    const last = group.positions.at(-1) as number;
    if (group.kind === 'system') return 'system';
    if (group.positions.some((position) => items[position]?.message.pinned === true)) return 'pin';
    if (group.isOpen) return 'open_round';
    if (first === lastUser) return 'last_user';
    if (group.kind === 'round' && (items[last] as ContextItem).from > lastSaidSeq) return 'unread';
    if (last >= windowStart) return 'retention';
    if (policy.keepFirstUser && holdsFirstUser(items[first], firstUserSeq)) return 'first_user';
    return undefined;
  });
}

/** The message itself, or the summary that begins with its text. */
function holdsFirstUser(item: ContextItem | undefined, seq: number | undefined): boolean {
  if (item === undefined || seq === undefined) return false;
  const { role } = item.message;
  return (role === 'user' || role === 'summary') && item.from <= seq && seq <= item.to;
}
