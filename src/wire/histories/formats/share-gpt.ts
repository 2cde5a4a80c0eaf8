import { isMapping } from '../../../domain/parse.ts';
import { readCallText, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, type HistoryFormat, placeIn } from './format.ts';

const ROLES: Readonly<Record<string, string>> = {
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
};

/** Authors whose value is a call as JSON. */
const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'tool_call']);
/** A call in the text of an answer, as Hermes and Qwen write it. */
const CALL_TAGS = ['<tool_call>', '</tool_call>'] as const;

/** Fine-tuning files with `conversations` of `from` and `value`. */
export const shareGpt: HistoryFormat = {
  name: 'sharegpt',
  title: 'a ShareGPT file',
  recognizes: (records) => listEntries(records).some(({ value }) => isEntry(value)),
  read: (records) => listEntries(records).map(readEntry),
};

function isEntry(value: unknown): value is { readonly conversations: readonly unknown[]; readonly id?: unknown } {
  if (!isMapping(value) || !Array.isArray(value['conversations'])) return false;
  return value['conversations'].some((message) => isMapping(message) && typeof message['from'] === 'string');
}

function listEntries(records: readonly FileRecord[]): readonly FileRecord[] {
  const [first] = records;
  if (records.length !== 1 || !Array.isArray(first?.value)) return records;
  return first.value.map((value: unknown, index) => ({ value, at: `${first.at}[${index}]` }));
}

function readEntry({ value, at }: FileRecord): ForeignConversation {
  const messages = new ForeignMessages();
  const { conversations, id, system } = isMapping(value) ? value : {};
  if (typeof system === 'string') messages.add({ role: 'system', content: system }, placeIn(at, 'system'));
  for (const [index, message] of (Array.isArray(conversations) ? conversations : []).entries()) {
    const place = placeIn(at, `conversations[${index}]`);
    const { from, value: content } = isMapping(message) ? message : {};
    // A role that is not known is refused by the reader of messages.
    const role = ROLES[textOf(from)] ?? from ?? 'unknown';
    messages.add({ role, ...readValue(from, role, content ?? null, placeIn(place, 'value')) }, place);
  }
  return messages.finish(id);
}

/** Reads the calls of a message, which are JSON: the whole value, or parts of the text between tags. */
function readValue(from: unknown, role: unknown, value: unknown, at: string): object {
  if (CALLS.has(from)) return { content: null, tool_calls: readCallText(value, at) };
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
