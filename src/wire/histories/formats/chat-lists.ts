import { isMapping } from '../../../domain/parse.ts';
import { readCallText } from '../blocks.ts';
import { type Block, blockOf, blocksIn, toText } from '../values.ts';
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

/** Lists of `UIMessage` and `ModelMessage`, from version 4 on. */
export const aiSdk: HistoryFormat = listFormat({
  name: 'ai-sdk',
  title: 'messages of the AI SDK',
  recognizes: (messages) =>
    messages.some(({ parts, toolInvocations }) => Array.isArray(parts) || Array.isArray(toolInvocations)) ||
    partTypes(messages).some((type) => AI_SDK_PART.test(type)),
});

/** Fields in which benchmarks and agents note facts about a step. They were not sent to a model. */
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

/** True if the messages of a line need no importer. */
export function isReadByLine({ messages, system }: Block, format: HistoryFormat | undefined): boolean {
  if (format === undefined || system !== undefined) return format === undefined;
  if (format !== openaiChat) return format === aiSdk || format === anthropic;
  return !blocksIn(messages).some((message) => Object.keys(message).some((key) => STEP_FIELDS.has(key)));
}

function isOfSimulatedUser(calls: unknown): boolean {
  return Array.isArray(calls) && calls.every((call) => isMapping(call) && call['requestor'] === 'user');
}

function unwrapStep(given: Block, at: string, { notes }: ForeignMessages): unknown {
  const dropped = Object.keys(given).filter((key) => STEP_FIELDS.has(key));
  const { role, content, error, id, tool_call_id: call, tool_call_ids: ids, requestor } = given;
  if (given['is_demo'] === true) {
    notes.add('left_out', at, 'demonstrations are not part of the conversation');
    return undefined;
  }
  // In tau2-bench, the simulated user has its own tools, and a result has the id of its call.
  if (requestor === 'user' && role !== 'user') {
    notes.add('left_out', at, 'results of the tools of a simulated user are left out');
    return undefined;
  }
  for (const key of dropped.filter((name) => given[name] !== null)) {
    notes.add('left_out', `${at}.${key}`, `the field ${key} was not sent to a model`);
  }
  const kept = Object.fromEntries(Object.entries(given).filter(([key]) => !STEP_FIELDS.has(key)));
  if (role === 'user' && isOfSimulatedUser(kept['tool_calls'])) {
    notes.add('left_out', `${at}.tool_calls`, 'calls of the tools of a simulated user are left out');
    delete kept['tool_calls'];
  }
  const only: unknown = Array.isArray(ids) && ids.length === 1 ? (ids as readonly unknown[])[0] : undefined;
  const named: unknown = call ?? only ?? (requestor === undefined ? undefined : id);
  return {
    ...kept,
    ...(content === undefined && role === 'assistant' && { content: null }),
    ...(role === 'tool' && named !== undefined && { tool_call_id: named }),
    ...(role === 'tool' && error === true && { is_error: true }),
  };
}

const SHARE_GPT_ROLES: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    human: 'user',
    user: 'user',
    gpt: 'assistant',
    assistant: 'assistant',
    chatgpt: 'assistant',
    bing: 'assistant',
    bard: 'assistant',
    model: 'assistant',
    system: 'system',
    function_call: 'assistant',
    tool_call: 'assistant',
    observation: 'tool',
    tool: 'tool',
    function_response: 'tool',
  }),
);

const CALL_AUTHORS: ReadonlySet<unknown> = new Set(['function_call', 'tool_call']);
/** Tags around calls. Hermes and Qwen write calls into the text. */
const CALL_TAGS = ['<tool_call>', '</tool_call>'] as const;

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
  const [opening, closing] = CALL_TAGS;
  const [text = '', ...rest] = value.split(opening);
  if (rest.length === 0) return { content: value };
  const pieces = rest.map((piece) => piece.split(closing));
  const said = [text, ...pieces.flatMap((piece) => piece.slice(1))]
    .map((one) => one.trim())
    .filter((one) => one !== '');
  return { content: said.join('\n'), tool_calls: pieces.flatMap(([call]) => readCallText(call, at)) };
}
