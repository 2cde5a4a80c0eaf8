import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { isBlank } from '../sent-parts.ts';
import type { Rendered, Violation, WireRequest } from '../wire-request.ts';

/** X13: a pinned message is the same before and after a pass. Paths are of `before`. */
export function checkPinned(before: readonly Message[], after: readonly Message[]): Violation[] {
  const kept = new Set(after);
  return before.flatMap((message, position) => {
    const isKept = message.pinned !== true || kept.has(message) || after.some((one) => isDeepStrictEqual(one, message));
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
  const sent = JSON.stringify(body);
  return sought
    .filter(({ text }) => !sent.includes(insideJson(text)))
    .map(({ path }) => breach(path, 'a pinned text is not sent letter by letter'));
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
