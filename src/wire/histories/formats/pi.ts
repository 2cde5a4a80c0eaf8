import { isMapping } from '../../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import type { FileRecord, ForeignConversation, HistoryFormat } from './format.ts';

/** Sessions of pi, `~/.pi/agent/sessions/<folder>/<session>.jsonl`: a tree of entries, whose last entry is the newest. */
export const pi: HistoryFormat = {
  name: 'pi',
  title: 'a session of pi',
  recognizes: ([first, ...rest]) =>
    isMapping(first?.value) &&
    first.value['type'] === 'session' &&
    rest.some(({ value }) => isMapping(value) && value['type'] === 'message' && isMapping(value['message'])),
  read: (records) => [readSession(records)],
};

function readSession(records: readonly FileRecord[]): ForeignConversation {
  const messages = new ForeignMessages();
  const [first, ...entries] = records;
  const branch = findBranch(entries);
  for (const record of entries) {
    const { value, at } = record;
    if (!isMapping(value)) messages.leaveOut('values that are no entries', at);
    else if (!branch.has(record)) messages.leaveOut('entries of other branches', at);
    else enterEntry(value, at, messages);
  }
  return messages.finish(isMapping(first?.value) ? first.value['id'] : undefined);
}

/** Returns the entries from the last one up to the root. Old sessions have no tree. */
function findBranch(entries: readonly FileRecord[]): ReadonlySet<FileRecord> {
  const byId = new Map<unknown, FileRecord>();
  for (const entry of entries) if (isMapping(entry.value)) byId.set(entry.value['id'], entry);
  const branch = new Set<FileRecord>();
  if (!entries.some(({ value }) => isMapping(value) && typeof value['parentId'] === 'string')) return new Set(entries);
  let entry = entries.at(-1);
  while (entry !== undefined && isMapping(entry.value) && !branch.has(entry)) {
    branch.add(entry);
    const { parentId } = entry.value;
    entry = typeof parentId === 'string' ? byId.get(parentId) : undefined;
  }
  return branch;
}

function enterEntry(entry: Block, at: string, messages: ForeignMessages): void {
  const { type, message, content, summary } = entry;
  if (type === 'message' && isMapping(message)) {
    const read = readMessage(message);
    if (read === undefined) messages.leaveOut(`messages of role ${textOf(message['role']) || 'unknown'}`, at);
    else messages.add(read, at);
  } else if (type === 'custom_message') messages.add({ role: 'user', content: readContent(content) }, at);
  else if (type === 'branch_summary') messages.add({ role: 'user', content: textOf(summary) }, at);
  else if (type === 'compaction') messages.leaveOut('summaries of messages that are in the file', at);
  else messages.leaveOut(`entries of type ${textOf(type) || 'unknown'}`, at);
}

function readMessage(message: Block): unknown {
  const { role, content, toolCallId, isError, command, output, exitCode, excludeFromContext, summary } = message;
  switch (role) {
    case 'user':
    case 'assistant':
      return { role, content: readContent(content) };
    case 'toolResult':
      return {
        role: 'tool',
        tool_call_id: toolCallId,
        content: readContent(content),
        ...(isError === true && { isError }),
      };
    case 'bashExecution':
      if (excludeFromContext === true) return undefined;
      return { role: 'user', content: `Ran \`${textOf(command)}\` (exit code ${textOf(exitCode)})\n${textOf(output)}` };
    case 'custom':
    case 'hookMessage':
      return { role: 'user', content: readContent(content) };
    case 'branchSummary':
      return { role: 'user', content: textOf(summary) };
    default:
      return undefined;
  }
}

/** Names the blocks of pi as Anthropic does. */
function readContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown) => {
    if (!isMapping(block)) return block;
    const { type, id, name, arguments: input, thinking, thinkingSignature: signature, data, mimeType } = block;
    if (type === 'toolCall') return { type: 'tool_use', id, name, input };
    if (type === 'thinking') return { type, thinking, ...(signature !== undefined && { signature }) };
    if (type === 'image') return { type, source: { type: 'base64', media_type: mimeType, data } };
    return type === 'text' ? { type, text: block['text'] } : block;
  });
}
