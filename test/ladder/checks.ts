import { isDeepStrictEqual } from 'node:util';
import { requestTokens } from '../../src/domain/compaction/budget.ts';
import { hasHardReason } from '../../src/domain/compaction/thresholds.ts';
import { type Context, type ContextItem, weighItems } from '../../src/domain/context.ts';
import { groupMessages } from '../../src/domain/group.ts';
import type { Message } from '../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import type { PreparedAgent } from '../../src/workers/prepared-agent.ts';
import { type Held, type HeldGroup, holdGroups, holdsSeq, yieldOrder } from './floor.ts';
import { isBudgetAGoal, isOverBudget, messagesOf, namesOfBroken, type SeenPass } from './seen-pass.ts';

/** Checks that every version must pass, by name. Written without what plans and settles: from the messages and the policy alone. */
const CHECKS: Readonly<Record<string, (pass: SeenPass) => boolean>> = {
  'is smaller than its parent': ({ outcome: { settled } }) => settled.tokensAfter < settled.tokensBefore,
  'gains enough, with soft reasons': ({ prepared: { policy }, outcome: { settled, reasons } }) =>
    hasHardReason(reasons) || settled.tokensBefore - settled.tokensAfter >= policy.minGain * settled.tokensBefore,
  'is lighter with every step': ({ before, outcome: { settled } }) =>
    settled.steps.every(
      ({ tokens }, index) => tokens < (settled.steps[index - 1]?.tokens ?? weighItems(before.items).tokens),
    ),
  'weighs what it says': ({ prepared, after, outcome: { settled } }) =>
    settled.tokensAfter === requestTokens(prepared, weighItems(after.items).tokens) &&
    isDeepStrictEqual(settled.weight, weighItems(after.items)),
  'is within the budget, or says why not': isWithinBudget,
  'is above the budget only where nothing more may go': (pass) => {
    if (!isBudgetAGoal(pass) || !isOverBudget(pass, weighItems(pass.after.items))) return true;
    const isHard = hasHardReason(pass.outcome.reasons);
    return holdGroups(heldAfter(pass)).every(
      ({ hold }) => hold === 'fixed' || hold === 'unread' || (hold === 'floor' && !isHard),
    );
  },
  'is valid in three formats': ({ prepared, after }) =>
    WIRE_FORMATS.every((format) => isValid(prepared, after, format)),
  'holds every pin whole': ({ prepared, before, after }) =>
    messagesOf(before)
      .filter(({ pinned }) => pinned === true)
      .every((message) => messagesOf(after).some((other) => isDeepStrictEqual(other, message))) &&
    prepared.policy.pins.every((pin) => prepared.system.includes(pin)),
  'holds the system messages and the live user message': ({ before, after }) => {
    const kept = new Set(messagesOf(after));
    const said = messagesOf(before);
    const live = said.findLast(({ role }) => role === 'user');
    const fixed = said.filter((message) => message.role === 'system' || message === live);
    return fixed.every((message) => kept.has(message));
  },
  'leaves open rounds as they are': ({ before, after }) => {
    const kept = new Set(messagesOf(after));
    const said = messagesOf(before);
    return groupMessages(said)
      .filter(({ isOpen }) => isOpen)
      .every(({ positions }) => positions.every((position) => kept.has(said[position] as Message)));
  },
  'leaves what the model has not read, if shorter': (pass) => {
    const isStill = hasHardReason(pass.outcome.reasons) ? isThere : isSame;
    return holdGroups(heldBefore(pass)).every((group) => group.hold !== 'unread' || isStill(pass, group));
  },
  'splits no round': (pass) =>
    groupMessages(messagesOf(pass.before)).every(({ positions }) => {
      const kept = positions.filter((position) => findOwn(pass, pass.before.items[position] as ContextItem));
      return kept.length === 0 || kept.length === positions.length;
    }),
  'keeps the order of the log': ({ after: { items } }) =>
    items.every(({ from, to }, index) => from <= to && from > (items[index - 1]?.to ?? 0)),
  'adds nothing but summaries, and changes nothing unsaid': isMadeOfBefore,
  'masks and clips leave what a message answers and calls': (pass) =>
    pass.after.items
      .filter(({ segment }) => segment?.kind === 'masked' || segment?.kind === 'clipped')
      .every((item) => {
        const whole = pass.before.items.find(({ from }) => from === item.from)?.message;
        return whole !== undefined && isDeepStrictEqual(frameOf(whole), frameOf(item.message));
      }),
  'keeps the floor as written': keepsFloor,
  'takes of the floor the oldest first': takesOldestFirst,
  'says that the floor is relaxed where it is, and nowhere else': (pass) =>
    pass.outcome.settled.isFloorRelaxed === yieldOrder(heldBefore(pass)).some((group) => isGone(pass, group)),
  'archives what it says': ({ before, after, outcome: { settled } }) =>
    settled.archived === countOwn(before.items) - countOwn(after.items),
};

/** Names of what a pass broke. */
export function findBreaches(pass: SeenPass): string[] {
  return namesOfBroken(CHECKS, pass);
}

function isWithinBudget(pass: SeenPass): boolean {
  const { explained } = pass.outcome.settled;
  const isOver = isOverBudget(pass, weighItems(pass.after.items));
  if (!isBudgetAGoal(pass)) return !isOver || explained.includes('no_token_reason');
  const isExplained = explained.some((why) => why === 'retention_floor' || why === 'nothing_removable');
  // A pass with a token reason ends as infeasible above the budget, without a version.
  return isOver === isExplained && !(isOver && pass.outcome.reasons.includes('manual'));
}

function isValid({ system, tools }: PreparedAgent, context: Context, format: (typeof WIRE_FORMATS)[number]): boolean {
  const messages = [...messagesOf(context), { role: 'user' as const, content: 'probe' }];
  const request = { model: 'model-1', system, tools, messages, version: context.version.number, maxOutputTokens: 1 };
  const { render, validate } = wireFormats[format];
  return validate(render(request).body, { isProbed: true, isUncapped: true }).length === 0;
}

/** Whole messages are unchanged. */
function isMadeOfBefore({ before, after }: SeenPass): boolean {
  const found = new Map(before.items.map((item) => [item.from, item]));
  return after.items.every((item) => {
    if (item.segment !== undefined) return item.to <= before.head;
    const was = found.get(item.from);
    return was !== undefined && was.segment === undefined && isDeepStrictEqual(was.message, item.message);
  });
}

/** No floor message is missing. With soft reasons, none is changed. A summary may take over the first user message. */
function keepsFloor(pass: SeenPass): boolean {
  if (pass.outcome.settled.isFloorRelaxed) return hasHardReason(pass.outcome.reasons);
  const isSoft = !hasHardReason(pass.outcome.reasons);
  return yieldOrder(heldBefore(pass)).every((group) => {
    if (isTaken(pass, group)) return true;
    return isSoft ? isSame(pass, group) : isThere(pass, group);
  });
}

function takesOldestFirst(pass: SeenPass): boolean {
  const order = yieldOrder(heldBefore(pass)).filter((group) => !isTaken(pass, group));
  const lastGone = order.findLastIndex((group) => isGone(pass, group));
  return order.slice(0, lastGone + 1).every((group) => isGone(pass, group));
}

function isGone(pass: SeenPass, group: HeldGroup): boolean {
  return !isThere(pass, group) && !isTaken(pass, group);
}

/** All of it stands there as messages of their own, if shorter. */
function isThere(pass: SeenPass, { items }: HeldGroup): boolean {
  return items.every((item) => findOwn(pass, item) !== undefined);
}

function isSame(pass: SeenPass, { items }: HeldGroup): boolean {
  return items.every((item) => isDeepStrictEqual(findOwn(pass, item)?.message, item.message));
}

/** True for the log's first user message below a summary that starts with it. */
function isTaken({ after, firstUserSeq }: SeenPass, { items }: HeldGroup): boolean {
  const holder = after.items.find((item) => holdsSeq(item, firstUserSeq));
  return holder?.message.role === 'summary' && items.some((item) => holdsSeq(item, firstUserSeq));
}

function findOwn({ after }: SeenPass, { from, to, message }: ContextItem): ContextItem | undefined {
  const isSummary = message.role === 'summary';
  return after.items.find(
    (item) => item.from === from && item.to === to && (item.message.role === 'summary') === isSummary,
  );
}

/** The parts of a message that no mask or clip may change. */
function frameOf({ role, toolCallId, isError, toolCalls = [] }: Message): unknown {
  return { role, toolCallId, isError, calls: toolCalls.map(({ id, name }) => [id, name]) };
}

function heldBefore({ prepared: { policy }, before, firstUserSeq }: SeenPass): Held {
  return { policy, context: before, firstUserSeq };
}

function heldAfter({ prepared: { policy }, after, firstUserSeq }: SeenPass): Held {
  return { policy, context: after, firstUserSeq };
}

function countOwn(items: readonly ContextItem[]): number {
  return items.filter(({ segment }) => segment?.kind !== 'summary').length;
}
