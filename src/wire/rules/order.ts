import type { Message } from '../../domain/message.ts';
import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import type { Marks, Origin, Rendered, Violation, WireRequest } from '../wire-request.ts';

/**
 * X10: what is sent is the request's messages, each of them, in their order; a result alone moves, directly behind its call.
 * System messages are not asked: formats gather them in front.
 * @param rendered what a renderer made of the request; its marks say what came from where
 */
export function* checkOrder(
  { messages }: Pick<WireRequest, 'messages'>,
  { marks }: Pick<Rendered<unknown>, 'marks'>,
): Sliced<Violation[]> {
  const violations: Violation[] = [];
  const callers = yield* findCallers(messages);
  const seen = new Set<Origin>();
  let last: Origin = -1;
  yield* forEachInSlices(marks.origins, (origins, index) => {
    const report = (message: string) => violations.push({ rule: 'X10', path: pathOf(marks, index), message });
    for (const origin of origins) {
      const message = messages[origin];
      if (message === undefined || message.role === 'system' || seen.has(origin)) continue;
      seen.add(origin);
      if (message.role !== 'tool') {
        if (origin < last) report(`message ${origin} of the request stands behind message ${last}`);
        last = Math.max(last, origin);
      } else if (callers.get(message.toolCallId ?? '') !== last) {
        report(`result ${origin} of the request does not stand behind its call`);
      }
    }
  });
  yield* forEachInSlices(messages, ({ role }, origin) => {
    if (role === 'system' || seen.has(origin)) return;
    violations.push({ rule: 'X10', path: '', message: `message ${origin} of the request is not sent` });
  });
  return violations;
}

/** The message that makes a call, by the call's id. */
function* findCallers(messages: readonly Message[]): Sliced<Map<string, Origin>> {
  const callers = new Map<string, Origin>();
  yield* forEachInSlices(messages, ({ toolCalls = [] }, origin) => {
    for (const { id } of toolCalls) callers.set(id, origin);
  });
  return callers;
}

function pathOf({ format }: Marks, index: number): string {
  return `${format === 'openai-responses' ? 'input' : 'messages'}[${index}]`;
}
