import { isMapping } from '../../../domain/parse.ts';
import { type Block, blockOf, blocksIn, toText } from '../values.ts';
import {
  type FileRecord,
  type ForeignConversation,
  ForeignMessages,
  type HistoryFormat,
  membersOf,
  placeIn,
} from './format.ts';

/** Reads `~/.pi/agent/sessions/<folder>/<session>.jsonl`: a tree of entries, whose last entry is the newest. */
export const pi: HistoryFormat = {
  name: 'pi',
  title: 'a session of pi',
  recognizes: ([first, ...rest]) =>
    blockOf(first?.value)['type'] === 'session' &&
    rest.some(({ value }) => isMapping(value) && value['type'] === 'message' && isMapping(value['message'])),
  read: (records) => [readPiSession(records)],
};

function readPiSession(records: readonly FileRecord[]): ForeignConversation {
  const messages = new ForeignMessages();
  const [first, ...entries] = records;
  const branch = findBranch(entries);
  for (const record of entries) {
    const { value, at } = record;
    if (!isMapping(value)) messages.leaveOut('values that are no entries', at);
    else if (!branch.has(record)) messages.leaveOut('entries of other branches', at);
    else enterPiEntry(value, at, messages);
  }
  return messages.finish(blockOf(first?.value)['id']);
}

/** Finds the entries from the last entry up to the root. Old sessions have no tree. */
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
    case 'toolResult':
      return {
        role: 'tool',
        tool_call_id: toolCallId,
        content: readPiContent(content),
        ...(isError === true && { isError }),
      };
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

export const opencode: HistoryFormat = {
  name: 'opencode',
  title: 'a session of opencode',
  recognizes: ([first]) => holdsSession(blockOf(first?.value)),
  read: (records) => records.map(readExport),
};

function holdsSession({ info, messages }: Block): boolean {
  if (!isMapping(info)) return false;
  return blocksIn(messages).some((message) => isMapping(message['info']) && Array.isArray(message['parts']));
}

function readExport({ value, at }: FileRecord): ForeignConversation {
  const messages = new ForeignMessages();
  const { info, messages: given } = blockOf(value);
  const { id, revert } = blockOf(info);
  let isTakenBack = false;
  for (const { value: message, at: place } of membersOf(given, placeIn(at, 'messages'))) {
    const own = isMapping(message) && isMapping(message['info']) ? message['info']['id'] : undefined;
    isTakenBack ||= isMapping(revert) && own !== undefined && revert['messageID'] === own;
    if (isTakenBack) messages.leaveOut('messages that were taken back', place);
    else if (isMapping(message) && isMapping(message['info']))
      enterExported(message['info'], message['parts'], place, messages);
    else messages.leaveOut('values that are no messages', place);
  }
  return messages.finish(id);
}

const UNSENT_PARTS: ReadonlySet<string> = new Set(['step-finish', 'snapshot', 'patch', 'retry', 'agent', 'compaction']);

function enterExported({ role, summary, error }: Block, parts: unknown, at: string, messages: ForeignMessages): void {
  if (role === 'assistant' && summary === true)
    return messages.leaveOut('summaries of messages that are in the file', at);
  if (isMapping(error)) messages.notes.add('left_out', `${at}.info.error`, 'errors of requests are left out');
  const content: unknown[] = [];
  for (const { value: part, at: place } of membersOf(parts, `${at}.parts`)) {
    const type = isMapping(part) ? toText(part['type']) : 'unknown';
    if (!isMapping(part) || UNSENT_PARTS.has(type)) messages.leaveOut(`parts of type ${type}`, place);
    else if (part['ignored'] === true) messages.leaveOut('parts that opencode did not send', place);
    else content.push(readExportedPart(type, part));
  }
  if (content.length > 0) messages.add({ role, parts: content }, at);
}

/** Gives a part the names of the AI SDK. */
function readExportedPart(type: string, part: Block): Block {
  const { text, tool, callID, state, description, prompt } = part;
  if (type === 'text') return { type, text };
  if (type === 'reasoning')
    return { type, text, ...(part['metadata'] !== undefined && { metadata: part['metadata'] }) };
  if (type === 'file') return readFile(part);
  if (type === 'subtask') return { type: 'text', text: toText(prompt ?? description) };
  if (type !== 'tool' || !isMapping(state)) return part;
  const { status, input, output, error, attachments } = state;
  const call = { type: 'dynamic-tool', toolName: tool, toolCallId: callID, input };
  if (status === 'completed') {
    const files = blocksIn(attachments).map(readAttachment);
    const whole = files.length === 0 ? output : [{ type: 'text', text: toText(output) }, ...files];
    return { ...call, state: 'output-available', output: whole };
  }
  if (status === 'error') return { ...call, state: 'output-error', errorText: error };
  return { ...call, state: 'input-available' };
}

function readFile({ mime, url, filename }: Block): Block {
  return { type: 'file', mediaType: mime, url, ...(filename !== undefined && { filename }) };
}

/** Reads an attachment in turnfold's own form, like the parts of a result. */
function readAttachment(part: Block): Block {
  const { filename, ...file } = readFile(part);
  const type = toText(file['mediaType']).startsWith('image/') ? 'image' : 'file';
  return { ...file, type, ...(filename !== undefined && { name: filename }) };
}

const AIDER_SESSION = /^# aider chat started at (.+)$/m;

/** Reads `.aider.chat.history.md`, with a heading for each session. */
export const aider: HistoryFormat = {
  name: 'aider',
  title: 'a chat history of aider',
  recognizes: ([first]) => typeof first?.value === 'string' && AIDER_SESSION.test(first.value),
  read: ([first]) => readAiderSessions(first),
};

type Speaker = 'user' | 'assistant';

function readAiderSessions(record: FileRecord | undefined): ForeignConversation[] {
  const text = typeof record?.value === 'string' ? record.value : '';
  const sessions = [{ id: 'aider', reader: new AiderSession() }];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const started = AIDER_SESSION.exec(line)?.[1];
    if (started !== undefined) sessions.push({ id: `aider-${started.trim()}`, reader: new AiderSession() });
    else sessions.at(-1)?.reader.enter(line, `line ${index + 1}`);
  }
  return sessions.map(({ id, reader }) => reader.finish(id)).filter(({ messages }) => messages.length > 0);
}

/** Reads a session of aider. A line of the user begins with `#### `, and a report of aider with `> `. */
class AiderSession {
  readonly #messages = new ForeignMessages();
  #open: { readonly role: Speaker; readonly lines: string[]; readonly at: string } | undefined;

  enter(line: string, at: string): void {
    if (line.startsWith('#### ')) return this.#add('user', line.slice('#### '.length).trimEnd(), at);
    if (line.startsWith('> ') || line === '>') {
      this.#messages.leaveOut('reports of aider', at);
      return;
    }
    if (line.trim() === '' && this.#open?.role !== 'assistant') return;
    this.#add('assistant', line, at);
  }

  finish(id: string): ForeignConversation {
    this.#end();
    return this.#messages.finish(id);
  }

  #add(role: Speaker, line: string, at: string): void {
    if (this.#open?.role !== role) {
      this.#end();
      this.#open = { role, lines: [], at };
    }
    this.#open.lines.push(line);
  }

  #end(): void {
    if (this.#open === undefined) return;
    const { role, lines, at } = this.#open;
    const content = lines.join('\n').trim();
    if (content !== '') this.#messages.add({ role, content }, at);
    this.#open = undefined;
  }
}
