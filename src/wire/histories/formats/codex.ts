import { isMapping } from '../../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import type { FileRecord, ForeignConversation, HistoryFormat } from './format.ts';
import { isItem } from './responses.ts';
import { ItemReader } from './responses-items.ts';

/** Rollouts of Codex, `~/.codex/sessions/<year>/<month>/<day>/rollout-….jsonl`: Responses items among other records. */
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

/** Rollouts before records had a payload: a line about the session, and then the items. */
function isOldRollout([first, ...rest]: readonly FileRecord[]): boolean {
  if (!isMapping(first?.value)) return false;
  const { id, timestamp, instructions, type } = first.value;
  const isHead = typeof id === 'string' && typeof timestamp === 'string' && type === undefined;
  return isHead && instructions !== undefined && rest.some(({ value }) => isItem(value));
}

function readRollout(records: readonly FileRecord[]): ForeignConversation {
  const messages = new ForeignMessages();
  const items = new RolloutItems(messages);
  let id: unknown;
  for (const [index, { value, at }] of records.entries()) {
    const { type, payload, ...record } = isMapping(value) ? value : {};
    if (type === 'session_meta' && isMapping(payload)) {
      id ??= payload['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else if (isMapping(payload)) items.enterRecord(textOf(type), payload, at);
    else if (payload === undefined && type !== undefined) items.add(value, at);
    else if (index === 0 && type === undefined) {
      id ??= record['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else messages.leaveOut(`records of type ${textOf(type ?? record['record_type']) || 'unknown'}`, at);
  }
  const reader = new ItemReader(messages.notes);
  for (const { value, at } of items.list) reader.enter(value, at);
  for (const { message, at } of reader.finish()) messages.add(message, at);
  return messages.finish(id);
}

/** The items of a rollout, without those that the user took back. */
class RolloutItems {
  readonly list: FileRecord[] = [];
  readonly #messages: ForeignMessages;
  /** Indexes of the texts that users wrote, each the beginning of a turn. */
  readonly #turns: number[] = [];

  constructor(messages: ForeignMessages) {
    this.#messages = messages;
  }

  add(value: unknown, at: string): void {
    this.list.push({ value, at });
  }

  enterRecord(type: string, payload: Block, at: string): void {
    if (type === 'response_item') return this.add(payload, at);
    if (type === 'inter_agent_communication') return this.add({ ...payload, type: 'agent_message' }, at);
    if (type === 'compacted') return this.#enterSummary(payload, at);
    if (type === 'event_msg' && payload['type'] === 'thread_rolled_back') return this.#takeBack(payload['num_turns']);
    if (type === 'event_msg' && payload['type'] === 'user_message') this.#beginTurn();
    this.#messages.leaveOut(`records of type ${type}`, at);
  }

  /** The event of a text comes behind its item. Other messages of the role are facts that Codex adds. */
  #beginTurn(): void {
    const index = this.list.findLastIndex(({ value }) => isMapping(value) && value['role'] === 'user');
    if (index > (this.#turns.at(-1) ?? -1)) this.#turns.push(index);
  }

  #takeBack(count: unknown): void {
    const turns = this.#turns.splice(typeof count === 'number' ? -count : this.#turns.length);
    for (const { at } of this.list.splice(turns[0] ?? this.list.length))
      this.#messages.leaveOut('messages that were taken back', at);
  }

  /** A rollout that continues another one begins with the messages that a summary left. */
  #enterSummary({ replacement_history: history }: Block, at: string): void {
    if (this.list.length > 0 || !Array.isArray(history))
      return this.#messages.leaveOut('summaries of messages that are in the file', at);
    for (const [index, value] of history.entries()) this.add(value, `${at}.replacement_history[${index}]`);
  }
}
