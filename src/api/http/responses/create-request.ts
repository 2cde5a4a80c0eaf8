import type { OutputPart } from '../../../domain/agent.ts';
import { fieldError } from '../../../domain/errors.ts';
import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { joinPartTexts } from '../../../domain/parts.ts';
import type { TurnMetadata } from '../../../domain/turn.ts';
import type { TurnOwn } from '../../../domain/turn-own.ts';
import { ItemReader } from '../../../wire/histories/formats/responses-items.ts';
import { HistoryNotes } from '../../../wire/histories/notes.ts';
import type { CallAnswer, InputPart } from '../../client/index.ts';
import { refuse } from '../openai/parameters.ts';
import { listItems, parseCreateBody, type RequestItem, readEcho, readRequestOwn } from './request-schema.ts';
import { type ResponseName, readCallId, readResponseId, type TurnName, writeCallId } from './response-names.ts';
import type { ResponseEcho } from './response-object.ts';

export interface CreateRequest {
  readonly agent: string | undefined;
  readonly stream: boolean;
  readonly background: boolean;
  /** False: a conversation that the response begins is erased after it. */
  readonly isStored: boolean;
  readonly conversation: string | undefined;
  /** Absent with `conversation`, and without both the request brings its whole history. */
  readonly previous: ResponseName | undefined;
  readonly items: readonly PlacedItem[];
  /** Parts of the request for its turn only. */
  readonly own: TurnOwn;
  readonly metadata: TurnMetadata | undefined;
  /** `reject`: the turn must not run behind another one (`enqueue`). */
  readonly onBusy?: 'reject';
  readonly echo: ResponseEcho;
}

export interface PlacedItem {
  readonly item: RequestItem;
  /** Path in the request. */
  readonly at: string;
}

export function readCreateRequest(body: unknown): CreateRequest {
  const read = parseCreateBody(body);
  const { conversation, previous_response_id: id } = read;
  const previous = typeof id === 'string' ? readResponseId(id, 'previous_response_id') : undefined;
  const own = typeof conversation === 'string' ? conversation : conversation?.id;
  if (previous !== undefined && own !== undefined) {
    throw fieldError('invalid_input', 'conversation', 'send either this field or `previous_response_id`, not both');
  }
  return {
    agent: read.model ?? undefined,
    stream: read.stream === true,
    background: read.background === true,
    isStored: read.store !== false,
    conversation: own,
    previous,
    items: placeItems(listItems(read.input)),
    own: readRequestOwn(read),
    metadata: read.metadata ?? undefined,
    echo: readEcho(read),
  };
}

export function placeItems(items: readonly RequestItem[], field = 'input'): PlacedItem[] {
  return items.map((item, index) => ({ item, at: `${field}[${index}]` }));
}

/** Message of the user that starts a turn. */
export interface UserInput {
  readonly input: string;
  readonly parts?: readonly InputPart[];
}

export interface RequestContent {
  /** Items before the input. A new conversation needs them in its log. */
  readonly history: readonly PlacedItem[];
  readonly input: UserInput | undefined;
  /** Answers by call. Most of them may belong to the history. */
  readonly answers: Readonly<Record<string, CallAnswer>>;
  /** Calls whose answers come behind the last item that an agent wrote. */
  readonly newCalls: ReadonlySet<string>;
  /** True if no message follows the answers, so that a turn has to wait for each of them. */
  readonly endsWithAnswers: boolean;
}

/** Text of a turn that goes on from results, where no turn waits for them. Providers need a message of the user. */
const CONTINUE: UserInput = { input: 'Continue with these results.' };

/** @param continues true: the request goes on with a conversation that the log has */
export function readContent(placed: readonly PlacedItem[], continues: boolean): RequestContent {
  const first = placed.findLastIndex(({ item }) => !isAnswer(item) && !isUserMessage(item)) + 1;
  const added = placed.slice(first);
  const answers = continues ? readAnswers(placed) : {};
  const newCalls = new Set(continues ? Object.keys(readAnswers(added)) : []);
  const last = placed.at(-1)?.item;
  if (last !== undefined && isAnswer(last)) {
    if (!continues) return { history: placed, input: CONTINUE, answers, newCalls, endsWithAnswers: false };
    const input = joinMessages(added.filter(({ item }) => isUserMessage(item)));
    return { history: placed.slice(0, first), input, answers, newCalls, endsWithAnswers: true };
  }
  const end = placed.findLastIndex(({ item }) => !isUserMessage(item)) + 1;
  const input = joinMessages(placed.slice(end));
  if (input === undefined) throw fieldError('invalid_input', 'input', 'expected a user message at the end');
  return { history: placed.slice(0, end), input, answers, newCalls, endsWithAnswers: false };
}

/** The user messages that began the turn whose calls the last items answer. */
export function readAskedInput(placed: readonly PlacedItem[]): UserInput | undefined {
  const last = placed.findLastIndex(({ item }) => isUserMessage(item));
  const before = placed.slice(0, last + 1).findLastIndex(({ item }) => !isUserMessage(item));
  return joinMessages(placed.slice(before + 1, last + 1));
}

function readAnswers(placed: readonly PlacedItem[]): RequestContent['answers'] {
  return Object.fromEntries(placed.flatMap((one) => (isAnswer(one.item) ? [readAnswer(one)] : [])));
}

/** Providers need a text beside images and files. */
const NO_TEXT = '(attachment)';

function joinMessages(placed: readonly PlacedItem[]): UserInput | undefined {
  const read = placed.map(({ item, at }) => readUserContent(item.content, at));
  const parts = read.flatMap((one) => one.parts);
  const texts = read.map(({ text }) => text);
  const hasText = texts.some((text) => text !== '');
  if (!hasText && parts.length === 0) return undefined;
  const input = hasText ? texts.join('\n\n') : NO_TEXT;
  return { input, ...(parts.length > 0 && { parts }) };
}

function isUserMessage({ type, role }: RequestItem): boolean {
  return type === 'message' && role === 'user';
}

export function isAnswer({ type }: RequestItem): boolean {
  return type === 'function_call_output' || type === 'mcp_approval_response';
}

/** @returns the turn that made the call of the last item. Undefined if the request ends otherwise */
export function readLastCaller(placed: readonly PlacedItem[]): TurnName | undefined {
  const item = placed.at(-1)?.item;
  return item !== undefined && isAnswer(item) ? readCallId(nameAnswered(item)).turn : undefined;
}

function nameAnswered({ type, call_id: call = '', approval_request_id: request = '' }: RequestItem): string {
  return type === 'function_call_output' ? call : request;
}

function readAnswer({ item, at }: PlacedItem): [string, CallAnswer] {
  const { type, approve = false, reason, output } = item;
  const { id, hash } = readCallId(nameAnswered(item));
  const named = hash === undefined ? {} : { hash };
  if (type === 'function_call_output') {
    const { text, parts } = readParts(output, `${at}.output`);
    return [id, { content: text, ...(parts.length > 0 && { parts }), ...named }];
  }
  return [id, { approved: approve, ...(typeof reason === 'string' && { why: reason }), ...named }];
}

/** Messages for the log. Reasoning is left out, because another model may continue. */
export function readMessages(history: readonly PlacedItem[]): Message[] {
  return readPlacedMessages(history).map(({ message }) => message);
}

/** Messages, each with the path of its first item. */
export function readPlacedMessages(
  history: readonly PlacedItem[],
): { readonly message: Message; readonly at: string }[] {
  const reader = new ItemReader(new HistoryNotes());
  for (const { item, at } of history) if (item.type !== 'reasoning') reader.enter(openOwnItem(item), at);
  return reader.finish().map(({ message: { raw: _, ...message }, at }) => ({ message, at }));
}

/**
 * Items that only this server writes: a summary in the open, and a call by a worker. Two items name a call alike, although
 * only a call that waits has a hash.
 */
function openOwnItem(item: RequestItem): unknown {
  const { id, turn } = readCallId(item.call_id ?? '');
  if (turn !== undefined) return { ...item, call_id: writeCallId('call', turn, { id }) };
  if (item.type === 'compaction') return { role: 'assistant', content: item['encrypted_content'] ?? '' };
  if (item.type !== 'mcp_call' || item['server_label'] !== 'turnfold') return item;
  const { server_label: _, ...call } = item;
  return call;
}

const MEDIA = new Set(['input_image', 'input_file', 'image_url', 'file']);

interface UserContent {
  readonly text: string;
  readonly parts: readonly OutputPart[];
}

export function readUserContent(content: RequestItem['content'], at: string): UserContent {
  return readParts(content, `${at}.content`);
}

/** Reads a text, or a list of texts, images and files. @throws invalid_input with the path of any other part */
function readParts(given: RequestItem['content'], at: string): UserContent {
  if (given === undefined || given === null || typeof given === 'string') return { text: given ?? '', parts: [] };
  const texts: string[] = [];
  const parts: OutputPart[] = [];
  for (const [index, part] of given.entries()) {
    const place = `${at}[${index}]`;
    if (MEDIA.has(part.type)) parts.push(readMedia(part, place));
    else texts.push(readText(part, place));
  }
  return { text: joinPartTexts(texts), parts };
}

function readMedia(part: OutputPart, at: string): OutputPart {
  const { file_id: id, file } = part;
  if (typeof id !== 'string' && !(isMapping(file) && typeof file['file_id'] === 'string')) return part;
  const why = 'turnfold stores no files. Send the content as `file_data`, or an address';
  throw refuse(`${at}.file_id`, 'unsupported_parameter', why);
}

const TEXTS = new Set(['input_text', 'output_text', 'text', 'summary_text']);

function readText({ type, text }: { readonly type: string; readonly text?: unknown }, at: string): string {
  if (typeof text === 'string') return text;
  if (TEXTS.has(type)) throw fieldError('invalid_input', `${at}.text`, 'expected a string');
  throw refuse(`${at}.type`, 'unsupported_value', `expected a text, an image or a file, and got "${type}"`);
}
