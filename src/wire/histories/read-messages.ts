/**
 * One reader for the messages of all programs. It does not ask for the format of a list, because programs add messages
 * of their own to those of a provider. A message is read by its fields, and a block by its type (`blocks.ts`). A type
 * of one format means the same in the others, or does not exist there.
 *
 * Unknown keys and types are errors. A key that is silently dropped may hold calls or texts, and the agent would
 * continue without them. `message-keys.ts` lists the keys that mean nothing to a model.
 *
 * The files in `formats/` turn the files of programs into such messages. A message with text, calls and results becomes
 * several messages (`MessageDraft`). `repair-calls.ts` then gives each call one result, and `notes.ts` collects all
 * changes and omissions.
 */

import { boundedList } from '../../domain/bounded-schemas.ts';
import { fieldError } from '../../domain/errors.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { jsonSchema, MAX_CALLS, type Message, messageSchema } from '../../domain/message.ts';
import { isMapping, joinPath, parseInput } from '../../domain/parse.ts';
import { holdsCallBlock, readBlock, readContents, readInvocation, writeArguments } from './blocks.ts';
import { CallNames, MessageDraft, type ReadingContext, resultOf } from './message-draft.ts';
import {
  IGNORED,
  isOwnMessage,
  MESSAGE_MARKS,
  OF_ANSWERS,
  OWN_FIELDS,
  openProviderFields,
  REASONING,
  readOwnMessage,
} from './message-keys.ts';
import type { HistoryNotes } from './notes.ts';
import { readCitations } from './sources.ts';
import { type Block, blocksIn, idOf, isFilled, listOf, toText } from './values.ts';

const MAX_PARTS = 10_000;

const blocksSchema = boundedList(jsonSchema, MAX_PARTS);

export interface ReadMessages {
  readonly messages: Message[];
  readonly places: string[];
}

/**
 * @param places path of each message, for notes and errors. Default: `messages[0]` and so on
 * @throws invalid_input with the path of a message, part or key that turnfold does not know
 */
export function* readMessagesInSlices(
  given: readonly unknown[],
  notes: HistoryNotes,
  places?: readonly string[],
): Interruptible<ReadMessages> {
  const context = { notes, callNames: new CallNames() };
  const read: ReadMessages = { messages: [], places: [] };
  for (const [index, value] of given.entries()) {
    const place = places?.[index] ?? `messages[${index}]`;
    for (const message of readMessage(value, place, context)) {
      read.messages.push(message);
      read.places.push(place);
    }
    if (endsSlice(index)) yield;
  }
  return read;
}

function readMessage(value: unknown, at: string, context: ReadingContext): Message[] {
  if (isOwnMessage(value)) return [readOwnMessage(value, at)];
  if (!isMapping(value)) throw fieldError('invalid_input', at, 'expected a message with a role and a content');
  const marks = Object.fromEntries(
    MESSAGE_MARKS.filter((mark) => isFilled(value[mark])).map((mark) => [mark, value[mark]]),
  );
  const messages = new ForeignMessage(value, at, context).read();
  return messages.map((message, index) =>
    parseInput(messageSchema, { ...message, ...(index === 0 || message.role !== 'tool' ? marks : {}) }, at),
  );
}

const ROLES: ReadonlyMap<unknown, 'system' | 'user' | 'assistant' | 'tool'> = new Map([
  ...(['system', 'user', 'assistant', 'tool'] as const).map((role) => [role, role] as const),
  ['developer', 'system'],
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['function', 'tool'],
  ['ipython', 'tool'],
]);

const KNOWN: ReadonlySet<string> = new Set([
  ...MESSAGE_MARKS,
  ...(
    'role content parts name refusal annotations audio images tool_calls tool_call_id function_call tool_name ' +
    'toolInvocations experimental_attachments reasoning_content reasoning reasoning_details thinking isError ' +
    'is_error thinking_blocks tool_plan citations'
  ).split(' '),
]);

const NO_CONTENT = 'expected a string or a list of content parts';
const UNKNOWN_KEY = 'turnfold does not know this key of a message. Remove the key';

const CALL_FIELDS: ReadonlySet<string> = new Set(
  'id type index function custom name args arguments input error status requestor'.split(' '),
);

class ForeignMessage {
  readonly #given: Block;
  readonly #at: string;
  readonly #context: ReadingContext;

  constructor(given: Block, at: string, context: ReadingContext) {
    this.#given = openProviderFields(given);
    this.#at = at;
    this.#context = context;
  }

  read(): Message[] {
    const role = ROLES.get(this.#given['role'] ?? this.#given['type']);
    if (role === undefined) {
      throw fieldError('invalid_input', `${this.#at}.role`, 'expected system, developer, user, assistant or tool');
    }
    this.#checkKeys(role);
    if (role === 'tool' && !this.#holdsResults()) return [this.#readResult()];
    const draft = new MessageDraft(
      role === 'tool' ? 'user' : role,
      this.#context,
      this.#hasBlocks() ? 'anthropic' : 'openai-chat',
    );
    if (role === 'assistant') this.#readReasoning(draft);
    this.#readContent(draft, role);
    if (role === 'assistant') this.#readCalls(draft);
    return draft.finish(role !== 'tool');
  }

  #checkKeys(role: string): void {
    for (const [key, value] of Object.entries(this.#given)) {
      if (KNOWN.has(key) || IGNORED.has(key) || key.startsWith('_') || !isFilled(value)) continue;
      const isOwn = (OWN_FIELDS as readonly string[]).includes(key);
      const why = isOwn
        ? "this key belongs to turnfold's format, but the rest of the message has another format. Use one format for the message"
        : UNKNOWN_KEY;
      throw fieldError('invalid_input', joinPath(this.#at, [key]), why);
    }
    const misplaced = role === 'assistant' ? undefined : OF_ANSWERS.find((key) => isFilled(this.#given[key]));
    if (misplaced !== undefined)
      throw fieldError(
        'invalid_input',
        joinPath(this.#at, [misplaced]),
        'only a message of the assistant has this key',
      );
  }

  #blocks(): readonly unknown[] {
    const { content, parts } = this.#given;
    if (Array.isArray(content)) return parseInput(blocksSchema, content, `${this.#at}.content`);
    // In AI SDK 4, `content` repeats the text of the parts.
    return Array.isArray(parts) ? parseInput(blocksSchema, parts, `${this.#at}.parts`) : [];
  }

  #hasBlocks(): boolean {
    return Array.isArray(this.#given['content']) || Array.isArray(this.#given['parts']);
  }

  #holdsResults(): boolean {
    return holdsCallBlock(this.#blocks());
  }

  #readContent(draft: MessageDraft, role: string): void {
    const { content, refusal, audio, images, tool_plan: plan } = this.#given;
    const { notes } = this.#context;
    const blocks = this.#blocks();
    this.#readName(draft, role);
    if (isFilled(plan)) draft.addText(toText(plan));
    if (blocks.length > 0) {
      const at = Array.isArray(content) ? 'content' : 'parts';
      if (typeof content === 'string' && !repeats(blocks, content)) draft.addText(content);
      blocks.forEach((block, index) => readBlock(block, { draft, notes, at: `${this.#at}.${at}[${index}]` }));
    } else if (!Array.isArray(content)) draft.addText(this.#readText(content, role));
    for (const field of ['annotations', 'citations'])
      readCitations(this.#given[field], { draft, notes, at: `${this.#at}.${field}` });
    if (isFilled(refusal)) draft.addText(toText(refusal));
    if (isMapping(audio)) this.#readAudio(draft, audio);
    for (const image of listOf(images)) draft.addPart({ type: 'image', data: toText(image) });
    this.#readAttachments(draft);
  }

  #readName(draft: MessageDraft, role: string): void {
    const { name, content } = this.#given;
    if (typeof name !== 'string' || name === '' || role === 'tool') return;
    if (role === 'assistant' && !isFilled(content)) {
      return this.#context.notes.add('left_out', `${this.#at}.name`, 'the name of the author of calls is left out');
    }
    this.#context.notes.add('mapped', `${this.#at}.name`, 'the name of the author stands before the text');
    draft.addText(`${name}: `);
  }

  /** An answer with tool calls, or an aborted one, may have no content. */
  #readText(content: unknown, role: string): string {
    const at = `${this.#at}.content`;
    if (content === undefined && role !== 'assistant') throw fieldError('invalid_input', at, NO_CONTENT);
    if (content === null && role !== 'assistant')
      this.#context.notes.add('repaired', at, 'a message without content is empty');
    return toText(content);
  }

  /** Reads attachments, which AI SDK 4 has beside the content. */
  #readAttachments(draft: MessageDraft): void {
    for (const { url, contentType, name } of blocksIn(this.#given['experimental_attachments'])) {
      const type = toText(contentType).startsWith('image/') ? 'image' : 'file';
      draft.addPart({ type, url, mediaType: contentType, ...(isFilled(name) && { name }) });
    }
  }

  #readAudio(draft: MessageDraft, audio: Block): void {
    if (typeof audio['transcript'] === 'string') draft.addText(audio['transcript']);
    this.#context.notes.add(
      'left_out',
      `${this.#at}.audio`,
      'turnfold keeps the transcript of spoken answers, and not their sound',
    );
  }

  #readReasoning(draft: MessageDraft): void {
    const kept = REASONING.filter((key) => isFilled(this.#given[key]));
    if (kept.length === 0) return;
    const { content } = this.#given;
    draft.addReasoning({ content: toText(content), ...Object.fromEntries(kept.map((key) => [key, this.#given[key]])) });
  }

  #readCalls(draft: MessageDraft): void {
    const { function_call: call, toolInvocations: invocations } = this.#given;
    const calls = this.#listCalls('tool_calls');
    calls.forEach((given, index) => this.#readCall(draft, given, `${this.#at}.tool_calls[${index}]`));
    // A call of LangChain whose arguments are not JSON may also be in `tool_calls`, as the provider sent it.
    const ids = new Set(calls.map((given) => (isMapping(given) ? given['id'] : undefined)));
    this.#listCalls('invalid_tool_calls').forEach((given, index) => {
      const isRead = isMapping(given) && given['id'] !== undefined && ids.has(given['id']);
      if (!isRead) this.#readCall(draft, given, `${this.#at}.invalid_tool_calls[${index}]`);
    });
    if (isMapping(call)) {
      this.#context.notes.add('mapped', `${this.#at}.function_call`, 'a function call is kept as a tool call');
      draft.addCall({
        name: toText(call['name']),
        arguments: this.#readArguments(call['arguments'], `${this.#at}.function_call`),
      });
    }
    if (!Array.isArray(invocations) || Array.isArray(this.#given['parts'])) return;
    for (const invocation of invocations.filter(isMapping)) readInvocation(invocation, { draft });
  }

  #listCalls(field: string): readonly unknown[] {
    const given = this.#given[field];
    return isFilled(given) ? parseInput(boundedList(jsonSchema, MAX_CALLS), given, `${this.#at}.${field}`) : [];
  }

  /**
   * Reads a call. OpenAI and Ollama have a `function`, OpenAI's custom tools an `input`, LangChain a `name` and `args`.
   */
  #readCall(draft: MessageDraft, given: unknown, at: string): void {
    if (!isMapping(given)) throw fieldError('invalid_input', at, 'expected a tool call');
    const { id, function: called, custom } = given;
    const { name, arguments: text, args, input } = isMapping(called) ? called : isMapping(custom) ? custom : given;
    if (typeof name !== 'string' || name === '')
      throw fieldError('invalid_input', `${at}.function.name`, 'expected the name of a tool');
    for (const [key, value] of Object.entries(given)) {
      if (CALL_FIELDS.has(key) || key.startsWith('_') || !isFilled(value)) continue;
      this.#context.notes.add('left_out', joinPath(at, [key]), `the field ${key} of a call is left out`);
    }
    const argumentsGiven = text === null ? null : (text ?? args ?? (isMapping(custom) ? { input } : input));
    draft.addCall({ id: idOf(id), name, arguments: this.#readArguments(argumentsGiven, `${at}.function.arguments`) });
  }

  #readArguments(given: unknown, at: string): string {
    if (given === null) this.#context.notes.add('repaired', at, 'a call without arguments has an empty object');
    return writeArguments(given);
  }

  #readResult(): Message {
    const { tool_call_id: id, name, tool_name: tool, content, isError, is_error, status } = this.#given;
    if (content === null)
      this.#context.notes.add('repaired', `${this.#at}.content`, 'a result without content is empty');
    if (content === undefined) throw fieldError('invalid_input', `${this.#at}.content`, NO_CONTENT);
    const toolCallId = idOf(id) ?? this.#context.callNames.nameResult(idOf(name) ?? idOf(tool));
    const isFailed = isError === true || is_error === true || status === 'error';
    return resultOf(toolCallId, { ...readContents(content), isError: isFailed });
  }
}

/** True if the blocks contain the text, perhaps in several pieces. */
function repeats(blocks: readonly unknown[], text: string): boolean {
  const pieces = blocks.map((block) => (isMapping(block) ? toText(block['text']) : ''));
  return pieces.join('').replaceAll(/\s/g, '').includes(text.replaceAll(/\s/g, ''));
}
