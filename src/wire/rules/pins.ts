import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { endsSlice, forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import { isBlank } from '../sent-parts.ts';
import type { Rendered, Violation, WireRequest } from '../wire-request.ts';

/** Characters searched between two yields, below 5 ms. */
const SLICE_CHARACTERS = 1_000_000;
/** What a search in a short text costs, in characters. */
const MIN_SEARCHED = 50;

/** X13: a pinned message is the same before and after a pass. Paths are of `before`. */
export function* checkPinned(before: readonly Message[], after: readonly Message[]): Sliced<Violation[]> {
  const kept = new Set<Message>();
  const byContent = new Map<string, Message[]>();
  yield* forEachInSlices(after, (message) => {
    if (message.pinned !== true) return;
    kept.add(message);
    const alike = byContent.get(message.content);
    if (alike === undefined) byContent.set(message.content, [message]);
    else alike.push(message);
  });
  const violations: Violation[] = [];
  yield* forEachInSlices(before, (message, position) => {
    if (message.pinned !== true || kept.has(message)) return;
    const isKept = byContent.get(message.content)?.some((one) => isDeepStrictEqual(one, message)) ?? false;
    if (!isKept) violations.push(breach(`messages[${position}]`, 'a pinned message was removed or changed'));
  });
  return violations;
}

/**
 * X13: the pins of the policy, and the texts of pinned messages, are sent letter by letter.
 * @param pins texts of the policy
 * @param rendered what a renderer made of the request
 */
export function* checkPins(
  { messages }: Pick<WireRequest, 'messages'>,
  { body }: Pick<Rendered<unknown>, 'body'>,
  pins: readonly string[],
): Sliced<Violation[]> {
  const sought = pins.map((text, index) => ({ path: `pins[${index}]`, text }));
  yield* forEachInSlices(messages, (message, origin) => {
    // What its provider wrote goes back in the provider's own blocks, of which one or the other may be left out; a summary
    // goes inside a tag that its text must not close.
    if (message.pinned !== true || message.raw !== undefined || message.role === 'summary') return;
    for (const text of textsOf(message)) sought.push({ path: `messages[${origin}]`, text: text.toWellFormed() });
  });
  if (sought.length === 0) return [];
  // Nearly all pinned texts are sent by themselves. Only the others are looked for in the whole body, each once over all of it.
  const whole = yield* collectTexts(body);
  const others = sought.filter(({ text }) => !whole.has(text));
  // Each stands inside of one text of the body, or nowhere.
  const lost = new Set(others);
  let searched = 0;
  for (const sent of lost.size === 0 ? [] : whole) {
    for (const one of lost) {
      if (sent.includes(one.text)) lost.delete(one);
      searched += Math.max(MIN_SEARCHED, sent.length);
      if (searched < SLICE_CHARACTERS) continue;
      searched = 0;
      yield;
    }
  }
  return [...lost].map(({ path }) => breach(path, 'a pinned text is not sent letter by letter'));
}

/** Every text of a body, wherever it stands. */
function* collectTexts(body: unknown): Sliced<ReadonlySet<string>> {
  const texts = new Set<string>();
  const values = [body];
  let count = 0;
  for (let value = values.pop(); value !== undefined; value = values.pop(), count += 1) {
    if (endsSlice(count)) yield;
    if (typeof value === 'string') texts.add(value);
    else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) if (inner !== undefined) values.push(inner);
    }
  }
  return texts;
}

/** Those that every format sends: of what a model or the system says, the text alone. */
function textsOf(message: Message): string[] {
  const { role, content } = message;
  const isTextOnly = role === 'assistant' || role === 'system';
  const texts = isTextOnly
    ? [content]
    : readParts(message).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return texts.filter((text) => !isBlank(text));
}

function breach(path: string, message: string): Violation {
  return { rule: 'X13', path, message };
}
