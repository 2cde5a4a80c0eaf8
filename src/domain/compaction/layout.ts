import { type ContextItem, weighItems } from '../context.ts';
import { type Group, groupMessages, indexGroups } from '../group.ts';
import type { Weight } from '../message.ts';
import type { Policy } from '../policy.ts';

/**
 * Why a group stays. The first four hold always; `retention` and `first_user` are the floor, which yields to the budget
 * where a pass has a hard reason.
 */
export type Protection = 'system' | 'pin' | 'open_round' | 'last_user' | 'retention' | 'first_user';

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

/** @param firstUserSeq seq of the log's first user message, where the log has one */
export function layOut(items: readonly ContextItem[], policy: Policy, firstUserSeq?: number): Layout {
  const groups = groupMessages(items.map((item) => item.message));
  const groupOf = indexGroups(groups, items.length);
  const groupWeights = groups.map(({ positions }) =>
    weighItems(positions.map((position) => items[position] as ContextItem)),
  );
  const protections = protectGroups(items, groups, policy, firstUserSeq);
  const first = groups.findIndex(({ positions: [at = -1] }) => holdsFirstUser(items[at], firstUserSeq));
  const isKept = policy.keepFirstUser && isFloor(protections[first]);
  return { items, groups, groupOf, groupWeights, protections, firstUserGroup: isKept ? first : undefined };
}

export function isFloor(protection: Protection | undefined): boolean {
  return protection !== undefined && FLOOR.has(protection);
}

function protectGroups(
  items: readonly ContextItem[],
  groups: readonly Group[],
  policy: Policy,
  firstUserSeq: number | undefined,
): (Protection | undefined)[] {
  const lastUser = items.findLastIndex((item) => item.message.role === 'user');
  // A straddling round has a member in the window and is kept whole.
  const windowStart = items.length - policy.retentionWindow;
  return groups.map((group) => {
    const first = group.positions[0] as number;
    const last = group.positions.at(-1) as number;
    if (group.kind === 'system') return 'system';
    if (group.positions.some((position) => items[position]?.message.pinned === true)) return 'pin';
    if (group.isOpen) return 'open_round';
    if (first === lastUser) return 'last_user';
    if (last >= windowStart) return 'retention';
    if (policy.keepFirstUser && holdsFirstUser(items[first], firstUserSeq)) return 'first_user';
    return undefined;
  });
}

/** The message itself, or the checkpoint that begins with its text. */
function holdsFirstUser(item: ContextItem | undefined, seq: number | undefined): boolean {
  if (item === undefined || seq === undefined) return false;
  const { role } = item.message;
  return (role === 'user' || role === 'checkpoint') && item.from <= seq && seq <= item.to;
}
