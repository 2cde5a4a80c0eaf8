import { isMapping } from '../../../domain/parse.ts';
import { textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, type HistoryFormat, placeIn } from './format.ts';
import { ItemReader } from './responses-items.ts';

/** Items of OpenAI Responses: a list, one per line, or the body of a request or a response. */
export const responses: HistoryFormat = {
  name: 'openai-responses',
  title: 'a list of OpenAI Responses items',
  recognizes: (records) => {
    const [first] = records;
    if (isMapping(first?.value) && holdsBody(first.value)) return true;
    return listItems(records).some(({ value }) => isItem(value));
  },
  read: (records) => {
    const [first] = records;
    if (isMapping(first?.value) && holdsBody(first.value)) return records.map(readBody);
    return [readItems(listItems(records))];
  },
};

function holdsBody({ input, output, object, messages }: Record<string, unknown>): boolean {
  if (messages !== undefined) return false;
  return (Array.isArray(input) && input.some(isItemOrMessage)) || (object === 'response' && Array.isArray(output));
}

function isItemOrMessage(value: unknown): boolean {
  return isItem(value) || (isMapping(value) && typeof value['role'] === 'string');
}

/** Types of items that no list of messages has. */
export function isItem(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const type = textOf(value['type']);
  if (type === 'message') return typeof value['role'] === 'string' && holdsInputParts(value['content']);
  if (type === 'reasoning') return value['summary'] !== undefined || value['encrypted_content'] !== undefined;
  return /_call(?:_output)?$/.test(type);
}

function holdsInputParts(content: unknown): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((part) => isMapping(part) && /^(?:input|output)_text$/.test(textOf(part['type'])));
}

function listItems(records: readonly FileRecord[]): readonly FileRecord[] {
  const [first] = records;
  if (records.length !== 1 || !Array.isArray(first?.value)) return records;
  return first.value.map((value: unknown, index) => ({ value, at: `${first.at}[${index}]` }));
}

/** A request has instructions and its input. A response has its output, too. */
function readBody({ value, at }: FileRecord): ForeignConversation {
  const { id, instructions, input, output } = value as Record<string, unknown>;
  const items = (given: unknown, field: string): FileRecord[] =>
    Array.isArray(given)
      ? given.map((item: unknown, index) => ({ value: item, at: placeIn(at, `${field}[${index}]`) }))
      : typeof given === 'string'
        ? [{ value: given, at: placeIn(at, field) }]
        : [];
  const prompt =
    typeof instructions === 'string' && instructions !== ''
      ? [{ value: { role: 'system', content: instructions }, at: placeIn(at, 'instructions') }]
      : [];
  return readItems([...prompt, ...items(input, 'input'), ...items(output, 'output')], id);
}

function readItems(items: readonly FileRecord[], id?: unknown): ForeignConversation {
  const messages = new ForeignMessages();
  const reader = new ItemReader(messages.notes);
  for (const { value, at } of items) reader.enter(value, at);
  for (const { message, at } of reader.finish()) messages.add(message, at);
  return messages.finish(id);
}
