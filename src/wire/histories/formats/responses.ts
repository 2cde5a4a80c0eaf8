import { isMapping } from '../../../domain/parse.ts';
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
import { ItemReader } from './responses-items.ts';

/** Reads a list of items, one per line, or the body of a request or a response. */
export const responses: HistoryFormat = {
  name: 'openai-responses',
  title: 'a list of OpenAI Responses items',
  recognizes: (records) => holdBodies(records) || listEntries(records).some(({ value }) => isResponsesItem(value)),
  read: (records) => (holdBodies(records) ? records.map(readBody) : [readItems(listEntries(records))]),
};

function holdBodies([first]: readonly FileRecord[]): boolean {
  const { input, output, object, messages } = blockOf(first?.value);
  if (messages !== undefined) return false;
  return (Array.isArray(input) && input.some(isItemOrMessage)) || (object === 'response' && Array.isArray(output));
}

function isItemOrMessage(value: unknown): boolean {
  return isResponsesItem(value) || (isMapping(value) && typeof value['role'] === 'string');
}

function isResponsesItem(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const type = toText(value['type']);
  if (type === 'message') return typeof value['role'] === 'string' && holdsInputParts(value['content']);
  if (type === 'reasoning') return value['summary'] !== undefined || value['encrypted_content'] !== undefined;
  return /_call(?:_output)?$/.test(type);
}

function holdsInputParts(content: unknown): boolean {
  return blocksIn(content).some(({ type }) => /^(?:input|output)_text$/.test(toText(type)));
}

function readBody({ value, at }: FileRecord): ForeignConversation {
  const { id, instructions, input, output } = blockOf(value);
  const items = (given: unknown, field: string): FileRecord[] =>
    typeof given === 'string' ? [{ value: given, at: placeIn(at, field) }] : membersOf(given, placeIn(at, field));
  const prompt =
    typeof instructions === 'string' && instructions !== ''
      ? [{ value: { role: 'system', content: instructions }, at: placeIn(at, 'instructions') }]
      : [];
  return readItems([...prompt, ...items(input, 'input'), ...items(output, 'output')], id);
}

function readItems(
  items: readonly FileRecord[],
  id?: unknown,
  messages: ForeignMessages = new ForeignMessages(),
): ForeignConversation {
  const reader = new ItemReader(messages.notes);
  for (const { value, at } of items) reader.enter(value, at);
  for (const { message, at } of reader.finish()) messages.add(message, at);
  return messages.finish(id);
}

/** Reads `~/.codex/sessions/<year>/<month>/<day>/rollout-….jsonl`: items among other records. */
export const codex: HistoryFormat = {
  name: 'codex',
  title: 'a Codex rollout',
  recognizes: (records) => records.some(isMarked) || isOldRollout(records),
  read: (records) => [readRollout(records)],
};

function isMarked({ value }: FileRecord): boolean {
  return isMapping(value) && isRolloutRecord(value);
}

function isRolloutRecord({ type, payload, record_type: state }: Block): boolean {
  if (state === 'state') return true;
  return isMapping(payload) && (type === 'session_meta' || type === 'response_item' || type === 'turn_context');
}

/** True for an older rollout, which has no `payload`: a line about the session, and then the items. */
function isOldRollout([first, ...rest]: readonly FileRecord[]): boolean {
  if (!isMapping(first?.value)) return false;
  const { id, timestamp, instructions, type } = first.value;
  const isHead = typeof id === 'string' && typeof timestamp === 'string' && type === undefined;
  return isHead && instructions !== undefined && rest.some(({ value }) => isResponsesItem(value));
}

function readRollout(records: readonly FileRecord[]): ForeignConversation {
  const items = new RolloutItems();
  const { messages } = items;
  let id: unknown;
  for (const [index, { value, at }] of records.entries()) {
    const { type, payload, ...record } = blockOf(value);
    if (type === 'session_meta' && isMapping(payload)) {
      id ??= payload['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else if (isMapping(payload)) items.enterRecord(toText(type), payload, at);
    else if (payload === undefined && type !== undefined) items.add(value, at);
    else if (index === 0 && type === undefined) {
      id ??= record['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else messages.leaveOut(`records of type ${toText(type ?? record['record_type']) || 'unknown'}`, at);
  }
  return readItems(items.list, id, messages);
}

class RolloutItems {
  readonly list: FileRecord[] = [];
  readonly messages = new ForeignMessages();
  /** Indexes of the items with a user's text. Each starts a turn. */
  readonly #turns: number[] = [];

  add(value: unknown, at: string): void {
    this.list.push({ value, at });
  }

  enterRecord(type: string, payload: Block, at: string): void {
    if (type === 'response_item') return this.add(payload, at);
    if (type === 'inter_agent_communication') return this.add({ ...payload, type: 'agent_message' }, at);
    if (type === 'compacted') return this.#enterSummary(payload, at);
    if (type === 'event_msg' && payload['type'] === 'thread_rolled_back') return this.#takeBack(payload['num_turns']);
    if (type === 'event_msg' && payload['type'] === 'user_message') this.#beginTurn();
    this.messages.leaveOut(`records of type ${type}`, at);
  }

  /** Codex also writes its own texts in the user's role. Only a user's own text is followed by this event. */
  #beginTurn(): void {
    const index = this.list.findLastIndex(({ value }) => isMapping(value) && value['role'] === 'user');
    if (index > (this.#turns.at(-1) ?? -1)) this.#turns.push(index);
  }

  #takeBack(count: unknown): void {
    const left = this.#turns.length - (typeof count === 'number' ? count : 0);
    const turns = this.#turns.splice(Math.max(0, left));
    for (const { at } of this.list.splice(turns[0] ?? this.list.length))
      this.messages.leaveOut('messages that were taken back', at);
  }

  /** A rollout that continues another rollout begins with the messages that a summary left. */
  #enterSummary({ replacement_history: history }: Block, at: string): void {
    if (this.list.length > 0 || !Array.isArray(history))
      return this.messages.leaveOut('summaries of messages that are in the file', at);
    for (const record of membersOf(history, `${at}.replacement_history`)) this.list.push(record);
  }
}
