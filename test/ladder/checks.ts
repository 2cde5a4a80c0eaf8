import { isDeepStrictEqual } from 'node:util';
import { requestTokens } from '../../src/domain/compaction/request-size.ts';
import { hasHardReason, hasTokenReason } from '../../src/domain/compaction/thresholds.ts';
import { type Context, type ContextItem, weighItems } from '../../src/domain/context.ts';
import { type Group, groupMessages } from '../../src/domain/group.ts';
import type { Message } from '../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { upperBoundTokens } from '../../src/domain/size.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import type { TrialOutcome } from '../../src/workers/compaction/trial-pass.ts';
import type { PreparedAgent } from '../../src/workers/prepared-agent.ts';

/** A pass that made a version, and the contexts before and after it. */
export interface SeenPass {
  readonly prepared: PreparedAgent;
  readonly before: Context;
  readonly after: Context;
  readonly outcome: Extract<TrialOutcome, { kind: 'version' }>;
  /** the log's first user message */
  readonly firstUserSeq: number | undefined;
}

/** What every version must be, by name. Written without what plans and settles: from the messages and the policy alone. */
const CHECKS: Readonly<Record<string, (pass: SeenPass) => boolean>> = {
  'is smaller than its parent': ({ outcome: { settled } }) => settled.tokensAfter < settled.tokensBefore,
  'weighs what it says': ({ prepared, after, outcome: { settled } }) =>
    settled.tokensAfter === requestTokens(prepared, weighItems(after.items).tokens) &&
    isDeepStrictEqual(settled.weight, weighItems(after.items)),
  'is within the budget, or says why not': isWithinBudget,
  'is valid in three formats': ({ prepared, after }) =>
    WIRE_FORMATS.every((format) => isValid(prepared, after, format)),
  'holds every pin whole': ({ prepared, before, after }) =>
    messagesOf(before.items)
      .filter(({ pinned }) => pinned === true)
      .every((message) => messagesOf(after.items).some((other) => isDeepStrictEqual(other, message))) &&
    prepared.policy.pins.every((pin) => prepared.system.includes(pin)),
  'holds the system messages and the live user message': ({ before, after }) => {
    const kept = new Set(messagesOf(after.items));
    const said = messagesOf(before.items);
    const live = said.findLast(({ role }) => role === 'user');
    const fixed = said.filter((message) => message.role === 'system' || message === live);
    return fixed.every((message) => kept.has(message));
  },
  'leaves open rounds as they are': ({ before, after }) => {
    const kept = new Set(messagesOf(after.items));
    const said = messagesOf(before.items);
    return groupMessages(said)
      .filter(({ isOpen }) => isOpen)
      .every(({ positions }) => positions.every((position) => kept.has(said[position] as Message)));
  },
  'leaves what the model has not read, if shorter': ({ before, after, outcome }) => {
    const seqs = new Map(after.items.map((item) => [item.from, item]));
    const lastSaid = before.items.findLastIndex(({ message }) => message.role === 'assistant');
    return before.items.slice(lastSaid + 1).every(({ from, message }) => {
      const left = seqs.get(from);
      if (message.role !== 'tool') return true;
      if (left === undefined || left.message.toolCallId !== message.toolCallId) return false;
      return left.message === message || (hasHardReason(outcome.reasons) && left.segment?.kind === 'clipped');
    });
  },
  'splits no round': ({ before, after }) => {
    const said = messagesOf(before.items);
    const left = new Set(after.items.map(({ from }) => from));
    return groupMessages(said).every(({ positions }) => {
      const kept = positions.filter((position) => left.has(seqAt(before, position)) && isOwn(after, before, position));
      return kept.length === 0 || kept.length === positions.length;
    });
  },
  'keeps the order of the log': ({ after: { items } }) =>
    items.every(({ from, to }, index) => from <= to && from > (items[index - 1]?.to ?? 0)),
  'keeps the floor as written': keepsFloor,
  'archives what it says': ({ before, after, outcome: { settled } }) =>
    settled.archived === countOwn(before.items) - countOwn(after.items),
};

/** Names of what a pass broke. */
export function findBreaches(pass: SeenPass): string[] {
  return Object.entries(CHECKS).flatMap(([name, holds]) => {
    try {
      return holds(pass) ? [] : [name];
    } catch (error) {
      return [`${name}: ${String(error)}`];
    }
  });
}

function isWithinBudget({ prepared, after, outcome: { settled, reasons } }: SeenPass): boolean {
  const { limits, overhead } = prepared;
  const isTokenBound = hasTokenReason(reasons);
  const whys: readonly string[] = isTokenBound ? ['retention_floor', 'nothing_removable'] : ['no_token_reason'];
  const isExplained = settled.explained.some((why) => whys.includes(why));
  const tokens = upperBoundTokens(settled.tokensAfter, limits.upperBoundFactor);
  const { bytes } = weighItems(after.items);
  const isOver = tokens > (limits.maxTokens ?? Infinity) || bytes + overhead.bytes > (limits.maxBytes ?? Infinity);
  // Who asked for the budget itself is told that it cannot be had: no version is made then.
  return !isOver || (isExplained && !reasons.includes('manual'));
}

function isValid({ system, tools }: PreparedAgent, { version, items }: Context, format: (typeof WIRE_FORMATS)[number]) {
  const messages = [...messagesOf(items), { role: 'user' as const, content: 'probe' }];
  const request = { model: 'model-1', system, tools, messages, version: version.number, maxOutputTokens: 1 };
  const { render, validate } = wireFormats[format];
  return validate(render(request).body, { isProbed: true, isUncapped: true }).length === 0;
}

/**
 * Soft: nothing of the floor is gone or changed; a summary may take the first user message over. Hard: the same of what has
 * results that nobody has read; what is gone besides is the oldest of it, and that is said.
 */
function keepsFloor(pass: SeenPass): boolean {
  const { before, after, outcome } = pass;
  const said = messagesOf(before.items);
  const groups = groupMessages(said).filter(isClosed);
  const floor = groups.filter((group) => isOfFloor(pass, group));
  const seqs = new Map(after.items.map((item) => [item.from, item]));
  const isThere = ({ positions }: Group): boolean =>
    positions.every((position) => seqs.get(seqAt(before, position))?.to === before.items[position]?.to);
  const isSame = ({ positions }: Group): boolean =>
    positions.every((position) => isDeepStrictEqual(seqs.get(seqAt(before, position))?.message, said[position]));
  const isTaken = ({ positions }: Group): boolean => {
    const seq = seqAt(before, positions[0] as number);
    const holder = after.items.find(({ from, to }) => from <= seq && seq <= to);
    return holder?.message.role === 'checkpoint' && seq === pass.firstUserSeq;
  };
  if (!hasHardReason(outcome.reasons)) {
    return floor.every((group) => isSame(group) || isTaken(group) || isDroppable(said, group));
  }
  const isGone = (group: Group): boolean => !isThere(group) && !isTaken(group) && !isDroppable(said, group);
  const gone = floor.filter(isGone);
  return gone.length === 0 || outcome.settled.isFloorRelaxed;
}

function isOfFloor({ prepared: { policy }, before, firstUserSeq }: SeenPass, { positions }: Group): boolean {
  const windowStart = before.items.length - policy.retentionWindow;
  const [first = 0] = positions;
  const isFirstUser =
    policy.keepFirstUser && seqAt(before, first) === firstUserSeq && before.items[first]?.message.role === 'user';
  return (positions.at(-1) ?? 0) >= windowStart || isFirstUser;
}

function isDroppable(said: readonly Message[], { positions }: Group): boolean {
  return positions.every((position) => said[position]?.droppable === true);
}

function isClosed({ isOpen }: Group): boolean {
  return !isOpen;
}

function isOwn(after: Context, before: Context, position: number): boolean {
  const seq = seqAt(before, position);
  const item = after.items.find(({ from }) => from === seq);
  return item?.message.role !== 'checkpoint' || before.items[position]?.message.role === 'checkpoint';
}

function seqAt({ items }: Context, position: number): number {
  return (items[position] as ContextItem).from;
}

function countOwn(items: readonly ContextItem[]): number {
  return items.filter(({ segment }) => segment?.kind !== 'checkpoint').length;
}

function messagesOf(items: readonly ContextItem[]): Message[] {
  return items.map(({ message }) => message);
}
