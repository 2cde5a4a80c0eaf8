import { groupInSlices } from '../domain/group.ts';
import type { Message, ToolCall } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';
import type { WireFormat } from '../domain/raw-items.ts';
import { forEachInSlices, runToEnd, type Sliced } from '../domain/sliced.ts';
import { renderSummary } from '../domain/summary.ts';
import { CallIds, hasBigNumber, readCallArguments } from './calls.ts';
import { isBlank, sendParts, sendText, textPart } from './parts.ts';
import { type Binding, countThoughts, keptRawItems } from './raw-items.ts';
import { describeTools, type SentTools } from './tools.ts';
import {
  type ArrangedItem,
  type Marks,
  NO_ORIGIN,
  type Origin,
  type WireCall,
  type WireRequest,
} from './wire-request.ts';

/** First message of a request that would start with another role (X5). */
export const FIRST_TEXT = '(earlier messages are not shown)';

export interface ArrangedSystem {
  readonly origin: Origin;
  readonly text: string;
}

/** A request in the order and form that all formats share. The format adds roles, blocks and merges. */
export interface ArrangedRequest {
  /** The agent's prompt and the system messages of the log. No format takes system messages in the middle. */
  readonly system: readonly ArrangedSystem[];
  /** Tools of the agent, and stubs for called tools that no longer exist (X6). */
  readonly tools: readonly ToolDescription[];
  readonly items: readonly ArrangedItem[];
  /** All marks except the origins of blocks, which each format sets. */
  readonly marks: Omit<Marks, 'origins'>;
}

/**
 * Arranges the messages of a request:
 * - system messages first, then a user message (X5)
 * - each round's results directly behind their call (X10)
 * - no empty content (X3)
 * - every called tool described (X6)
 * - legal call ids
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
export function arrangeRequest(request: WireRequest, format: WireFormat): ArrangedRequest {
  return runToEnd(arrangeInSlices(request, format));
}

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

/** Completes the marks with what the format changed. */
export function completeMarks(
  { marks }: ArrangedRequest,
  { messages }: Pick<WireRequest, 'messages'>,
  { altered, raw, origins }: { readonly altered: Iterable<Origin> } & Pick<Marks, 'raw' | 'origins'>,
): Marks {
  const replaced = new Map(marks.replaced);
  for (const origin of altered) replaced.set(origin, messages[origin] as Message);
  return { ...marks, replaced, raw, origins };
}

function arrangeSystem({ system, messages }: WireRequest): ArrangedSystem[] {
  const prompt = isBlank(system) ? [] : [{ origin: NO_ORIGIN, text: sendText(system) }];
  const logged = messages.flatMap(({ role, content }, origin) =>
    role === 'system' ? [{ origin, text: sendText(content) }] : [],
  );
  return [...prompt, ...logged];
}

/** Facts about a request that its messages depend on. */
export interface Surroundings {
  readonly ids: CallIds;
  readonly nameOf: SentTools['nameOf'];
  readonly binding: Binding;
}

export interface ArrangedMessage {
  readonly item: ArrangedItem;
  /** The item holds everything in the message. Otherwise the marks keep the whole message. */
  readonly isExact: boolean;
}

/** Arranges one message that is not a system message. */
function arrangeMessage(message: Message, origin: Origin, surroundings: Surroundings): ArrangedMessage {
  switch (message.role) {
    case 'assistant':
      return arrangeAssistant(message, origin, surroundings);
    case 'tool': {
      const callId = surroundings.ids.sentOf(message.toolCallId ?? '') ?? '';
      const { parts, isExact } = sendParts(message);
      return { item: { kind: 'result', origin, callId, parts, isError: message.isError === true }, isExact };
    }
    case 'summary': {
      const raw = keptRawItems(message, surroundings.binding);
      const parts = [textPart(textOfSummary(message))];
      return { item: { kind: 'user', origin, parts, ...(raw === undefined ? {} : { raw }) }, isExact: false };
    }
    default: {
      const { parts, isExact } = sendParts(message);
      return { item: { kind: 'user', origin, parts }, isExact };
    }
  }
}

function textOfSummary({ content, summary }: Message): string {
  return sendText(summary === undefined ? content : renderSummary(content, summary));
}

/** Sends text only: no format takes other parts from a model. */
function arrangeAssistant(message: Message, origin: Origin, { ids, nameOf, binding }: Surroundings): ArrangedMessage {
  const { content, toolCalls = [], parts = [] } = message;
  const calls = toolCalls.map((call) => arrangeCall(call, ids, nameOf));
  const raw = keptRawItems(message, binding);
  const text = calls.length > 0 && isBlank(content) ? '' : sendText(content);
  const thoughts = countThoughts(message, binding.format);
  const areCallsExact = calls.every((call, index) => isSameCall(call, toolCalls[index] as ToolCall, raw !== undefined));
  return {
    item: { kind: 'assistant', origin, text, calls, thoughts, ...(raw === undefined ? {} : { raw }) },
    isExact: text === content && parts.length === 0 && areCallsExact,
  };
}

function arrangeCall(call: ToolCall, ids: CallIds, nameOf: SentTools['nameOf']): WireCall {
  return { id: ids.sentOf(call.id) ?? call.id, name: nameOf(call.name), ...readCallArguments(call) };
}

/** A raw item holds the provider's id. If another id is sent, the original cannot be restored from the item. */
function isSameCall(sent: WireCall, call: ToolCall, isRaw: boolean): boolean {
  const isSameId = !isRaw || sent.id === (call.providerId ?? call.id);
  const isSameInput = sent.arguments === call.arguments && !hasBigNumber(call.arguments);
  return isSameId && sent.name === call.name && isSameInput;
}
