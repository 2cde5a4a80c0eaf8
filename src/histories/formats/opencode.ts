import { isMapping } from '../../domain/parse.ts';
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
  for (const [index, message] of (Array.isArray(given) ? given : []).entries()) {
    const place = placeIn(at, `messages[${index}]`);
    if (isMapping(message) && isMapping(message['info']))
      enterMessage(message['info'], message['parts'], place, messages);
    else messages.leaveOut('values that are no messages', place);
  }
  return messages.finish(isMapping(info) ? info['id'] : undefined);
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
  const { text, tool, callID, state, mime, url, filename, description, prompt } = part;
  if (type === 'text') return { type, text };
  if (type === 'reasoning')
    return { type, text, ...(part['metadata'] !== undefined && { metadata: part['metadata'] }) };
  if (type === 'file') return { type, mediaType: mime, url, ...(filename !== undefined && { filename }) };
  if (type === 'subtask') return { type: 'text', text: textOf(prompt ?? description) };
  if (type !== 'tool' || !isMapping(state)) return part;
  const { status, input, output, error } = state;
  const call = { type: 'dynamic-tool', toolName: tool, toolCallId: callID, input };
  if (status === 'completed') return { ...call, state: 'output-available', output };
  if (status === 'error') return { ...call, state: 'output-error', errorText: error };
  return { ...call, state: 'input-available' };
}
