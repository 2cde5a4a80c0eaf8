import type { Message } from '../../domain/message.ts';
import { readLeaves } from './identifiers.ts';

/** Text of a message: role, content, and each call with its arguments as `key: value`, without escapes. */
export function renderMessage({ role, isError, content, toolCalls = [] }: Message): string {
  const calls = toolCalls.map((call) => {
    const values = readLeaves(call).map(({ key, value }) => `${key}: ${value}`);
    return `\n→ ${call.name}(${values.join(', ')})`;
  });
  return `[${role}${isError === true ? ' error' : ''}] ${content}${calls.join('')}`;
}

export function renderMessages(messages: readonly Message[]): string {
  return messages.map(renderMessage).join('\n');
}

const WORD = /[A-Za-z0-9_]/;

/** Finds the positions where `identifier` is a whole word, not inside a longer word. */
export function* findWhole(text: string, identifier: string): Generator<number> {
  const startsAsWord = WORD.test(identifier.charAt(0));
  const endsAsWord = WORD.test(identifier.charAt(identifier.length - 1));
  for (let at = text.indexOf(identifier); at !== -1; at = text.indexOf(identifier, at + 1)) {
    const continuesBefore = startsAsWord && at > 0 && WORD.test(text.charAt(at - 1));
    const continuesAfter = endsAsWord && WORD.test(text.charAt(at + identifier.length) || ' ');
    if (!continuesBefore && !continuesAfter) yield at;
  }
}

export function holds(text: string, identifier: string): boolean {
  return findWhole(text, identifier).next().done === false;
}
