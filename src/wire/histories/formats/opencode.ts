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
  for (const { value: message, at: place } of messages.objectsIn(membersOf(given, placeIn(at, 'messages')))) {
    const { info: own, parts } = message;
    const ownId = blockOf(own)['id'];
    isTakenBack ||= ownId !== undefined && ownId === blockOf(revert)['messageID'];
    if (isTakenBack) messages.leaveOut('messages that were taken back', place);
    else if (isMapping(own)) enterExported(own, parts, place, messages);
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
  for (const { value: part, at: place } of messages.objectsIn(membersOf(parts, `${at}.parts`))) {
    const type = toText(part['type']);
    if (UNSENT_PARTS.has(type)) messages.leaveOut(`parts of type ${type}`, place);
    else if (part['ignored'] === true) messages.leaveOut('parts that opencode did not send', place);
    else content.push(readExportedPart(type, part));
  }
  if (content.length > 0) messages.add({ role, parts: content }, at);
}

/** Gives a part the names of the AI SDK. */
function readExportedPart(type: string, part: Block): Block {
  const { text, metadata, tool, callID, state, description, prompt } = part;
  if (type === 'text') return { type, text };
  if (type === 'reasoning') return { type, text, ...(metadata !== undefined && { metadata }) };
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

/** Turns an attachment of a result into turnfold's own form. */
function readAttachment(part: Block): Block {
  const { filename, ...file } = readFile(part);
  const type = toText(file['mediaType']).startsWith('image/') ? 'image' : 'file';
  return { ...file, type, ...(filename !== undefined && { name: filename }) };
}
