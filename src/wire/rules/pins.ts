import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { isBlank } from '../sent-parts.ts';
import type { Rendered, Violation, WireRequest } from '../wire-request.ts';

/** X13: a pinned message is the same before and after a pass. Paths are of `before`. */
export function checkPinned(before: readonly Message[], after: readonly Message[]): Violation[] {
  const kept = new Set(after);
  const byContent = Map.groupBy(after, ({ content }) => content);
  return before.flatMap((message, position) => {
    const alike = message.pinned === true && !kept.has(message) ? byContent.get(message.content) : [message];
    const isKept = alike?.some((one) => isDeepStrictEqual(one, message)) ?? false;
    return isKept ? [] : [breach(`messages[${position}]`, 'a pinned message was removed or changed')];
  });
}

/**
 * X13: the pins of the policy, and the texts of pinned messages, are sent letter by letter.
 * @param pins texts of the policy
 * @param rendered what a renderer made of the request
 */
export function checkPins(
  { messages }: Pick<WireRequest, 'messages'>,
  { body }: Pick<Rendered<unknown>, 'body'>,
  pins: readonly string[],
): Violation[] {
  const pinned = messages.flatMap((message, origin) => {
    // What its provider wrote goes back in the provider's own blocks, of which one or the other may be left out; a checkpoint
    // goes inside a tag that its text must not close.
    if (message.pinned !== true || message.raw !== undefined || message.role === 'checkpoint') return [];
    return textsOf(message).map((text) => ({ path: `messages[${origin}]`, text: text.toWellFormed() }));
  });
  const sought = [...pins.map((text, index) => ({ path: `pins[${index}]`, text })), ...pinned];
  if (sought.length === 0) return [];
  // Nearly all pinned texts are sent by themselves. Only the others are looked for in the whole body, each once over all of it.
  const whole = collectTexts(body);
  const others = sought.filter(({ text }) => !whole.has(text));
  if (others.length === 0) return [];
  const sent = JSON.stringify(body);
  return others
    .filter(({ text }) => !sent.includes(insideJson(text)))
    .map(({ path }) => breach(path, 'a pinned text is not sent letter by letter'));
}

/** Every text of a body, wherever it stands. */
function collectTexts(body: unknown): ReadonlySet<unknown> {
  const texts = new Set<unknown>();
  const values = [body];
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
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

/** JSON writes each character by itself, so that a text stands in it as a stretch of one string. */
function insideJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function breach(path: string, message: string): Violation {
  return { rule: 'X13', path, message };
}
