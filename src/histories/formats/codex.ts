import { isMapping } from '../../domain/parse.ts';
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
  const reader = new ItemReader(messages.notes);
  let id: unknown;
  for (const [index, { value, at }] of records.entries()) {
    const { type, payload, ...record } = isMapping(value) ? value : {};
    if (type === 'session_meta' && isMapping(payload)) {
      id ??= payload['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else if (type === 'response_item' && isMapping(payload)) reader.enter(payload, at);
    else if (payload === undefined && type !== undefined) reader.enter(value, at);
    else if (index === 0 && type === undefined) {
      id ??= record['id'];
      messages.leaveOut('facts about the session and its instructions', at);
    } else messages.leaveOut(`records of type ${textOf(type ?? record['record_type']) || 'unknown'}`, at);
  }
  for (const { message, at } of reader.finish()) messages.add(message, at);
  return messages.finish(id);
}
