import { groupInSlices } from '../domain/group.ts';
import type { Message } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';
import type { WireFormat } from '../domain/raw-items.ts';
import { forEachInSlices, runToEnd, type Sliced } from '../domain/sliced.ts';
import { arrangeMessage } from './arrange-message.ts';
import { CallIds } from './call-ids.ts';
import { describeTools } from './described-tools.ts';
import { isBlank, sendText, textPart } from './sent-parts.ts';
import { type ArrangedItem, type Marks, NO_ORIGIN, type Origin, type WireRequest } from './wire-request.ts';

/** Goes first where the first message would be another's: a request has to open with a user message (X5). */
export const FIRST_TEXT = '(earlier messages are not shown)';

export interface ArrangedSystem {
  readonly origin: Origin;
  readonly text: string;
}

/** A request in the order and form that every format shares. What is left to a format: roles, blocks, merges. */
export interface ArrangedRequest {
  /** the agent's prompt and the log's system messages, which no format takes in the middle */
  readonly system: readonly ArrangedSystem[];
  /** with a stub for each that is gone while calls of it remain (X6, `describeTools`) */
  readonly tools: readonly ToolDescription[];
  readonly items: readonly ArrangedItem[];
  /** all but the origins of the blocks, which are the format's own */
  readonly marks: Omit<Marks, 'origins'>;
}

/**
 * Arranges a request's messages: system messages in front, each round's results directly behind their call (X10), nothing
 * empty (X3), a user message first (X5), every tool named (X6), legal call ids.
 * @throws orphan_result, duplicate_call where the messages are no history
 */
export function arrangeRequest(request: WireRequest, format: WireFormat): ArrangedRequest {
  return runToEnd(arrangeInSlices(request, format));
}

/** The same, in slices. */
export function* arrangeInSlices(request: WireRequest, format: WireFormat): Sliced<ArrangedRequest> {
  const { messages, model, version } = request;
  const order = (yield* groupInSlices(messages)).flatMap(({ positions }) => positions);
  yield;
  const ids = new CallIds(messages, format);
  yield;
  const system = arrangeSystem(request);
  const texts = system.map(({ text }) => text);
  yield;
  const { tools, stubs, nameOf, prefix } = describeTools(request, { format, system: texts, order });

  const replaced = new Map<Origin, Message>();
  const raw = new Set<Origin>();
  const items: ArrangedItem[] = [];
  yield* forEachInSlices(order, (origin) => {
    const message = messages[origin] as Message;
    if (message.role === 'system') {
      if (message.content !== sendText(message.content) || message.parts !== undefined) replaced.set(origin, message);
      return;
    }
    const { item, isExact } = arrangeMessage(message, origin, {
      ids,
      nameOf,
      binding: { format, model, version, prefix },
    });
    if (!isExact) replaced.set(origin, message);
    if (item.kind !== 'result' && item.raw !== undefined) raw.add(origin);
    items.push(item);
  });
  if (items[0]?.kind !== 'user') items.unshift({ kind: 'user', origin: NO_ORIGIN, parts: [textPart(FIRST_TEXT)] });
  const origins = system.map(({ origin }) => origin);
  return { system, tools, items, marks: { format, callIds: ids.map, replaced, raw, stubs, system: origins, prefix } };
}

function arrangeSystem({ system, messages }: WireRequest): ArrangedSystem[] {
  const prompt = isBlank(system) ? [] : [{ origin: NO_ORIGIN, text: sendText(system) }];
  const logged = messages.flatMap(({ role, content }, origin) =>
    role === 'system' ? [{ origin, text: sendText(content) }] : [],
  );
  return [...prompt, ...logged];
}
