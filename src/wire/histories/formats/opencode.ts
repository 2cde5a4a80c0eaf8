import { isMapping } from '../../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, type HistoryFormat, placeIn } from './format.ts';

/** The output of `opencode export`: the facts of a session, and messages of parts. */
export const opencode: HistoryFormat = {
  name: 'opencode',
  title: 'a session of opencode',
  recognizes: ([first]) => isMapping(first?.value) && holdsSession(first.value),
  read: (records) => records.map(readSession),
};

function holdsSession({ info, messages }: Block): boolean {
  if (!isMapping(info) || !Array.isArray(messages)) return false;
  return messages.some(
    (message) => isMapping(message) && isMapping(message['info']) && Array.isArray(message['parts']),
  );
}

function readSession({ value, at }: FileRecord): ForeignConversation {
  const messages = new ForeignMessages();
  const { info, messages: given } = isMapping(value) ? value : {};
  const { id, revert } = isMapping(info) ? info : {};
  let isTakenBack = false;
  for (const [index, message] of (Array.isArray(given) ? given : []).entries()) {
    const place = placeIn(at, `messages[${index}]`);
    const own = isMapping(message) && isMapping(message['info']) ? message['info']['id'] : undefined;
    isTakenBack ||= isMapping(revert) && own !== undefined && revert['messageID'] === own;
    if (isTakenBack) messages.leaveOut('messages that were taken back', place);
    else if (isMapping(message) && isMapping(message['info']))
      enterMessage(message['info'], message['parts'], place, messages);
    else messages.leaveOut('values that are no messages', place);
  }
  return messages.finish(id);
}

/** Parts that say how an answer was made. */
const LEFT_OUT: ReadonlySet<string> = new Set(['step-finish', 'snapshot', 'patch', 'retry', 'agent', 'compaction']);

function enterMessage({ role, summary, error }: Block, parts: unknown, at: string, messages: ForeignMessages): void {
  if (role === 'assistant' && summary === true)
    return messages.leaveOut('summaries of messages that are in the file', at);
  if (isMapping(error)) messages.notes.add('left_out', `${at}.info.error`, 'errors of requests are left out');
  const content: unknown[] = [];
  for (const [index, part] of (Array.isArray(parts) ? parts : []).entries()) {
    const place = `${at}.parts[${index}]`;
    const type = isMapping(part) ? textOf(part['type']) : 'unknown';
    if (!isMapping(part) || LEFT_OUT.has(type)) messages.leaveOut(`parts of type ${type}`, place);
    else if (part['ignored'] === true) messages.leaveOut('parts that opencode did not send', place);
    else content.push(readPart(type, part));
  }
  if (content.length > 0) messages.add({ role, parts: content }, at);
}

/** Names a part as the AI SDK does. */
function readPart(type: string, part: Block): Block {
  const { text, tool, callID, state, description, prompt } = part;
  if (type === 'text') return { type, text };
  if (type === 'reasoning')
    return { type, text, ...(part['metadata'] !== undefined && { metadata: part['metadata'] }) };
  if (type === 'file') return readFile(part);
  if (type === 'subtask') return { type: 'text', text: textOf(prompt ?? description) };
  if (type !== 'tool' || !isMapping(state)) return part;
  const { status, input, output, error, attachments } = state;
  const call = { type: 'dynamic-tool', toolName: tool, toolCallId: callID, input };
  if (status === 'completed') {
    const files = (Array.isArray(attachments) ? attachments : []).filter(isMapping).map(readAttachment);
    const whole = files.length === 0 ? output : [{ type: 'text', text: textOf(output) }, ...files];
    return { ...call, state: 'output-available', output: whole };
  }
  if (status === 'error') return { ...call, state: 'output-error', errorText: error };
  return { ...call, state: 'input-available' };
}

function readFile({ mime, url, filename }: Block): Block {
  return { type: 'file', mediaType: mime, url, ...(filename !== undefined && { filename }) };
}

/** The parts of a result are in turnfold's own form. */
function readAttachment(part: Block): Block {
  const { filename, ...file } = readFile(part);
  const type = textOf(file['mediaType']).startsWith('image/') ? 'image' : 'file';
  return { ...file, type, ...(filename !== undefined && { name: filename }) };
}
