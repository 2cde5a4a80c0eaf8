import { isDeepStrictEqual } from 'node:util';
import { requestTokens } from '../../src/compaction/budget.ts';
import { type Context, weighItems } from '../../src/compaction/context.ts';
import { groupMessages } from '../../src/domain/group.ts';
import type { Message } from '../../src/domain/message.ts';
import { hasHardReason } from '../../src/domain/pass.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { type ContextItem, weighVersion } from '../../src/domain/version.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import type { PreparedAgent } from '../../src/workers/prepared-agent.ts';
import { findSystemPlaces } from '../domain/system-places.ts';
import { coversSeq, floorOrder, type ProtectedGroup, type ProtectionInput, protectGroups } from './floor.ts';
import { isBudgetAGoal, isOverBudget, messagesOf, namesOfBroken, type SeenPass, weighSent } from './seen-pass.ts';

/**
 * Checks that every new version must satisfy. They use only messages and policy, not the compaction code that they
 * check.
 */
const CHECKS: Readonly<Record<string, (pass: SeenPass) => boolean>> = {
  'a new version is smaller than the version before it': ({ outcome: { settled } }) =>
    settled.tokensAfter < settled.tokensBefore,
  'a soft compaction pass saves at least minGain': ({ prepared: { policy }, outcome: { settled, reasons } }) =>
    hasHardReason(reasons) || settled.tokensBefore - settled.tokensAfter >= policy.minGain * settled.tokensBefore,
  'each step of a compaction pass makes the context smaller': ({ before, outcome: { settled } }) =>
    settled.steps.every(
      ({ tokens }, index) => tokens < (settled.steps[index - 1]?.tokens ?? weighItems(before.items).tokens),
    ),
  'a version has the size that it states': ({ prepared, after, outcome: { settled } }) =>
    settled.tokensAfter === requestTokens(prepared, weighSent(after.items).tokens) &&
    isDeepStrictEqual(settled.weight, weighItems(after.items)) &&
    isDeepStrictEqual(weighVersion(settled), weighSent(after.items)),
  'a version is within maxTokens or explains why not': isWithinBudget,
  'a version exceeds maxTokens only if nothing more may be removed': (pass) => {
    if (!isBudgetAGoal(pass) || !isOverBudget(pass, weighSent(pass.after.items))) return true;
    const isHard = hasHardReason(pass.outcome.reasons);
    return protectGroups(inputAfter(pass)).every(
      (group) =>
        isFreshSummary(pass, group) || (group.protection !== undefined && (group.protection !== 'floor' || !isHard)),
    );
  },
  'a version is valid in all wire formats': ({ prepared, after }) =>
    WIRE_FORMATS.every((format) => isValid(prepared, after, format)),
  'a version keeps every pinned text unchanged': ({ prepared, before, after }) =>
    messagesOf(before)
      .filter(({ pinned }) => pinned === true)
      .every((message) => messagesOf(after).some((other) => isDeepStrictEqual(other, message))) &&
    prepared.policy.pins.every((pin) => prepared.system.includes(pin)),
  'a version keeps the first system messages and the last user message that the model has not read': ({
    before,
    after,
    firstUserSeq,
  }) => {
    const kept = new Set(messagesOf(after));
    const messages = messagesOf(before);
    const live = messages.findLastIndex(({ role }) => role === 'user');
    const isRead = messages.slice(live).some(({ role }) => role === 'assistant' || role === 'summary');
    const { first } = findSystemPlaces(before.items, firstUserSeq);
    const fixed = messages.filter((_, position) => first.has(position) || (position === live && !isRead));
    return fixed.every((message) => kept.has(message));
  },
  'a version keeps unanswered tool rounds unchanged': ({ before, after }) => {
    const kept = new Set(messagesOf(after));
    const messages = messagesOf(before);
    return groupMessages(messages)
      .filter(({ isOpen }) => isOpen)
      .every(({ positions }) => positions.every((position) => kept.has(messages[position] as Message)));
  },
  'a hard compaction may clip or summarize the last user message that the model has read, but not remove it': (pass) =>
    protectGroups(inputBefore(pass)).every((group) => {
      if (group.protection !== 'asked') return true;
      return hasHardReason(pass.outcome.reasons)
        ? isPresent(pass, group) || isCovered(pass, group)
        : isSame(pass, group);
    }),
  'a version may clip but not remove tool results that the model has not read': (pass) => {
    const isStill = hasHardReason(pass.outcome.reasons) ? isPresent : isSame;
    return protectGroups(inputBefore(pass)).every((group) => group.protection !== 'unread' || isStill(pass, group));
  },
  'a version splits no tool round': (pass) =>
    groupMessages(messagesOf(pass.before)).every(({ positions }) => {
      const kept = positions.filter((position) => findOwn(pass, pass.before.items[position] as ContextItem));
      return kept.length === 0 || kept.length === positions.length;
    }),
  'a version keeps the order of the log': ({ after: { items } }) =>
    items.every(({ from, to }, index) => from <= to && from > (items[index - 1]?.to ?? 0)),
  'a version adds only summaries and changes only masked or clipped messages': isMadeOfBefore,
  'masking or clipping a message keeps its role, call ids and error mark': (pass) =>
    pass.after.items
      .filter(({ segment }) => ['masked', 'clipped', 'excerpt'].includes(segment?.kind ?? ''))
      .every((item) => {
        const whole = pass.before.items.find(({ from }) => from === item.from)?.message;
        return whole !== undefined && isDeepStrictEqual(frameOf(whole), frameOf(item.message));
      }),
  'a version keeps the retention window unless it reports otherwise': keepsFloor,
  'the oldest groups leave the retention window first': takesOldestFirst,
  'a version reports a reduced retention window exactly if a message of it changed or left': (pass) => {
    const asked = protectGroups(inputBefore(pass)).filter(({ protection }) => protection === 'asked');
    const floor = [...floorOrder(inputBefore(pass)), ...asked];
    const isReduced = floor.some((group) => !isSame(pass, group) && !isCopied(pass, group));
    return pass.outcome.settled.isFloorRelaxed === isReduced;
  },
  'a version states how many messages it archived': ({ before, after, outcome: { settled } }) =>
    settled.archived === countOwn(before.items) - countOwn(after.items),
};

/** Lists the names of the checks that the version of a compaction pass breaks. */
export function findBreaches(pass: SeenPass): string[] {
  return namesOfBroken(CHECKS, pass);
}

function isWithinBudget(pass: SeenPass): boolean {
  const { explained } = pass.outcome.settled;
  const isOver = isOverBudget(pass, weighSent(pass.after.items));
  if (!isBudgetAGoal(pass)) return !isOver || explained.includes('no_token_reason');
  const isExplained = explained.some((why) => why === 'retention_floor' || why === 'nothing_removable');
  // If a token limit was the reason and the result is above maxTokens, the outcome must be infeasible instead of a
  // version.
  return isOver === isExplained && !(isOver && pass.outcome.reasons.includes('manual'));
}

function isValid({ system, tools }: PreparedAgent, context: Context, format: (typeof WIRE_FORMATS)[number]): boolean {
  const messages = [...messagesOf(context), { role: 'user' as const, content: 'probe' }];
  const request = { model: 'model-1', system, tools, messages, version: context.version.number, maxOutputTokens: 1 };
  const { render, validate } = wireFormats[format];
  return validate(render(request).body, { isProbed: true, isUncapped: true }).length === 0;
}

function isMadeOfBefore({ before, after }: SeenPass): boolean {
  const found = new Map(before.items.map((item) => [item.from, item]));
  return after.items.every((item) => {
    if (item.segment !== undefined) return item.to <= before.head;
    const was = found.get(item.from);
    return was !== undefined && was.segment === undefined && isDeepStrictEqual(was.message, item.message);
  });
}

/**
 * Checks that no message of the retention window changed or left, unless a hard pass says so. A summary may replace the
 * log's first user message.
 */
function keepsFloor(pass: SeenPass): boolean {
  if (pass.outcome.settled.isFloorRelaxed) return hasHardReason(pass.outcome.reasons);
  return floorOrder(inputBefore(pass)).every((group) => isCopied(pass, group) || isSame(pass, group));
}

function takesOldestFirst(pass: SeenPass): boolean {
  const order = floorOrder(inputBefore(pass)).filter((group) => !isCovered(pass, group));
  const lastGone = order.findLastIndex((group) => isGone(pass, group));
  return order.slice(0, lastGone + 1).every((group) => isGone(pass, group));
}

function isGone(pass: SeenPass, group: ProtectedGroup): boolean {
  return !isPresent(pass, group) && !isCovered(pass, group);
}

/** True if every message of the group is still in the context, possibly masked or clipped. */
function isPresent(pass: SeenPass, { items }: ProtectedGroup): boolean {
  return items.every((item) => findOwn(pass, item) !== undefined);
}

function isSame(pass: SeenPass, { items }: ProtectedGroup): boolean {
  return items.every((item) => isDeepStrictEqual(findOwn(pass, item)?.message, item.message));
}

/** True if a summary that starts with the text of the log's first user message replaced this message. */
function isCopied(pass: SeenPass, group: ProtectedGroup): boolean {
  const isFirst = group.items.some((item) => coversSeq(item, pass.firstUserSeq));
  const isInWindow = group.positions.some(
    (at) => at >= pass.before.items.length - pass.prepared.policy.retentionWindow,
  );
  return isFirst && !isInWindow && group.protection === 'floor' && isCovered(pass, group);
}

/** True if a summary replaced the group. */
function isCovered({ after }: SeenPass, { items }: ProtectedGroup): boolean {
  return items.every(({ from, to }) =>
    after.items.some((item) => item.message.role === 'summary' && item.from <= from && to <= item.to),
  );
}

/** True for a summary that this compaction wrote. */
function isFreshSummary({ before }: SeenPass, { items }: ProtectedGroup): boolean {
  return items.some(({ segment }) => segment?.kind === 'summary' && segment.version > before.version.number);
}

function findOwn({ after }: SeenPass, { from, to, message }: ContextItem): ContextItem | undefined {
  const isSummary = message.role === 'summary';
  return after.items.find(
    (item) => item.from === from && item.to === to && (item.message.role === 'summary') === isSummary,
  );
}

/** The properties of a message that masking and clipping must not change. */
function frameOf({ role, toolCallId, isError, toolCalls = [] }: Message): unknown {
  return { role, toolCallId, isError, calls: toolCalls.map(({ id, name }) => [id, name]) };
}

function inputBefore({ prepared: { policy }, before, firstUserSeq }: SeenPass): ProtectionInput {
  return { policy, context: before, firstUserSeq };
}

function inputAfter({ prepared: { policy }, after, firstUserSeq }: SeenPass): ProtectionInput {
  return { policy, context: after, firstUserSeq };
}

function countOwn(items: readonly ContextItem[]): number {
  return items.filter(({ segment }) => segment?.kind !== 'summary').length;
}
