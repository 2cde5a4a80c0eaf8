import { isMapping } from '../../../domain/parse.ts';
import { readCallText } from '../blocks.ts';
import { type Block, blockOf, blocksIn, listOf, toText, withoutFields } from '../values.ts';
import {
  type FileRecord,
  type ForeignConversation,
  ForeignMessages,
  type HistoryFormat,
  listEntries,
  membersOf,
  placeIn,
} from './format.ts';
import { listFormat, partTypes } from './message-lists.ts';

const ANTHROPIC_PART = /^(?:tool_use|tool_result|thinking|redacted_thinking|server_tool_use|.+_tool_result)$/;

export const anthropic: HistoryFormat = listFormat({
  name: 'anthropic',
  title: 'messages of Anthropic',
  recognizes: (messages, { system }) =>
    system !== undefined || partTypes(messages).some((type) => ANTHROPIC_PART.test(type)),
});

const AI_SDK_PART = /^(?:tool-.+|step-start|dynamic-tool|source-(?:url|document)|data-.+)$/;

/** Lists of `UIMessage` and `ModelMessage` of the AI SDK, from version 4 on. */
export const aiSdk: HistoryFormat = listFormat({
  name: 'ai-sdk',
  title: 'messages of the AI SDK',
  recognizes: (messages) =>
    messages.some(({ parts, toolInvocations }) => Array.isArray(parts) || Array.isArray(toolInvocations)) ||
    partTypes(messages).some((type) => AI_SDK_PART.test(type)),
});

/** Fields in which benchmarks and agents note facts about a message. Models never received these fields. */
const STEP_FIELDS: ReadonlySet<string> = new Set(
  (
    'agent action thought message_type is_demo tool_call_ids cache_control extra tags turn_idx cost ' +
    'raw_data requestor error generation_time_seconds execution_time state query ' +
    'observation response is_audio channel recipient'
  ).split(' '),
);

/** Lists of OpenAI Chat, fine-tuning files, tau-bench, SWE-agent. */
export const openaiChat: HistoryFormat = listFormat({
  name: 'openai-chat',
  title: 'messages of OpenAI Chat',
  recognizes: (messages) => messages.some(({ role }) => typeof role === 'string'),
  open: () => unwrapStep,
});

/** True if `readConversationLine` reads the messages without an importer. */
export function isReadByLine({ messages, system }: Block, format: HistoryFormat | undefined): boolean {
  if (format === undefined || system !== undefined) return format === undefined;
  if (format !== openaiChat) return format === aiSdk || format === anthropic;
  return !blocksIn(messages).some((message) => Object.keys(message).some((key) => STEP_FIELDS.has(key)));
}

function isOfSimulatedUser(calls: unknown): boolean {
  return Array.isArray(calls) && calls.every((call) => isMapping(call) && call['requestor'] === 'user');
}

function unwrapStep(given: Block, at: string, { notes }: ForeignMessages): unknown {
  const refusal = refuseStep(given);
  if (refusal !== undefined) return notes.add('left_out', at, refusal);
  const { role, content, error } = given;
  for (const key of Object.keys(given).filter((name) => STEP_FIELDS.has(name) && given[name] !== null))
    notes.add('left_out', `${at}.${key}`, `the field ${key} was not sent to a model`);
  const { tool_calls: calls, ...kept } = withoutFields(given, STEP_FIELDS);
  const isOfUser = role === 'user' && isOfSimulatedUser(calls);
  if (isOfUser) notes.add('left_out', `${at}.tool_calls`, 'calls of the tools of a simulated user are left out');
  const callId = role === 'tool' ? findCallId(given) : undefined;
  return {
    ...kept,
    ...(calls !== undefined && !isOfUser && { tool_calls: calls }),
    ...(content === undefined && role === 'assistant' && { content: null }),
    ...(callId !== undefined && { tool_call_id: callId }),
    ...(role === 'tool' && error === true && { is_error: true }),
  };
}

/** @returns why the message is not part of the conversation, or undefined if it is part */
function refuseStep({ role, requestor, is_demo: isDemo }: Block): string | undefined {
  if (isDemo === true) return 'demonstrations are not part of the conversation';
  const isOfUser = requestor === 'user' && role !== 'user';
  return isOfUser ? 'results of the tools of a simulated user are left out' : undefined;
}

/** In tau2-bench, a result has the id of its call in `id`. */
function findCallId({ tool_call_id: call, tool_call_ids: ids, requestor, id }: Block): unknown {
  const [only, ...others] = listOf(ids);
  return call ?? (others.length === 0 ? only : undefined) ?? (requestor === undefined ? undefined : id);
}

const SHARE_GPT_ROLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    user: ['human', 'user'],
    assistant: ['gpt', 'assistant', 'chatgpt', 'bing', 'bard', 'model', 'function_call', 'tool_call'],
    system: ['system'],
    tool: ['observation', 'tool', 'function_response'],
  }).flatMap(([role, names]) => names.map((name) => [name, role] as const)),
);

const CALL_AUTHORS: ReadonlySet<unknown> = new Set(['function_call', 'tool_call']);

/** Fine-tuning files with `conversations` of `from` and `value`. */
export const shareGpt: HistoryFormat = {
  name: 'sharegpt',
  title: 'a ShareGPT file',
  recognizes: (records) => listEntries(records).some(({ value }) => isEntry(value)),
  read: (records) => listEntries(records).map(readEntry),
};

function isEntry(value: unknown): boolean {
  return isMapping(value) && blocksIn(value['conversations']).some(({ from }) => typeof from === 'string');
}

function readEntry({ value, at }: FileRecord): ForeignConversation {
  const messages = new ForeignMessages();
  const { conversations, id, system } = blockOf(value);
  if (typeof system === 'string') messages.add({ role: 'system', content: system }, placeIn(at, 'system'));
  for (const { value: message, at: place } of membersOf(conversations, placeIn(at, 'conversations'))) {
    const { from, value: content } = blockOf(message);
    const role = SHARE_GPT_ROLES.get(toText(from)) ?? from ?? 'unknown';
    messages.add({ role, ...readValue(from, role, content ?? null, placeIn(place, 'value')) }, place);
  }
  return messages.finish(id);
}

function readValue(from: unknown, role: unknown, value: unknown, at: string): object {
  if (CALL_AUTHORS.has(from)) return { content: null, tool_calls: readCallText(value, at) };
  if (role !== 'assistant' || typeof value !== 'string') return { content: value };
  // The models Hermes and Qwen write tool calls into the text of an answer.
  const [text = '', ...rest] = value.split('<tool_call>');
  if (rest.length === 0) return { content: value };
  const pieces = rest.map((piece) => piece.split('</tool_call>'));
  const said = [text, ...pieces.flatMap(([, ...after]) => after)].map((one) => one.trim());
  return {
    content: said.filter((one) => one !== '').join('\n'),
    tool_calls: pieces.flatMap(([call]) => readCallText(call, at)),
  };
}
