import { isMapping } from '../../../domain/parse.ts';
import { type Block, toText } from '../values.ts';
import { type FileRecord, type ForeignConversation, ForeignMessages, type HistoryFormat } from './format.ts';

/** Reads `~/.claude/projects/<folder>/<session>.jsonl`, with a record for each content block of an answer. */
export const claudeCode: HistoryFormat = {
  name: 'claude-code',
  title: 'a Claude Code session',
  recognizes: (records) => records.some(({ value }) => isMapping(value) && isSessionRecord(value)),
  read: (records) => [new SessionReader().read(records)],
};

function isSessionRecord({ type, message, sessionId, uuid, isSidechain }: Block): boolean {
  const isMarked = typeof sessionId === 'string' || typeof uuid === 'string' || typeof isSidechain === 'boolean';
  return isMarked && (type === 'user' || type === 'assistant') && isMapping(message);
}

interface OpenAnswer {
  readonly role: 'assistant';
  readonly content: unknown[];
}

class SessionReader {
  readonly #messages = new ForeignMessages();
  readonly #answers = new Map<string, OpenAnswer>();
  readonly #seen = new Set<string>();

  read(records: readonly FileRecord[]): ForeignConversation {
    let id: unknown;
    for (const { value, at } of this.#messages.objectsIn(records)) {
      id ??= value['sessionId'];
      this.#enter(value, at);
    }
    return this.#messages.finish(id);
  }

  #enter(record: Block, at: string): void {
    const { type, message, uuid } = record;
    const why = this.#refuse(record);
    if (why !== undefined) return this.#messages.leaveOut(why, at);
    if (typeof uuid === 'string') this.#seen.add(uuid);
    if (type === 'attachment') return this.#enterQueued(record['attachment'] as Block, at);
    if (!isMapping(message)) return this.#messages.leaveOut(`records of type ${toText(type)} without a message`, at);
    if (type === 'assistant') return this.#enterAnswer(message, at);
    this.#messages.add({ role: 'user', content: message['content'] }, at);
  }

  /** @returns the kind of a record that is not part of the conversation, or undefined */
  #refuse({
    type,
    uuid,
    isSidechain,
    isMeta,
    isCompactSummary,
    isApiErrorMessage,
    attachment,
  }: Block): string | undefined {
    if (isSidechain === true) return 'records of subagents';
    if (type === 'attachment') {
      const kind = isMapping(attachment) ? toText(attachment['type']) : 'unknown';
      if (kind !== 'queued_command') return `attachments of type ${kind}`;
    } else if (type !== 'user' && type !== 'assistant') return `records of type ${toText(type) || 'unknown'}`;
    if (typeof uuid === 'string' && this.#seen.has(uuid)) return 'repeated records';
    if (isMeta === true) return 'meta records, which the program wrote for itself,';
    if (isApiErrorMessage === true) return 'reports of failed requests';
    // A file that begins with a summary lacks the summarized messages, so it keeps that summary.
    if (isCompactSummary === true && this.#messages.count > 0) return 'summaries of messages that are in the file';
    return undefined;
  }

  #enterQueued({ prompt }: Block, at: string): void {
    if (prompt === undefined) return this.#messages.leaveOut('queued commands without a text', at);
    this.#messages.notes.add('mapped', at, 'a text that the user queued is kept as a user message');
    this.#messages.add({ role: 'user', content: prompt }, at);
  }

  #enterAnswer({ id, content }: Block, at: string): void {
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: toText(content) }];
    const open = typeof id === 'string' ? this.#answers.get(id) : undefined;
    if (open !== undefined) {
      const isNew = (block: unknown): boolean =>
        !isMapping(block) || !open.content.some((own) => isSameCall(own, block));
      open.content.push(...blocks.filter(isNew));
      return;
    }
    const answer: OpenAnswer = { role: 'assistant', content: [...blocks] };
    if (typeof id === 'string') this.#answers.set(id, answer);
    this.#messages.add(answer, at);
  }
}

function isSameCall(one: unknown, { type, id }: Block): boolean {
  return type === 'tool_use' && typeof id === 'string' && isMapping(one) && one['type'] === type && one['id'] === id;
}
