import { forEachInSlices, type Interruptible } from '../domain/interruptible.ts';
import type { Message, ToolCall, Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import type { PlanRequest } from './budget.ts';
import type { Weigh } from './clip.ts';
import { briefCall, clipAtWord } from './evidence/call-line.ts';
import { readOutcome } from './evidence/outcome.ts';
import { findSupersededCalls } from './evidence/superseded.ts';
import { isFlexible, type Layout } from './layout.ts';
import { hasPictures, isMaskable, maskedItem, maskPictures, maskResult, namePictures } from './mask.ts';
import { findUsedNames } from './mask-names.ts';

const MAX_NOTED_TOKENS = 60;
/** Maximum number of notes in a version, which stores each note. Older results get masks without notes. */
const MAX_NOTES = 128;
const MAX_CALL_CHARS = 60;
const MAX_NAMES = 6;

interface MaskRequest {
  readonly items: readonly ContextItem[];
  readonly callOf: readonly (ToolCall | undefined)[];
  readonly chosen: readonly number[];
  readonly isEstimate?: boolean | undefined;
}

/** Masks results that a later result superseded, or all old results if the policy says so. */
export function* maskOldResults(
  { items, groupOf, callOf, protections }: Layout,
  { policy: { maskToolResults }, weigh, isEstimate }: Pick<PlanRequest, 'policy' | 'weigh' | 'isEstimate'>,
): Interruptible<readonly ContextItem[]> {
  const superseded = yield* findSupersededCalls(callOf, (position) => items[position]?.message.isError === true);
  if (superseded.size === 0 && !maskToolResults) return items;
  const chosen: number[] = [];
  yield* forEachInSlices(items, (item, position) => {
    const isStale = maskToolResults || superseded.has(position);
    const mayChange = protections[groupOf[position] as number] === undefined && item.segment === undefined;
    if (isStale && mayChange && isMaskable(item)) chosen.push(position);
  });
  return chosen.length === 0 ? items : yield* maskWithNotes({ items, callOf, chosen, isEstimate }, weigh);
}

/** A note has the call, its status, and the names that the agent used since. The version stores the note (I15). */
export function* maskWithNotes(
  { items, callOf, chosen, isEstimate = false }: MaskRequest,
  weigh: Weigh,
): Interruptible<readonly ContextItem[]> {
  const masked = [...items];
  yield* forEachInSlices(chosen, (position) => {
    const item = items[position] as ContextItem;
    masked[position] = maskedItem(item, item.from);
  });
  const noted = isEstimate ? [] : chosen.slice(-MAX_NOTES);
  if (noted.length === 0) return masked;
  const messages = items.map(({ message }) => message);
  const names = yield* findUsedNames(messages, new Set(noted));
  for (const position of noted) {
    const item = items[position] as ContextItem;
    const call = callOf[position];
    const made = call && noteItem(item, { call, names: names.get(position) ?? [] }, weigh);
    if (made !== undefined) masked[position] = made;
    yield;
  }
  return masked;
}

interface Anchors {
  readonly call: ToolCall;
  readonly names: readonly string[];
}

/** @returns undefined if no note fits, or the mask would not be smaller than the result */
function noteItem(item: ContextItem, anchors: Anchors, weigh: Weigh): ContextItem | undefined {
  const names = chooseNames(anchors);
  for (;;) {
    const note = writeNote(item.message, anchors.call, names);
    const weight = weigh(maskResult(item, item.from, note));
    const fits = weight.tokens <= MAX_NOTED_TOKENS;
    if (fits) {
      const isSmaller = weight.tokens < item.tokens && weight.bytes < item.bytes;
      return isSmaller ? maskedItem(item, item.from, { note, weight }) : undefined;
    }
    if (names.pop() === undefined) return undefined;
  }
}

function chooseNames({ call, names }: Anchors): string[] {
  const chosen: string[] = [];
  for (const name of names) {
    if (chosen.length === MAX_NAMES) break;
    if (!call.arguments.includes(name) && !chosen.some((other) => other.includes(name))) chosen.push(name);
  }
  return chosen;
}

function writeNote(message: Message, call: ToolCall, names: readonly string[]): string {
  const { status } = readOutcome(message);
  const used = names.length === 0 ? '' : `, used since: ${names.join(' ')}`;
  return `${clipAtWord(briefCall(call, MAX_CALL_CHARS), MAX_CALL_CHARS)} → ${status}${used}`;
}

/** Maximum characters of a text that is counted again, because counting longer texts would take too long. */
const MAX_COUNTED_CHARS = 4_000;

/**
 * Masks old pictures after a provider refused a request's size. Pictures of the floor stay, unless no other pictures
 * are left. The last user message keeps its pictures.
 */
export function* maskOldPictures(
  { items, groupOf, protections }: Layout,
  weigh: Weigh,
): Interruptible<readonly ContextItem[]> {
  const lastUser = items.findLastIndex(({ message }) => message.role === 'user');
  const old: number[] = [];
  const recent: number[] = [];
  yield* forEachInSlices(items, (item, position) => {
    if (item.segment !== undefined || position === lastUser || !hasPictures(item.message)) return;
    const protection = protections[groupOf[position] as number];
    if (protection === undefined) old.push(position);
    else if (isFlexible(protection)) recent.push(position);
  });
  const chosen = old.length > 0 ? old : recent;
  if (chosen.length === 0) return items;
  const masked = [...items];
  for (const position of chosen) {
    masked[position] = maskPicturesOf(items[position] as ContextItem, weigh);
    yield;
  }
  return masked;
}

function maskPicturesOf(item: ContextItem, weigh: Weigh): ContextItem {
  const { from, to } = item;
  const note = namePictures(item.message);
  const message = maskPictures(item.message, from, note);
  const weight = message.content.length <= MAX_COUNTED_CHARS ? weigh(message) : weighLongText(item, message, weigh);
  return { from, to, message, ...weight, segment: { kind: 'masked', from, to, weight, note } };
}

function weighLongText({ message, tokens, bytes }: ContextItem, masked: Message, weigh: Weigh): Weight {
  const pictures = weigh({ ...message, content: '' });
  const line = weigh({ role: 'user', content: masked.content.slice(masked.content.lastIndexOf('\n')) });
  return {
    tokens: Math.max(line.tokens, tokens - pictures.tokens + line.tokens),
    bytes: Math.max(line.bytes, bytes - pictures.bytes + line.bytes),
  };
}
