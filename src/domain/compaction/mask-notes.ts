import { briefCall, clipAtWord } from '../evidence/call-line.ts';
import { readOutcome } from '../evidence/outcome.ts';
import type { Message, ToolCall } from '../message.ts';
import type { Sliced } from '../sliced.ts';
import type { ContextItem } from '../version.ts';
import type { Weigh } from './clip.ts';
import { maskedItem, maskResult } from './mask.ts';
import { findUsedNames } from './mask-names.ts';

/** Maximum tokens of a masked result with its note. */
const MAX_NOTED_TOKENS = 60;
/** A version stores each note. Older results get masks without notes, so that a version stays small. */
const MAX_NOTES = 128;
const MAX_CALL_CHARS = 60;
const MAX_NAMES = 6;

/**
 * Masks tool results with notes: the call, its status, and the names in the result that the agent used since. The newest
 * results get notes. A note is fixed when the mask is made, because later uses must not change a version (I15).
 * @param chosen positions of the results to mask. Each is larger than a mask
 * @returns the masked items by their position
 */
export function* maskWithNotes(
  items: readonly ContextItem[],
  chosen: readonly number[],
  weigh: Weigh,
): Sliced<ReadonlyMap<number, ContextItem>> {
  const masked = new Map(chosen.map((position) => [position, maskPlainly(items[position] as ContextItem)]));
  const noted = chosen.slice(-MAX_NOTES);
  if (noted.length === 0) return masked;
  const messages = items.map(({ message }) => message);
  const names = yield* findUsedNames(messages, new Set(noted));
  const calls = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call])));
  for (const position of noted) {
    const item = items[position] as ContextItem;
    const call = calls.get(item.message.toolCallId ?? '');
    const made = call && noteItem(item, { call, names: names.get(position) ?? [] }, weigh);
    if (made !== undefined) masked.set(position, made);
    yield;
  }
  return masked;
}

function maskPlainly(item: ContextItem): ContextItem {
  return maskedItem(item, item.from);
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

/** The first names that neither the call nor another chosen name holds. */
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
