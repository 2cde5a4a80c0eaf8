import { fieldError } from '../../../domain/errors.ts';
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

/** Sessions and saved chats of Gemini CLI, and request bodies of the Gemini API. */
export const gemini: HistoryFormat = {
  name: 'gemini',
  title: 'a session of Gemini CLI',
  recognizes: (records) =>
    isGeminiSession(records) || (records[0] !== undefined && findContents(records[0]) !== undefined),
  read: (records) => (isGeminiSession(records) ? [readGeminiSession(records)] : records.map(readContents)),
};

interface Contents {
  readonly list: readonly unknown[];
  readonly at: string;
  readonly system?: { readonly parts: unknown; readonly at: string };
}

function findContents({ value, at }: FileRecord): Contents | undefined {
  const { contents, history, systemInstruction } = blockOf(value);
  const list = Array.isArray(value) ? value : (contents ?? history);
  if (!Array.isArray(list) || !list.some(isContent)) return undefined;
  const field = contents === undefined ? 'history' : 'contents';
  const system = { parts: blockOf(systemInstruction)['parts'], at: placeIn(at, 'systemInstruction') };
  return {
    list,
    at: Array.isArray(value) ? at : placeIn(at, field),
    ...(isMapping(systemInstruction) && { system }),
  };
}

/** True for a message of Gemini, whose parts have no type, unlike parts of other formats. */
function isContent(value: unknown): boolean {
  if (!isMapping(value) || !Array.isArray(value['parts']) || value['content'] !== undefined) return false;
  return value['parts'].length > 0 && value['parts'].every((part) => isMapping(part) && part['type'] === undefined);
}

/** Reads a request of the Gemini API. A file may have a request on each line. */
function readContents(record: FileRecord): ForeignConversation {
  const contents = findContents(record);
  if (contents === undefined)
    throw fieldError(
      'invalid_input',
      record.at,
      'this line has no Gemini messages, but the first line of the file has. Every line must be a Gemini request with `contents`',
    );
  const messages = new ForeignMessages();
  const { list, at, system } = contents;
  if (system !== undefined) addAll(readGeminiParts('system', system.parts, system.at), system.at, messages);
  for (const { value: content, at: place } of membersOf(list, at)) {
    const { role, parts } = blockOf(content);
    addAll(readGeminiParts(toText(role) || 'user', parts, place), place, messages);
  }
  return messages.finish();
}

/** True for a recorded session: one document, or a line about the session and then a record on each line. */
function isGeminiSession([first]: readonly FileRecord[]): boolean {
  const facts = blockOf(first?.value);
  return typeof facts['sessionId'] === 'string' && 'projectHash' in facts;
}

function readGeminiSession([first, ...rest]: readonly FileRecord[]): ForeignConversation {
  const { sessionId, messages: listed } = blockOf(first?.value);
  const session = new GeminiSession();
  for (const record of membersOf(listed, placeIn(first?.at ?? '', 'messages'))) session.enter(record);
  for (const record of rest) session.enter(record);
  return session.finish(sessionId);
}

const SPEAKERS: ReadonlySet<unknown> = new Set(['user', 'gemini', 'model']);

/** Collects the newest form of each record, and then reads the records. */
class GeminiSession {
  readonly #messages = new ForeignMessages();
  #kept = new Map<unknown, FileRecord>();
  readonly #answered = new Set<unknown>();

  /** A message is recorded again when its tool calls have results. */
  enter(record: FileRecord): void {
    const { value, at } = record;
    const { id, type, $rewindTo: rewound, $set: facts } = blockOf(value);
    if (rewound !== undefined) this.#rewind(rewound, at);
    else if (isMapping(facts) && Array.isArray(facts['messages'])) this.#enterAll(facts['messages'], at);
    else if (typeof type !== 'string' || (this.#kept.has(id) && !SPEAKERS.has(type)))
      this.#messages.leaveOut('records that change facts of the session', at);
    else this.#kept.set(id ?? at, record);
  }

  #rewind(to: unknown, at: string): void {
    const ids = [...this.#kept.keys()];
    const from = ids.indexOf(to);
    if (from >= 0) for (const later of ids.slice(from)) this.#kept.delete(later);
    this.#messages.leaveOut('messages that were taken back', at);
  }

  /** Reads a line that repeats all messages, as after a summary. Known messages keep their first, whole form. */
  #enterAll(listed: readonly unknown[], at: string): void {
    const records = membersOf(listed, placeIn(at, '$set.messages'));
    const newer = new Map(records.map((record) => [isMapping(record.value) ? record.value['id'] : record.at, record]));
    if ([...this.#kept.keys()].some((id) => !newer.has(id)))
      return this.#messages.leaveOut('summaries of messages that are in the file', at);
    this.#kept = new Map([...newer].map(([id, record]) => [id, this.#kept.get(id) ?? record]));
  }

  finish(id: unknown): ForeignConversation {
    for (const record of this.#kept.values()) this.#read(record);
    return this.#messages.finish(id);
  }

  #read({ value, at }: FileRecord): void {
    const { type, content, toolCalls } = value as Block;
    if (!SPEAKERS.has(type)) return this.#messages.leaveOut(`records of type ${toText(type)}`, at);
    const parts = listParts(content);
    if (type === 'user') return this.#enterUser(parts, at);
    const calls = blocksIn(toolCalls);
    addAll(readGeminiParts('model', answerParts(value as Block, parts, calls), at), at, this.#messages);
    const ids = new Set(calls.map(({ id }) => id));
    for (const call of calls) this.#enterResult(call, ids, at);
  }

  #enterUser(parts: readonly unknown[], at: string): void {
    const kept = parts.filter((part) => {
      const isRepeated = this.#answered.has(answeredId(part));
      if (isRepeated) this.#messages.leaveOut('results that the file holds twice', at);
      return !isRepeated;
    });
    if (kept.length > 0 || parts.length === 0) addAll(readGeminiParts('user', kept, at), at, this.#messages);
  }

  /** @param ids ids of all calls of the record, because the result of one call may be listed at another call */
  #enterResult({ id, name, result, status, resultDisplay }: Block, ids: ReadonlySet<unknown>, at: string): void {
    const given = (Array.isArray(result) ? result : [result]).filter((part) => part !== null && part !== undefined);
    const answered = given.filter((part) => answeredId(part) === id || !ids.has(answeredId(part)));
    if (answered.length === 0 && resultDisplay === undefined && status === undefined) return;
    const parts =
      answered.length === 0
        ? [asResponse(id, name, resultDisplay ?? toText(status))]
        : answered.map((part) => (typeof part === 'string' ? asResponse(id, name, part) : nameResponse(part, id)));
    this.#answered.add(id);
    addAll(readGeminiParts('user', parts, at), at, this.#messages);
  }
}

function listParts(content: unknown): unknown[] {
  const parts = (Array.isArray(content) ? content : [content ?? '']).map((part: unknown) =>
    typeof part === 'string' ? { text: part } : part,
  );
  return parts.length === 1 ? parts : parts.filter((part) => !isMapping(part) || part['text'] !== '');
}

/** Newer versions also have calls and thoughts in the content. */
function answerParts({ thoughts }: Block, parts: readonly unknown[], calls: readonly Block[]): unknown[] {
  const said = parts.filter((part) => !isMapping(part) || part['text'] !== '');
  const ids = new Set(said.map((part) => blockOf(blockOf(part)['functionCall'])['id']));
  const called = calls
    .filter(({ id }) => !ids.has(id))
    .map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
  if (said.some((part) => blockOf(part)['thought'] === true)) return [...said, ...called];
  const thinking = blocksIn(thoughts).map(({ subject, description }) => ({
    thought: true,
    text: [subject, description].filter((text) => typeof text === 'string').join('\n'),
  }));
  return [...thinking, ...said, ...called];
}

function answeredId(part: unknown): unknown {
  return blockOf(blockOf(part)['functionResponse'])['id'];
}

function asResponse(id: unknown, name: unknown, output: unknown): Block {
  return { functionResponse: { id, name, response: { output } } };
}

function nameResponse(part: unknown, id: unknown): unknown {
  return isMapping(part) && isMapping(part['functionResponse'])
    ? { ...part, functionResponse: { ...part['functionResponse'], id } }
    : part;
}

/**
 * Turns parts into messages of Anthropic's form.
 * @throws invalid_input with the path of an unknown part
 */
function readGeminiParts(role: string, parts: unknown, at: string): unknown[] {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [typeof parts === 'string' ? { text: parts } : parts];
  const content = list.map((part, index) => readPart(part, `${at}.parts[${index}]`));
  const results = content.filter(({ role: own }) => own === 'tool');
  const said = content.filter(({ role: own }) => own === undefined);
  return [
    ...results,
    ...(said.length > 0 || results.length === 0
      ? [{ role: role === 'model' ? 'assistant' : role, content: said }]
      : []),
  ];
}

function addAll(read: readonly unknown[], at: string, messages: ForeignMessages): void {
  for (const message of read) messages.add(message, at);
}

function readPart(given: unknown, at: string): Block {
  if (typeof given === 'string') return { type: 'text', text: given };
  if (!isMapping(given)) throw fieldError('invalid_input', at, 'expected a part with a text, a call or data');
  const { text, thought, functionCall, functionResponse, inlineData, fileData, executableCode, codeExecutionResult } =
    given;
  if (isMapping(functionCall))
    return { type: 'tool_use', id: functionCall['id'], name: functionCall['name'], input: functionCall['args'] };
  if (isMapping(functionResponse)) return readResponse(functionResponse);
  if (isMapping(executableCode)) return { type: 'text', text: toText(executableCode['code']) };
  if (isMapping(codeExecutionResult)) return { type: 'text', text: toText(codeExecutionResult['output']) };
  if (thought === true) return { type: 'thinking', thinking: toText(text) };
  if (isMapping(inlineData)) {
    const { mimeType, data } = inlineData;
    const type = toText(mimeType).startsWith('image/') ? 'image' : 'document';
    return { type, source: { type: 'base64', media_type: mimeType, data } };
  }
  if (isMapping(fileData)) return { type: 'document', source: { type: 'url', url: fileData['fileUri'] } };
  if (typeof text === 'string') return { type: 'text', text };
  throw fieldError(
    'invalid_input',
    at,
    `turnfold does not know a part with these keys: ${Object.keys(given).join(', ') || 'none'}. Remove the part`,
  );
}

/** Reads a result. Only newer files have ids of calls. */
function readResponse({ id, name, response }: Block): Block {
  const { output, error } = isMapping(response) ? response : { output: response };
  const only = isMapping(response) && Object.keys(response).length === 1;
  const content = only && output !== undefined ? output : only && error !== undefined ? error : response;
  return {
    role: 'tool',
    content: toText(content),
    ...(typeof id === 'string' ? { tool_call_id: id } : { name }),
    ...(only && error !== undefined && { is_error: true }),
  };
}
