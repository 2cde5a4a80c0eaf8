import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import { type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import {
  type Author,
  BodyReader,
  type BodyView,
  contentSchema,
  isGiven,
  listSchema,
  NO_POSITION,
  type Position,
  parseBodyJson,
  type ViewedMessage,
  type ViewedTool,
  writeInSlices,
} from '../rules/body-view.ts';
import { OPENAI_MAX_TOOLS } from '../tools.ts';

/** Schema of an item of the input. A field that a rule checks by itself is `unknown` here. */
const itemSchema = z.object({
  type: z.string().default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  id: z.string().nullish(),
  call_id: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  content: z.unknown().optional(),
  output: z.unknown().optional(),
  encrypted_content: z.unknown().optional(),
  summary: z.unknown().optional(),
});

type InputItem = z.infer<typeof itemSchema>;

/** Calls of the provider's own tools have no `call_id`, and their result is in the same item. */
function isCall({ type, call_id }: InputItem): boolean {
  return typeof call_id === 'string' && (type.endsWith('_call') || type === 'program');
}

function isOutput({ type }: InputItem): boolean {
  return type.endsWith('_output');
}

export function outputTypeOf(callType: string): string {
  return callType === 'tool_search_call' ? 'tool_search_output' : `${callType}_output`;
}

function authorOf(item: InputItem): Author {
  const { type, role = 'user' } = item;
  if (type === 'message') return role === 'developer' ? 'system' : role;
  return isOutput(item) || type === 'mcp_approval_response' ? 'result' : 'assistant';
}

export interface ViewedItem extends ViewedMessage, Omit<InputItem, 'role'> {}

export interface ResponsesView extends BodyView {
  readonly items: readonly ViewedItem[];
  /** Fields that make the server add a history that it stored. */
  readonly serverHistory: readonly string[];
  readonly usesReasoning: boolean;
  /** True if the server stores nothing and cannot find an item by its id. */
  readonly isStateless: boolean;
}

const MAX_ID_LENGTH = 64;
const MAX_NAME_LENGTH = 64;

const bodySchema = z.object({
  input: contentSchema,
  instructions: z.string().nullish(),
  tools: listSchema.nullish(),
  store: z.boolean().nullish(),
  reasoning: z.unknown().optional(),
  previous_response_id: z.unknown().optional(),
  conversation: z.unknown().optional(),
});
const namedSchema = z.object({ name: z.string().optional() });
const toolSchema = namedSchema.extend({ tools: boundedList(namedSchema, MAX_GROWN_ENTRIES).default([]) });
const partSchema = z.object({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });

export function* viewResponses(body: unknown): Interruptible<ResponsesView> {
  const reading = new ResponsesReading();
  const read = reading.read(bodySchema, body, '');
  const { input = [], instructions, tools, previous_response_id, conversation } = read ?? {};
  if (typeof instructions === 'string') {
    reading.texts.push({ path: 'instructions', text: instructions, position: NO_POSITION });
  }
  const described = (tools ?? []).map((tool, index) => reading.read(toolSchema, tool, `tools[${index}]`));
  const items = yield* reading.readInput(input);
  yield;
  const written = yield* writeInSlices(body, 'input');
  return {
    ...reading.seen,
    body,
    written,
    messages: items,
    items,
    tools: described.flatMap((tool, index) => listTools(tool, `tools[${index}]`)),
    maxIdLength: MAX_ID_LENGTH,
    maxNameLength: MAX_NAME_LENGTH,
    maxTools: OPENAI_MAX_TOOLS,
    serverHistory: Object.entries({ previous_response_id, conversation })
      .filter(([, value]) => isGiven(value))
      .map(([name]) => name),
    usesReasoning: isGiven(read?.reasoning) || items.some(({ type }) => type === 'reasoning'),
    isStateless: read?.store === false,
  };
}

/** A namespace describes several tools, which are called by their own names. */
function listTools(tool: z.infer<typeof toolSchema> | undefined, path: string): ViewedTool[] {
  const named = [
    { path, name: tool?.name },
    ...(tool?.tools ?? []).map(({ name }, index) => ({ path: `${path}.tools[${index}]`, name })),
  ];
  return named.flatMap(({ name, path: at }) => (name === undefined ? [] : [{ path: at, name }]));
}

class ResponsesReading extends BodyReader {
  #answer: Position | undefined;

  *readInput(input: string | readonly unknown[]): Interruptible<ViewedItem[]> {
    if (typeof input === 'string') {
      this.texts.push({ path: 'input', text: input, position: 0 });
      return [{ path: 'input', author: 'user', type: 'message' }];
    }
    return yield* mapInSlices(input, (value, position) => this.#readItem(value, position));
  }

  #readItem(value: unknown, position: Position): ViewedItem {
    const path = `input[${position}]`;
    const { role, ...item } = this.read(itemSchema, value, path) ?? { type: 'message', role: 'user' as const };
    const author = authorOf({ ...item, role });
    this.#answer = author === 'assistant' ? (this.#answer ?? position) : undefined;
    if (item.type === 'message') this.#readMessage({ ...item, role }, path, position);
    if (item.type === 'reasoning' && !Array.isArray(item.summary)) this.report(path, 'the reasoning has no summary');
    if (isCall(item)) this.#readCall(item, path, position);
    if (isOutput(item)) this.#readOutput(item, path, position);
    const isCompaction = item.type === 'compaction';
    return { ...item, path, author, isCompaction, ...(this.#answer === undefined ? {} : { answer: this.#answer }) };
  }

  #readMessage({ role, content }: InputItem, path: string, position: Position): void {
    if (role === undefined) this.report(path, 'the item has neither type nor role');
    const read = this.read(contentSchema, content ?? [], `${path}.content`);
    if (read !== undefined) this.#readParts(read, `${path}.content`, position);
  }

  #readCall({ type, call_id, name, arguments: given }: InputItem, path: string, position: Position): void {
    const call = { path, id: call_id ?? '', position, answer: this.#answer ?? position };
    if (type !== 'function_call') this.calls.push(name === undefined ? call : { ...call, name });
    else {
      if (name === undefined) this.report(path, 'the function_call has no name');
      this.calls.push({
        ...call,
        name: name ?? '',
        input: typeof given === 'string' ? parseBodyJson(given) : undefined,
      });
    }
  }

  #readOutput({ type, call_id, output }: InputItem, path: string, position: Position): void {
    if (typeof call_id === 'string') this.results.push({ path, callId: call_id, position });
    else if (type === 'function_call_output') this.report(path, 'the tool output has no call_id');
    // Outputs of other types have no text for the model, only screenshots, streams or exit codes.
    const read = contentSchema.safeParse(output);
    const isContent = type === 'function_call_output' || type === 'custom_tool_call_output';
    if (isContent && read.success) this.#readParts(read.data, `${path}.output`, position);
    else if (isContent) this.report(path, 'the field output is missing or has the wrong type');
  }

  #readParts(content: string | readonly unknown[], path: string, position: Position): void {
    this.readContent(content, { path, position }, (value, at) => {
      const part = this.read(partSchema, value, at);
      const text = part?.text ?? part?.refusal;
      if (text !== undefined) this.texts.push({ path: at, text, position });
      else if (part?.type.endsWith('_text') === true) this.report(at, 'the text part has no text');
    });
  }
}
