import { isMapping } from '../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, type HistoryFormat, placeIn } from './format.ts';
import { readGeminiParts } from './gemini-parts.ts';

/** Sessions and saved chats of Gemini CLI, and request bodies of the Gemini API. */
export const gemini: HistoryFormat = {
  name: 'gemini',
  title: 'a session of Gemini CLI',
  recognizes: (records) => isSession(records) || findContents(records) !== undefined,
  read: (records) => [isSession(records) ? readSession(records) : readContents(records)],
};

function isSession([first]: readonly FileRecord[]): boolean {
  return isMapping(first?.value) && typeof first.value['sessionId'] === 'string' && 'projectHash' in first.value;
}

/** A session is one document, or a line of facts and then a message a line. */
function readSession([first, ...rest]: readonly FileRecord[]): ForeignConversation {
  const { sessionId, messages: listed } = isMapping(first?.value) ? first.value : {};
  const inner = (Array.isArray(listed) ? listed : []).map((value: unknown, index) => ({
    value,
    at: placeIn(first?.at ?? '', `messages[${index}]`),
  }));
  const messages = new ForeignMessages();
  for (const record of keepNewest([...inner, ...rest], messages)) enterRecord(record, messages);
  return messages.finish(sessionId);
}

/** A message is written again when its calls have results. A rewind takes back the messages from one on. */
function keepNewest(records: readonly FileRecord[], messages: ForeignMessages): FileRecord[] {
  const kept = new Map<unknown, FileRecord>();
  for (const record of records) {
    const { value, at } = record;
    const { id, type, $rewindTo: rewound } = isMapping(value) ? value : {};
    if (rewound !== undefined) {
      const ids = [...kept.keys()];
      const from = ids.indexOf(rewound);
      if (from >= 0) for (const later of ids.slice(from)) kept.delete(later);
      messages.leaveOut('messages that were taken back', at);
    } else if (typeof type !== 'string') messages.leaveOut('records that change facts of the session', at);
    else kept.set(id ?? at, record);
  }
  return [...kept.values()];
}

function enterRecord({ value, at }: FileRecord, messages: ForeignMessages): void {
  const { type, content, thoughts, toolCalls } = value as Block;
  if (type === 'user') return addAll(readGeminiParts('user', content, at), at, messages);
  if (type !== 'gemini' && type !== 'model') return messages.leaveOut(`records of type ${textOf(type)}`, at);
  const given = (Array.isArray(content) ? content : [content]).map((part: unknown) =>
    typeof part === 'string' ? { text: part } : part,
  );
  const said = given.filter((part) => isMapping(part) && part['text'] !== '');
  const calls = (Array.isArray(toolCalls) ? toolCalls : []).filter(isMapping);
  const thinking = (Array.isArray(thoughts) ? thoughts : []).filter(isMapping).map(({ subject, description }) => ({
    thought: true,
    text: [subject, description].filter((text) => typeof text === 'string').join('\n'),
  }));
  const called = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
  addAll(readGeminiParts('model', [...thinking, ...said, ...called], at), at, messages);
  for (const { id, name, result, status, resultDisplay } of calls) {
    const answered = Array.isArray(result) ? result.filter((part) => part !== null) : [];
    const isEmpty = answered.length === 0;
    if (isEmpty && resultDisplay === undefined && status === undefined) continue;
    const parts = isEmpty
      ? [{ functionResponse: { id, name, response: { output: resultDisplay ?? textOf(status) } } }]
      : answered;
    addAll(readGeminiParts('user', nameResponses(parts, id), at), at, messages);
  }
}

function nameResponses(parts: readonly unknown[], id: unknown): unknown[] {
  return parts.map((part) =>
    isMapping(part) && isMapping(part['functionResponse'])
      ? { ...part, functionResponse: { ...part['functionResponse'], id } }
      : part,
  );
}

function addAll(read: readonly unknown[], at: string, messages: ForeignMessages): void {
  for (const message of read) messages.add(message, at);
}

interface Contents {
  readonly list: readonly unknown[];
  readonly at: string;
  readonly system: unknown;
}

function findContents([first]: readonly FileRecord[]): Contents | undefined {
  if (first === undefined) return undefined;
  const { value, at } = first;
  const { contents, history, systemInstruction } = isMapping(value) ? value : {};
  const list = Array.isArray(value) ? value : (contents ?? history);
  if (!Array.isArray(list) || !list.some(isContent)) return undefined;
  const field = contents === undefined ? 'history' : 'contents';
  return { list, at: Array.isArray(value) ? at : placeIn(at, field), system: systemInstruction };
}

/** The parts of Gemini have no type. */
function isContent(value: unknown): boolean {
  if (!isMapping(value) || !Array.isArray(value['parts']) || value['content'] !== undefined) return false;
  return value['parts'].length > 0 && value['parts'].every((part) => isMapping(part) && part['type'] === undefined);
}

function readContents(records: readonly FileRecord[]): ForeignConversation {
  const messages = new ForeignMessages();
  const { list, at, system } = findContents(records) ?? { list: [], at: '', system: undefined };
  if (isMapping(system))
    addAll(readGeminiParts('system', system['parts'], 'systemInstruction'), 'systemInstruction', messages);
  for (const [index, content] of list.entries()) {
    const place = `${at}[${index}]`;
    const { role, parts } = isMapping(content) ? content : {};
    addAll(readGeminiParts(textOf(role) || 'user', parts, place), place, messages);
  }
  return messages.finish();
}
