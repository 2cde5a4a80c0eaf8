import { isMapping } from '../../domain/parse.ts';
import { textOf } from '../blocks.ts';
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
};

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
    messages.add({ role: ROLES[textOf(from)] ?? from ?? 'unknown', content: content ?? null }, place);
  }
  return messages.finish(id);
}
