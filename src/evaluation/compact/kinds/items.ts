import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { responses } from '../../../wire/histories/formats/responses.ts';
import { isResultItem } from '../../../wire/histories/formats/responses-calls.ts';
import { ItemReader } from '../../../wire/histories/formats/responses-items.ts';
import type { HistoryNotes } from '../../../wire/histories/notes.ts';
import type { ReadMessages } from '../../../wire/histories/read-messages.ts';
import type { Block } from '../../../wire/histories/values.ts';
import { responsesWriter } from '../../../wire/histories/writers/openai-responses.ts';
import { listUnder } from './chat.ts';
import { type MessageKind, type Survivor, survivingMessages } from './kind.ts';

export const responsesKind: MessageKind = {
  name: 'openai-responses',
  recognizes: (messages) => responses.recognizes([{ value: messages, at: '' }]),
  read: readItems,
  rewrite: (parts, survivors) => patchOutput(parts, survivors) ?? writeItems(survivingMessages(survivors)),
  addUser: ({ text }) => addMessage(text),
};

/** Items of the OpenAI Agents SDK, whose fields have other names than in the API. */
export const agentsKind: MessageKind = {
  name: 'openai-agents',
  recognizes: (messages) => messages.some(({ type, callId }) => type === 'function_call_result' || isId(callId)),
  read: (parts, places, notes) => readItems(parts.map(toResponsesItem), places, notes),
  rewrite: (parts, survivors) =>
    patchOutput(parts, survivors) ??
    writeItems(survivingMessages(survivors)).map((item) => toAgentsItem(item, survivors)),
  addUser: ({ text }) => addMessage(text),
};

function isId(value: unknown): boolean {
  return typeof value === 'string';
}

function addMessage(text: string): Block {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

function readItems(parts: readonly unknown[], places: readonly string[], notes: HistoryNotes): ReadMessages {
  const reader = new ItemReader(notes);
  for (const [index, part] of parts.entries()) reader.enter(part, places[index] ?? '');
  const read = reader.finish();
  return { messages: read.map(({ message }) => message), places: read.map(({ at }) => at) };
}

function writeItems(messages: readonly Message[]): Block[] {
  return listUnder(responsesWriter.write(messages), 'input') as Block[];
}

/** Changes an output. The output keeps its type, because it must match its call. */
function patchOutput(parts: readonly unknown[], survivors: readonly Survivor[]): Block[] | undefined {
  const [survivor] = survivors;
  const [item, ...others] = parts.filter((part) => isMapping(part) && isOutput(part)) as Block[];
  if (survivors.length !== 1 || survivor?.message.role !== 'tool' || item === undefined || others.length > 0) {
    return undefined;
  }
  const { output: _, ...rest } = item;
  const { content } = survivor.message;
  switch (item['type']) {
    case 'shell_call_output':
      return [{ ...rest, output: [{ stdout: content, stderr: '', outcome: { type: 'exit', exit_code: 0 } }] }];
    case 'function_call_result':
      return [{ ...rest, output: { type: 'text', text: content } }];
    case 'computer_call_output':
    case 'computer_call_result':
      // A screenshot stays unchanged, because the provider accepts no other output for its call.
      return [item];
    default:
      return [{ ...rest, output: content }];
  }
}

function isOutput({ type }: Block): boolean {
  return typeof type === 'string' && (isResultItem(type) || type.endsWith('_call_result'));
}

function toResponsesItem(item: unknown): unknown {
  if (!isMapping(item)) return item;
  const { callId, providerData: _, ...rest } = item;
  const { type } = item;
  if (type === 'reasoning') return { ...rest, summary: item['rawContent'] ?? item['content'], content: undefined };
  const named = { ...rest, ...(callId !== undefined && { call_id: callId }) };
  if (typeof type !== 'string') return named;
  if (type === 'hosted_tool_call') return { ...named, type: 'mcp_call' };
  if (!type.endsWith('_call_result')) return named;
  return { ...named, type: type.replace(/_result$/, '_output'), output: textOfOutput(item['output']) };
}

function textOfOutput(output: unknown): unknown {
  if (isMapping(output) && output['type'] === 'text') return output['text'];
  return isMapping(output) && typeof output['type'] === 'string' ? [toInputPart(output)] : mapParts(output);
}

function mapParts(output: unknown): unknown {
  return Array.isArray(output) ? output.map((part: unknown) => (isMapping(part) ? toInputPart(part) : part)) : output;
}

function toInputPart(part: Block): Block {
  const { type, image, detail: _, ...rest } = part;
  if (type === 'image' || type === 'input_image') return { type: 'input_image', image_url: image ?? rest['image_url'] };
  return type === 'text' ? { type: 'input_text', text: part['text'] } : part;
}

function toAgentsItem(item: Block, survivors: readonly Survivor[]): Block {
  const { call_id: callId, ...rest } = item;
  switch (item['type']) {
    case 'function_call':
      return { ...rest, callId, status: 'completed' };
    case 'function_call_output': {
      const calls = survivors.flatMap(({ message }) => message.toolCalls ?? []);
      const name = calls.find(({ id }) => id === callId)?.name ?? 'tool';
      const { output } = item;
      const text = typeof output === 'string' ? { type: 'text', text: output } : output;
      return { type: 'function_call_result', callId, name, status: 'completed', output: text };
    }
    case 'message':
      return item['role'] === 'assistant' ? { ...item, status: 'completed' } : item;
    default:
      return item;
  }
}
