import { isMapping } from '../../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import { ForeignMessages } from './foreign-messages.ts';
import { type FileRecord, type ForeignConversation, placeIn } from './format.ts';
import { addAll, readGeminiParts } from './gemini-parts.ts';

/** Returns true for a file in which Gemini CLI recorded a session: one document, or a line of facts and then a record a line. */
export function isGeminiSession([first]: readonly FileRecord[]): boolean {
  return isMapping(first?.value) && typeof first.value['sessionId'] === 'string' && 'projectHash' in first.value;
}

export function readGeminiSession([first, ...rest]: readonly FileRecord[]): ForeignConversation {
  const { sessionId, messages: listed } = isMapping(first?.value) ? first.value : {};
  const messages = new ForeignMessages();
  const kept = new SessionRecords(messages);
  for (const record of listRecords(listed, placeIn(first?.at ?? '', 'messages'))) kept.enter(record);
  for (const record of rest) kept.enter(record);
  const reader = new RecordReader(messages);
  for (const record of kept.list) reader.enter(record);
  return messages.finish(sessionId);
}

function listRecords(listed: unknown, at: string): FileRecord[] {
  return (Array.isArray(listed) ? listed : []).map((value: unknown, index) => ({ value, at: `${at}[${index}]` }));
}

const SPEAKERS: ReadonlySet<unknown> = new Set(['user', 'gemini', 'model']);

/** Records of a session by their ids, as the lines of its file change them. */
class SessionRecords {
  readonly #messages: ForeignMessages;
  #kept = new Map<unknown, FileRecord>();

  constructor(messages: ForeignMessages) {
    this.#messages = messages;
  }

  get list(): readonly FileRecord[] {
    return [...this.#kept.values()];
  }

  /** A message is written again when its calls have results. */
  enter(record: FileRecord): void {
    const { value, at } = record;
    const { id, type, $rewindTo: rewound, $set: facts } = isMapping(value) ? value : {};
    if (rewound !== undefined) this.#rewind(rewound, at);
    else if (isMapping(facts) && Array.isArray(facts['messages'])) this.#enterAll(facts['messages'], at);
    else if (typeof type !== 'string' || (this.#kept.has(id) && !SPEAKERS.has(type)))
      this.#messages.leaveOut('records that change facts of the session', at);
    else this.#kept.set(id ?? at, record);
  }

  /** Takes back the messages from one on. */
  #rewind(to: unknown, at: string): void {
    const ids = [...this.#kept.keys()];
    const from = ids.indexOf(to);
    if (from >= 0) for (const later of ids.slice(from)) this.#kept.delete(later);
    this.#messages.leaveOut('messages that were taken back', at);
  }

  /**
   * A line has all messages again after results were masked, or after a summary. The messages of the file are whole, so
   * the line adds only messages that are new.
   */
  #enterAll(listed: readonly unknown[], at: string): void {
    const records = listRecords(listed, placeIn(at, '$set.messages'));
    const newer = new Map(records.map((record) => [isMapping(record.value) ? record.value['id'] : record.at, record]));
    if ([...this.#kept.keys()].some((id) => !newer.has(id)))
      return this.#messages.leaveOut('summaries of messages that are in the file', at);
    this.#kept = new Map([...newer].map(([id, record]) => [id, this.#kept.get(id) ?? record]));
  }
}

/** Reads the records of messages. */
class RecordReader {
  readonly #messages: ForeignMessages;
  /** Ids of the calls whose results were read. */
  readonly #answered = new Set<unknown>();

  constructor(messages: ForeignMessages) {
    this.#messages = messages;
  }

  enter({ value, at }: FileRecord): void {
    const { type, content, toolCalls } = value as Block;
    if (!SPEAKERS.has(type)) return this.#messages.leaveOut(`records of type ${textOf(type)}`, at);
    const parts = listParts(content);
    if (type === 'user') return this.#enterUser(parts, at);
    const calls = (Array.isArray(toolCalls) ? toolCalls : []).filter(isMapping);
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

  /** @param ids ids of all calls of the record. The result of a call may have those of the others beside it */
  #enterResult({ id, name, result, status, resultDisplay }: Block, ids: ReadonlySet<unknown>, at: string): void {
    const given = (Array.isArray(result) ? result : [result]).filter((part) => part !== null && part !== undefined);
    const answered = given.filter((part) => answeredId(part) === id || !ids.has(answeredId(part)));
    if (answered.length === 0 && resultDisplay === undefined && status === undefined) return;
    const parts =
      answered.length === 0
        ? [asResponse(id, name, resultDisplay ?? textOf(status))]
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

/** The parts of an answer. Newer versions have calls and thoughts in the content, too. */
function answerParts({ thoughts }: Block, parts: readonly unknown[], calls: readonly Block[]): unknown[] {
  const said = parts.filter((part) => !isMapping(part) || part['text'] !== '');
  const ids = new Set(
    said.map((part) => (isMapping(part) && isMapping(part['functionCall']) ? part['functionCall']['id'] : undefined)),
  );
  const called = calls
    .filter(({ id }) => !ids.has(id))
    .map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
  if (said.some((part) => isMapping(part) && part['thought'] === true)) return [...said, ...called];
  const thinking = (Array.isArray(thoughts) ? thoughts : []).filter(isMapping).map(({ subject, description }) => ({
    thought: true,
    text: [subject, description].filter((text) => typeof text === 'string').join('\n'),
  }));
  return [...thinking, ...said, ...called];
}

function answeredId(part: unknown): unknown {
  return isMapping(part) && isMapping(part['functionResponse']) ? part['functionResponse']['id'] : undefined;
}

function asResponse(id: unknown, name: unknown, output: unknown): Block {
  return { functionResponse: { id, name, response: { output } } };
}

function nameResponse(part: unknown, id: unknown): unknown {
  return isMapping(part) && isMapping(part['functionResponse'])
    ? { ...part, functionResponse: { ...part['functionResponse'], id } }
    : part;
}
