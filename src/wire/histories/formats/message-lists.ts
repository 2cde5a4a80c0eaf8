import { isMapping } from '../../../domain/parse.ts';
import { type Block, blockOf, blocksIn, toText } from '../values.ts';
import { type FileRecord, ForeignMessages, type HistoryFormat, listEntries, membersOf, placeIn } from './format.ts';

export interface MessageList {
  readonly id?: unknown;
  readonly messages: readonly unknown[];
  readonly places: readonly string[];
  readonly system?: { readonly value: unknown; readonly at: string } | undefined;
}

/** Keys under which programs keep the messages of a conversation. */
const PATHS: readonly (readonly string[])[] = [
  ['messages'],
  ['values', 'messages'],
  ['channel_values', 'messages'],
  ['checkpoint', 'channel_values', 'messages'],
  ['traj'],
  ['history'],
  ['outputs', 'messages'],
  ['input', 'messages'],
  ['conversation', 'messages'],
];

function findMessageLists(records: readonly FileRecord[]): MessageList[] {
  const entries = listEntries(records);
  if (entries.length > 0 && entries.every(({ value }) => isMessage(value))) {
    return [{ messages: entries.map(({ value }) => value), places: entries.map(({ at }) => at) }];
  }
  const lists = entries.map(({ value, at }) => (isMapping(value) ? findIn(value, at) : undefined));
  const found = lists.filter((list) => list !== undefined);
  // Saved states of a graph belong to one conversation. The longest state has all its messages.
  const isGraph = entries.length > 1 && entries.every(({ value }) => isMapping(blockOf(value)['values']));
  if (found.length !== entries.length && !(isGraph && found.length > 0)) return [];
  return isGraph ? [found.reduce((one, other) => (other.messages.length > one.messages.length ? other : one))] : found;
}

function isMessage(value: unknown): boolean {
  if (!isMapping(value) || Array.isArray(value['messages'])) return false;
  const { role, type, content, parts, kwargs, data, tool_calls: calls } = value;
  if (typeof role === 'string') return content !== undefined || parts !== undefined || calls !== undefined;
  if (value['lc'] !== undefined) return isMapping(kwargs);
  return typeof type === 'string' && (content !== undefined || isMapping(data)) && LANGCHAIN_TYPES.has(type);
}

export const LANGCHAIN_TYPES: ReadonlySet<string> = new Set(
  (
    'human ai system tool function chat developer remove HumanMessageChunk AIMessageChunk ' +
    'SystemMessageChunk ToolMessageChunk FunctionMessageChunk'
  ).split(' '),
);

function findIn(record: Block, at: string): MessageList | undefined {
  for (const path of PATHS) {
    const value = path.reduce<unknown>((inner, key) => blockOf(inner)[key], record);
    if (!Array.isArray(value) || value.length === 0 || !value.every(isMessage)) continue;
    const { id, thread_id: thread, task_id: task, trial, instance_id: instance, sessionId } = record;
    const prompt = ['system', 'system_prompt'].find((key) => record[key] !== undefined);
    const tried = task === undefined || trial === undefined ? task : `${toText(task)}-${toText(trial)}`;
    return {
      id: id ?? thread ?? instance ?? sessionId ?? (tried === undefined ? undefined : toText(tried)),
      messages: value,
      places: membersOf(value, placeIn(at, path.join('.'))).map((member) => member.at),
      system: prompt === undefined ? undefined : { value: record[prompt], at: placeIn(at, prompt) },
    };
  }
  return undefined;
}

interface ListReading extends Pick<HistoryFormat, 'name' | 'title'> {
  readonly recognizes: (messages: readonly Block[], list: MessageList) => boolean;
  /** Called at the start of a list. Absent: the messages of the list need no change. */
  readonly open?: (list: MessageList) => Unwrap;
}

/** Brings a message into a common form. Returns undefined for a message that is left out and only noted. */
type Unwrap = (message: Block, at: string, messages: ForeignMessages) => unknown;

export function listFormat({ name, title, recognizes, open }: ListReading): HistoryFormat {
  return {
    name,
    title,
    recognizes: (records) =>
      findMessageLists(records).some((list) => recognizes(list.messages.filter(isMapping), list)),
    read: (records) =>
      findMessageLists(records).map((list) => {
        const messages = new ForeignMessages();
        const unwrap = open?.(list) ?? ((message: Block) => message);
        if (list.system !== undefined) messages.add({ role: 'system', content: list.system.value }, list.system.at);
        list.messages.forEach((message, index) => {
          const at = list.places[index] ?? '';
          const unwrapped = isMapping(message) ? unwrap(message, at, messages) : message;
          if (unwrapped !== undefined) messages.add(unwrapped, at);
        });
        return messages.finish(list.id);
      }),
  };
}

export function partTypes(messages: readonly Block[]): string[] {
  return messages
    .flatMap(({ content, parts }) => [...blocksIn(content), ...blocksIn(parts)])
    .map(({ type }) => toText(type));
}
