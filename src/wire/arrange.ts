/**
 * A provider's request is made from the log in three steps:
 * 1. This file arranges messages as every provider demands.
 * 2. The layout of a format (`<format>/layout.ts`) writes its roles and blocks. A provider gets its own answer back
 *    verbatim, with reasoning and signatures, unless the log's message was edited since.
 * 3. The renderer of a format (`<format>/render.ts`) adds tools, limits, cache breakpoints and thinking.
 *
 * Each block remembers the message of the log that it comes from (`Origin`). The rules on order (X10) and on thinking
 * (A8) need these messages, and a finished body does not show them.
 *
 * The start of a request never changes while messages are appended, because the provider's prompt cache and all thinking
 * hold only for an unchanged start. So a later system message stays in its place, an agent's tools are sent unchanged,
 * and a derived id is the same in each request.
 *
 * Every step yields in slices, because a context may have 100,000 messages.
 */

import { groupInSlices } from '../domain/group.ts';
import { forEachInSlices, type Interruptible, runToEnd } from '../domain/interruptible.ts';
import type { Message, ToolCall } from '../domain/message.ts';
import type { ToolDescription } from '../domain/model.ts';
import type { RawFormat } from '../domain/raw-items.ts';
import { renderSummary } from '../domain/summary.ts';
import { type CallIdForm, CallIds, readCallArguments } from './calls.ts';
import { isBlank, sendParts, sendText, textPart } from './parts.ts';
import { type Binding, countThoughts, keptRawItems } from './raw-items.ts';
import { fingerprintPrefix, legalToolName, sendTools } from './tools.ts';
import { type ArrangedItem, NO_ORIGIN, type Origin, type WireCall, type WireRequest } from './wire-request.ts';

export const FIRST_TEXT = '(earlier messages are not shown)';

export interface ArrangedSystem {
  readonly origin: Origin;
  readonly text: string;
}

export interface ArrangedRequest {
  readonly system: readonly ArrangedSystem[];
  /** The agent's tools, or a placeholder if it has none and the history has tool calls (wire rule X6). */
  readonly tools: readonly ToolDescription[];
  readonly items: readonly ArrangedItem[];
  readonly prefix: string;
}

interface ArrangeOptions {
  readonly callIds?: CallIdForm | undefined;
  readonly takesLaterSystem?: boolean | undefined;
}

/**
 * Puts messages into the form that all wire formats share. System messages come first, then a user message (X5).
 * Tool results directly follow their calls (X10), no content is empty (X3), and call ids are legal.
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
export function arrangeRequest(request: WireRequest, format: RawFormat, options?: ArrangeOptions): ArrangedRequest {
  return runToEnd(arrangeInSlices(request, format, options));
}

export function* arrangeInSlices(
  request: WireRequest,
  format: RawFormat,
  { callIds, takesLaterSystem = false }: ArrangeOptions = {},
): Interruptible<ArrangedRequest> {
  const { messages, model, version } = request;
  const order = (yield* groupInSlices(messages)).flatMap(({ positions }) => positions);
  yield;
  const ids = new CallIds(messages, format, callIds);
  yield;
  const start = messages.findIndex(({ role }) => role !== 'system');
  const system = arrangeSystem(request, start < 0 ? messages.length : start);
  const texts = system.map(({ text }) => text);
  yield;
  const tools = sendTools(request.tools, messages);
  const prefix = fingerprintPrefix(texts, tools);
  const toolNames = new Set(request.tools.map(({ name }) => name));
  const { inputs } = request;
  const surroundings = { ids, toolNames, inputs, binding: { format, model, version, prefix } };
  const items: ArrangedItem[] = [];
  yield* forEachInSlices(order, (origin) => {
    if (origin < start || start < 0) return;
    const item = arrangeMessage(messages[origin] as Message, origin, surroundings);
    items.push(item.kind === 'system' && !takesLaterSystem ? writeAsUser(item) : item);
  });
  if (items[0]?.kind !== 'user') items.unshift({ kind: 'user', origin: NO_ORIGIN, parts: [textPart(FIRST_TEXT)] });
  return { system, tools, items, prefix };
}

function arrangeSystem({ system, messages }: WireRequest, start: number): ArrangedSystem[] {
  const prompt = isBlank(system) ? [] : [{ origin: NO_ORIGIN, text: sendText(system) }];
  const first = messages.slice(0, start).map(({ content }, origin) => ({ origin, text: sendText(content) }));
  return [...prompt, ...first];
}

interface Surroundings {
  readonly ids: CallIds;
  readonly toolNames: ReadonlySet<string>;
  readonly binding: Binding;
  readonly inputs: WireRequest['inputs'];
}

function arrangeMessage(message: Message, origin: Origin, surroundings: Surroundings): ArrangedItem {
  switch (message.role) {
    case 'assistant':
      return arrangeAssistant(message, origin, surroundings);
    case 'tool': {
      const callId = surroundings.ids.sentOf(message.toolCallId ?? '') ?? '';
      return {
        kind: 'result',
        origin,
        callId,
        parts: sendParts(message, surroundings.inputs),
        isError: message.isError === true,
      };
    }
    case 'system':
      return { kind: 'system', origin, text: sendText(message.content) };
    case 'summary': {
      const { content, summary } = message;
      const text = sendText(summary === undefined ? content : renderSummary(content, summary));
      return { kind: 'user', origin, parts: [textPart(text)], raw: keptRawItems(message, surroundings.binding) };
    }
    default:
      return { kind: 'user', origin, parts: sendParts(message, surroundings.inputs) };
  }
}

/** Drops pictures, because no format accepts pictures from a model. */
function arrangeAssistant(message: Message, origin: Origin, { ids, toolNames, binding }: Surroundings): ArrangedItem {
  const { content, toolCalls = [] } = message;
  const calls = toolCalls.map((call) => arrangeCall(call, ids, toolNames));
  const text = calls.length > 0 && isBlank(content) ? '' : sendText(content);
  const thoughts = countThoughts(message, binding.format);
  return { kind: 'assistant', origin, text, calls, thoughts, raw: keptRawItems(message, binding) };
}

function arrangeCall(call: ToolCall, ids: CallIds, toolNames: ReadonlySet<string>): WireCall {
  return { id: ids.sentOf(call.id) ?? call.id, name: legalToolName(call.name, toolNames), ...readCallArguments(call) };
}

function writeAsUser({ origin, text }: Extract<ArrangedItem, { kind: 'system' }>): ArrangedItem {
  return { kind: 'user', origin, parts: [textPart(`<system_message>\n${text}\n</system_message>`)] };
}

/** Wire rule A1: Anthropic accepts system messages between a user message or results and an answer, or at the end. */
export function placeLaterSystem(items: readonly ArrangedItem[]): readonly ArrangedItem[] {
  const placed: ArrangedItem[] = [];
  for (let start = 0; start < items.length; ) {
    let end = start;
    while (items[end]?.kind === 'system') end += 1;
    const isLegal = isBehindUser(items[start - 1]) && (items[end]?.kind ?? 'assistant') === 'assistant';
    for (const item of items.slice(start, end))
      placed.push(item.kind === 'system' && !isLegal ? writeAsUser(item) : item);
    const next = items[end];
    if (next !== undefined) placed.push(next);
    start = end + 1;
  }
  return placed;
}

function isBehindUser(before: ArrangedItem | undefined): boolean {
  return before?.kind === 'user' || before?.kind === 'result';
}
