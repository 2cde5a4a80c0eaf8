import { type Group, type Grouping, readGroups } from '../domain/group.ts';
import { forEachInSlices, type Interruptible, mapInSlices } from '../domain/interruptible.ts';
import type { ToolCall, Weight } from '../domain/message.ts';
import type { Policy } from '../domain/policy.ts';
import type { ContextItem } from '../domain/version.ts';
import type { Context } from './context.ts';

/**
 * Why a group stays in the context. The pass asks three questions of a protection:
 * - Must every budget pay for it? `isFixed`: all but `retention` and `first_user`.
 * - Does it belong to the floor, which a hard reason relaxes? `isFloor`: `retention`, `first_user`, `request`.
 * - May a hard reason shorten it? `isFlexible`: the floor, `unread` and `last_system`. At last also `input`.
 *
 * All other groups stay whole. A set of flags for each group would permit combinations that no step knows.
 * - `system`: before the first user message. `last_system`: the last of the other system messages.
 * - `last_user`: the last user message, or an input of the running turn, which the model has not read.
 * - `input`: an input that the model has read. It is shortened only after everything older left and everything newer is
 *   short.
 * - `unread`: a round with an unread result. Without the result the model would repeat its calls.
 * - `prefix`: the start that the policy keeps, so that the provider can read it from its cache.
 * - `request`: the last user messages in a row, if the model has read them or if others follow them. A hard reason
 *   shortens them like an `input`, but first to its share of the room.
 *
 * If a manual pass cannot reach the budget otherwise, and no turn runs, `request` and `unread` go, too. Only the newest
 * group stays.
 */
export type Protection =
  | 'system'
  | 'last_system'
  | 'pin'
  | 'open_round'
  | 'last_user'
  | 'input'
  | 'unread'
  | 'request'
  | 'prefix'
  | 'retention'
  | 'first_user';

const FLOOR: ReadonlySet<Protection> = new Set(['retention', 'first_user', 'request']);

/** Share of the room up to which a request stays whole while anything else can be shortened. */
export const WHOLE_SHARE = 0.65;
/** Share of the room that a larger request keeps, and share of the budget that shortened inputs of a turn keep. */
export const INPUT_SHARE = 0.6;

export function requestWithin(tokens: number, room: number): number {
  return tokens <= WHOLE_SHARE * room ? tokens : Math.floor(INPUT_SHARE * room);
}

/** A context divided into groups. Each list has one entry per group, by the group's index. */
export interface Layout extends Grouping {
  readonly items: readonly ContextItem[];
  readonly protections: readonly (Protection | undefined)[];
  /** Groups to remove first. Their author marked them, or a newer system message has the same text. */
  readonly droppable: ReadonlySet<number>;
  readonly groupWeights: readonly Weight[];
  readonly firstUserGroup: number | undefined;
}

/** Seqs that determine protections. They stay the same while items are removed. */
export interface Landmarks {
  readonly firstUserSeq?: number | undefined;
  /** Seq of the model's last message. The model has read no later message. */
  readonly lastModelSeq: number;
  readonly inputs: ReadonlySet<number>;
  /** First of the last user messages in a row. Absent: only the last user message is the request. */
  readonly requestFrom?: number;
  /** Last message of the start that the policy keeps unchanged for the provider's cache. */
  readonly prefixEnd?: number;
}

/** Seq of the last message by the model. A summary counts, because it covers messages of the model. */
export function findLastModelSeq(items: readonly ContextItem[]): number {
  return items.findLast(({ message: { role } }) => role === 'assistant' || role === 'summary')?.to ?? 0;
}

export function* layOutInSlices(
  items: readonly ContextItem[],
  policy: Policy,
  landmarks: Landmarks,
): Interruptible<Layout> {
  const grouping = yield* readGroups(items.map((item) => item.message));
  yield;
  return yield* completeLayout(items, grouping, policy, landmarks);
}

/** Lays out the items after a step of `Ladder`, and reads only the messages of the groups that changed. */
export function* layOutAgain(
  layout: Layout,
  items: readonly ContextItem[],
  policy: Policy,
  landmarks: Landmarks,
): Interruptible<Layout> {
  if (
    items.length === layout.items.length &&
    !items.some(({ from }, position) => from !== layout.items[position]?.from)
  )
    return { ...layout, items, groupWeights: yield* weighGroups(items, layout.groups) };
  return yield* completeLayout(items, yield* regroup(layout, items), policy, landmarks);
}

function* completeLayout(
  items: readonly ContextItem[],
  grouping: Grouping,
  policy: Policy,
  landmarks: Landmarks,
): Interruptible<Layout> {
  const { groups } = grouping;
  const groupWeights = yield* weighGroups(items, groups);
  const protections = yield* protectGroups(items, groups, policy, landmarks);
  const droppable = yield* findDroppable(items, groups);
  const { firstUserSeq } = landmarks;
  const first = groups.findIndex(({ positions: [at = -1] }) => holdsFirstUser(items[at], firstUserSeq));
  const isKept = policy.keepFirstUser && isFloor(protections[first]);
  return { items, ...grouping, droppable, groupWeights, protections, firstUserGroup: isKept ? first : undefined };
}

/** Finds groups to drop. A newer system message may repeat an older one with other numbers, such as a time. */
function* findDroppable(items: readonly ContextItem[], groups: readonly Group[]): Interruptible<ReadonlySet<number>> {
  const droppable = new Set<number>();
  const texts = new Set<string>();
  yield* forEachInSlices(groups.toReversed(), ({ kind, positions }, fromEnd) => {
    const group = groups.length - 1 - fromEnd;
    if (positions.every((position) => items[position]?.message.droppable === true)) droppable.add(group);
    if (kind !== 'system') return;
    const text = (items[positions[0] as number] as ContextItem).message.content.replace(/\d+/g, '0');
    if (texts.has(text)) droppable.add(group);
    texts.add(text);
  });
  return droppable;
}

function* weighGroups(items: readonly ContextItem[], groups: readonly Group[]): Interruptible<Weight[]> {
  return yield* mapInSlices(groups, ({ positions }) => {
    let [tokens, bytes] = [0, 0];
    for (const position of positions) {
      const item = items[position] as ContextItem;
      tokens += item.tokens;
      bytes += item.bytes;
    }
    return { tokens, bytes };
  });
}

/** Groups the items again. Each summary of this pass is a group of its own. */
function* regroup(layout: Layout, items: readonly ContextItem[]): Interruptible<Grouping> {
  const groups: (Group & { readonly positions: number[] })[] = [];
  const groupOf: number[] = [];
  const callOf: (ToolCall | undefined)[] = [];
  const moved = new Int32Array(layout.groups.length).fill(-1);
  let before = 0;
  yield* forEachInSlices(items, ({ from, isFresh }, position) => {
    while ((layout.items[before] as ContextItem).from < from) before += 1;
    const old = layout.groupOf[before] as number;
    const known = isFresh === true ? -1 : (moved[old] as number);
    if (known >= 0) groups[known]?.positions.push(position);
    else if (isFresh === true) groups.push({ kind: 'summary', positions: [position], isOpen: false });
    else {
      moved[old] = groups.length;
      groups.push({ ...(layout.groups[old] as Group), positions: [position] });
    }
    groupOf.push(known >= 0 ? known : groups.length - 1);
    callOf.push(isFresh === true ? undefined : layout.callOf[before]);
  });
  return { groups, groupOf, callOf };
}

export function isFloor(protection: Protection | undefined): boolean {
  return protection !== undefined && FLOOR.has(protection);
}

/** Finds items of the floor, and inputs of the running turn. The value is true for the first user message. */
export function findFloor({ items, groups, protections }: Layout): Map<ContextItem, boolean> {
  const floor = new Map<ContextItem, boolean>();
  for (const [group, protection] of protections.entries()) {
    if (!isFloor(protection) && protection !== 'input') continue;
    for (const position of groups[group]?.positions ?? [])
      floor.set(items[position] as ContextItem, protection === 'first_user');
  }
  return floor;
}

/** True if one of the items is gone. A summary that begins with the first user message may replace this message. */
export function isFloorChanged(floor: ReadonlyMap<ContextItem, boolean>, items: readonly ContextItem[]): boolean {
  const gone = new Map(floor);
  for (const item of items) gone.delete(item);
  const isCopied = ({ from }: ContextItem): boolean =>
    items.some((item) => item.message.role === 'summary' && item.from <= from && from <= item.to);
  return gone.entries().some(([item, isFirstUser]) => !(isFirstUser && isCopied(item)));
}

export function isInputCut({ items: before, inputs = [] }: Context, items: readonly ContextItem[]): boolean {
  const own = new Set(inputs);
  const left = new Set(items);
  return before.some((item) => own.has(item.from) && !left.has(item));
}

/** True if the last user message is gone. A summary never replaces it while it is the request. */
export function isRequestGone({ items: before }: Context, items: readonly ContextItem[]): boolean {
  const last = before.findLast(({ message: { role } }) => role === 'user');
  return last !== undefined && !items.some(({ from, to }) => from <= last.from && last.from <= to);
}

export function isFixed(protection: Protection | undefined): boolean {
  return protection === 'request' || (protection !== undefined && !isFloor(protection));
}

/** Tokens of the request above its share of the room that other fixed messages leave. */
export function requestAboveShare({ groupWeights, protections }: Layout, maxTokens: number): number {
  let [fixed, request] = [0, 0];
  for (const [group, { tokens }] of groupWeights.entries()) {
    const protection = protections[group];
    if (protection === 'request') request += tokens;
    else if (isFixed(protection) && !isFlexible(protection)) fixed += tokens;
  }
  return request - requestWithin(request, Math.max(0, maxTokens - fixed));
}

export function isFlexible(protection: Protection | undefined): boolean {
  return isFloor(protection) || protection === 'unread' || protection === 'last_system';
}

function* protectGroups(
  items: readonly ContextItem[],
  groups: readonly Group[],
  policy: Policy,
  landmarks: Landmarks,
): Interruptible<(Protection | undefined)[]> {
  const { firstUserSeq, lastModelSeq, prefixEnd = 0 } = landmarks;
  const lastUser = items.findLastIndex((item) => item.message.role === 'user');
  const lastSystem = items.findLastIndex((item) => item.message.role === 'system');
  const opening = firstUserSeq ?? items.find((item) => item.message.role !== 'system')?.from ?? Infinity;
  // A tool round that reaches into the retention window is kept whole.
  const windowStart = items.length - policy.retentionWindow;
  return yield* mapInSlices(groups, (group): Protection | undefined => {
    const { positions } = group;
    const first = positions[0] as number;
    const last = positions[positions.length - 1] as number;
    if (group.kind === 'system' && isBefore(items[first], opening)) return 'system';
    if (positions.some((position) => items[position]?.message.pinned === true)) return 'pin';
    if (group.isOpen) return 'open_round';
    const isLast = first === lastUser || first === lastSystem;
    const newest = protectNewest(items[first] as ContextItem, isLast, landmarks);
    if (newest !== undefined) return newest;
    if (group.kind === 'round' && (items[last] as ContextItem).from > lastModelSeq) return 'unread';
    if (last >= windowStart) return 'retention';
    if (isBefore(items[last], prefixEnd + 1)) return 'prefix';
    return isKeptFirstUser(items[first], policy, landmarks) ? 'first_user' : undefined;
  });
}

function protectNewest(
  { from, to, message: { role } }: ContextItem,
  isLast: boolean,
  { lastModelSeq, inputs, requestFrom = Infinity }: Landmarks,
): Protection | undefined {
  if (role === 'system') return isLast ? 'last_system' : undefined;
  const isInput = inputs.has(from);
  if ((isInput || isLast) && to > lastModelSeq) return 'last_user';
  if (isInput) return 'input';
  return role === 'user' && (isLast || from >= requestFrom) ? 'request' : undefined;
}

function isBefore(item: ContextItem | undefined, seq: number): boolean {
  return item !== undefined && item.to < seq;
}

function isKeptFirstUser(
  item: ContextItem | undefined,
  { keepFirstUser }: Policy,
  { firstUserSeq }: Landmarks,
): boolean {
  return keepFirstUser && holdsFirstUser(item, firstUserSeq);
}

/** True for the first user message, or the summary that begins with its text. */
function holdsFirstUser(item: ContextItem | undefined, seq: number | undefined): boolean {
  if (item === undefined || seq === undefined) return false;
  const { role } = item.message;
  return (role === 'user' || role === 'summary') && item.from <= seq && seq <= item.to;
}
