import { isMapping } from '../../../domain/parse.ts';
import { textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, type HistoryFormat, placeIn } from './format.ts';
import { addAll, readGeminiParts } from './gemini-parts.ts';
import { isGeminiSession, readGeminiSession } from './gemini-session.ts';

/** Sessions and saved chats of Gemini CLI, and request bodies of the Gemini API. */
export const gemini: HistoryFormat = {
  name: 'gemini',
  title: 'a session of Gemini CLI',
  recognizes: (records) => isGeminiSession(records) || findContents(records) !== undefined,
  read: (records) => [isGeminiSession(records) ? readGeminiSession(records) : readContents(records)],
};

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
