import { isMapping } from '../../../domain/parse.ts';
import { type Block, blockOf, toText } from '../values.ts';
import { type FileRecord, type ForeignConversation, ForeignMessages, type HistoryFormat } from './format.ts';

/** Reads `~/.pi/agent/sessions/<folder>/<session>.jsonl`: a tree of entries, whose last entry is the newest. */
export const pi: HistoryFormat = {
  name: 'pi',
  title: 'a session of pi',
  recognizes: ([first, ...rest]) =>
    blockOf(first?.value)['type'] === 'session' &&
    rest.some(({ value }) => blockOf(value)['type'] === 'message' && isMapping(blockOf(value)['message'])),
  read: (records) => [readPiSession(records)],
};

function readPiSession(records: readonly FileRecord[]): ForeignConversation {
  const messages = new ForeignMessages();
  const [first, ...entries] = records;
  const branch = findBranch(entries);
  for (const entry of messages.objectsIn(entries)) {
    if (!branch.has(entry)) messages.leaveOut('entries of other branches', entry.at);
    else enterPiEntry(entry.value, entry.at, messages);
  }
  return messages.finish(blockOf(first?.value)['id']);
}

/** Follows the tree from the last entry to its root. Old sessions have no tree. */
function findBranch(entries: readonly FileRecord[]): ReadonlySet<FileRecord> {
  const isTree = entries.some(({ value }) => typeof blockOf(value)['parentId'] === 'string');
  if (!isTree) return new Set(entries);
  const byId = new Map(entries.map((entry) => [blockOf(entry.value)['id'], entry]));
  const branch = new Set<FileRecord>();
  let entry = entries.at(-1);
  while (entry !== undefined && !branch.has(entry)) {
    branch.add(entry);
    const { parentId } = blockOf(entry.value);
    entry = typeof parentId === 'string' ? byId.get(parentId) : undefined;
  }
  return branch;
}

function enterPiEntry(entry: Block, at: string, messages: ForeignMessages): void {
  const { type, message, content, summary } = entry;
  if (type === 'message' && isMapping(message)) {
    const read = readPiMessage(message);
    if (read === undefined) messages.leaveOut(`messages of role ${toText(message['role']) || 'unknown'}`, at);
    else messages.add(read, at);
  } else if (type === 'custom_message') messages.add({ role: 'user', content: readPiContent(content) }, at);
  else if (type === 'branch_summary') messages.add({ role: 'user', content: toText(summary) }, at);
  else if (type === 'compaction') messages.leaveOut('summaries of messages that are in the file', at);
  else messages.leaveOut(`entries of type ${toText(type) || 'unknown'}`, at);
}

function readPiMessage(message: Block): unknown {
  const { role, content, toolCallId, isError, command, output, exitCode, excludeFromContext, summary } = message;
  switch (role) {
    case 'user':
    case 'assistant':
      return { role, content: readPiContent(content) };
    case 'toolResult': {
      const result = { role: 'tool', tool_call_id: toolCallId, content: readPiContent(content) };
      return { ...result, ...(isError === true && { isError }) };
    }
    case 'bashExecution':
      if (excludeFromContext === true) return undefined;
      return { role: 'user', content: `Ran \`${toText(command)}\` (exit code ${toText(exitCode)})\n${toText(output)}` };
    case 'custom':
    case 'hookMessage':
      return { role: 'user', content: readPiContent(content) };
    case 'branchSummary':
      return { role: 'user', content: toText(summary) };
    default:
      return undefined;
  }
}

function readPiContent(content: unknown): unknown {
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
