import { isDeepStrictEqual } from 'node:util';
import { groupInSlices } from '../../domain/group.ts';
import type { Message } from '../../domain/message.ts';
import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import type { Violation } from '../wire-request.ts';

/**
 * X12: a round that is still open is the same before and after a pass, in every message of it. Paths are of `before`.
 * @throws orphan_result, duplicate_call where `before` is no history
 */
export function* checkOpenRound(before: readonly Message[], after: readonly Message[]): Sliced<Violation[]> {
  const kept = new Map<string, Message>();
  yield* forEachInSlices(after, (message) => {
    for (const key of keysOf(message)) kept.set(key, message);
  });
  const open = (yield* groupInSlices(before)).filter(({ isOpen }) => isOpen);
  return open
    .flatMap(({ positions }) => positions)
    .filter((position) => {
      const message = before[position] as Message;
      // All calls of a message are found in one: it is compared once, not once for each of 10,000.
      const found = new Set(keysOf(message).map((key) => kept.get(key)));
      return ![...found].every((one) => isDeepStrictEqual(one, message));
    })
    .map((position) => ({
      rule: 'X12',
      path: `messages[${position}]`,
      message: 'a message of a round that is still open was removed or changed',
    }));
}

/** What a round's messages are found by. Calls and results share their ids, so a letter tells them apart. */
function keysOf({ toolCalls = [], toolCallId }: Message): string[] {
  return toolCallId === undefined ? toolCalls.map(({ id }) => `c${id}`) : [`r${toolCallId}`];
}
