import type { Message, ToolCall } from '../domain/message.ts';
import { renderSummary } from '../domain/summary.ts';
import { hasBigNumber, readCallArguments } from './call-arguments.ts';
import type { CallIds } from './call-ids.ts';
import { type Binding, countThoughts, keptRawItems } from './kept-items.ts';
import { isBlank, sendParts, sendText, textPart } from './sent-parts.ts';
import type { SentTools } from './sent-tools.ts';
import type { ArrangedItem, Origin, WireCall } from './wire-request.ts';

/** What a message's place in its request decides. */
export interface Surroundings {
  readonly ids: CallIds;
  readonly nameOf: SentTools['nameOf'];
  readonly binding: Binding;
}

export interface ArrangedMessage {
  readonly item: ArrangedItem;
  /** the item says all that the message says; otherwise it has to be kept beside it, to be told again */
  readonly isExact: boolean;
}

/** One message that is no system message, as every format sends it. */
export function arrangeMessage(message: Message, origin: Origin, surroundings: Surroundings): ArrangedMessage {
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

/** Text only: no format takes anything else from a model. */
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

/** A raw item names the provider's id: where another is sent, the item cannot be told from it. */
function isSameCall(sent: WireCall, call: ToolCall, isRaw: boolean): boolean {
  const isSameId = !isRaw || sent.id === (call.providerId ?? call.id);
  const isSameInput = sent.arguments === call.arguments && !hasBigNumber(call.arguments);
  return isSameId && sent.name === call.name && isSameInput;
}
