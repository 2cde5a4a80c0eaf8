import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { joinPartTexts } from '../../../domain/parts.ts';
import type { AppendInput, CallAnswer } from '../../client/index.ts';
import { readCallName } from '../front-end/call-names.ts';
import { type ResponseName, readResponseId } from './response-object.ts';

const MAX_ITEMS = 5_000;

const itemSchema = z.looseObject({
  type: z.string().default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: z.union([z.string(), boundedList(z.looseObject({ type: z.string() }), 1_000)]).optional(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  output: z.union([z.string(), boundedList(z.looseObject({ type: z.string() }), 1_000)]).optional(),
  approval_request_id: z.string().optional(),
  approve: z.boolean().optional(),
  reason: z.string().nullish(),
});

const EXAMPLES = [
  { input: 'Where is my parcel?', conversation: 'support-42', background: true },
  { input: 'And when does it come?', previous_response_id: 'resp_support-42~m1.1', stream: true },
];

export const createResponseSchema = z
  .looseObject({
    model: idSchema.optional().describe('Name of the agent, for a new conversation.'),
    input: z.union([z.string().min(1), boundedList(itemSchema, MAX_ITEMS)]),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    previous_response_id: z.string().nullish().describe('Response that this one continues.'),
    conversation: z.union([idSchema, z.looseObject({ id: idSchema })]).nullish(),
    instructions: z.literal('', 'the agent has its own instructions').nullish(),
    store: z.literal(true, 'every response is stored. Erase its conversation afterwards').nullish(),
  })
  .meta({ id: 'CreateResponse', examples: EXAMPLES });

type RequestItem = z.output<typeof itemSchema>;

export interface CreateRequest {
  readonly agent: string | undefined;
  readonly stream: boolean;
  readonly background: boolean;
  readonly conversation: string | undefined;
  /** Absent with `conversation`: the response begins a conversation. */
  readonly previous: ResponseName | undefined;
  /** Items before the input. A new conversation needs them in its log. */
  readonly history: readonly PlacedInput[];
  readonly input: string | undefined;
  /** Answers by call. Most of them may belong to the history. */
  readonly answers: Readonly<Record<string, CallAnswer>>;
  /** Calls whose answers come behind the last item that an agent wrote. */
  readonly newCalls: ReadonlySet<string>;
  /** True if no message follows the answers, so that a turn has to wait for each of them. */
  readonly endsWithAnswers: boolean;
}

export interface PlacedInput {
  readonly item: RequestItem;
  readonly at: string;
}

export function readCreateRequest(body: unknown): CreateRequest {
  const {
    model,
    input,
    stream,
    background,
    conversation,
    previous_response_id: id,
  } = parseInput(createResponseSchema, body);
  const previous = typeof id === 'string' ? readResponseId(id, 'previous_response_id') : undefined;
  const own = typeof conversation === 'string' ? conversation : conversation?.id;
  if (previous !== undefined && own !== undefined) {
    throw fieldError('invalid_input', 'conversation', 'send either this field or `previous_response_id`, not both');
  }
  const items: RequestItem[] = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  return {
    agent: model,
    stream: stream === true,
    background: background === true,
    conversation: own,
    previous,
    ...readItems(items, previous !== undefined || own !== undefined),
  };
}

type Content = Pick<CreateRequest, 'history' | 'input' | 'answers' | 'newCalls' | 'endsWithAnswers'>;

function readItems(items: readonly RequestItem[], continues: boolean): Content {
  const placed = items.map((item, index) => ({ item, at: `input[${index}]` }));
  const first = placed.findLastIndex(({ item }) => !isAnswer(item) && !isUserMessage(item)) + 1;
  const added = placed.slice(first);
  const answers = continues ? readAnswers(placed) : {};
  const newCalls = new Set(continues ? Object.keys(readAnswers(added)) : []);
  const last = placed.at(-1)?.item;
  if (continues && last !== undefined && isAnswer(last)) {
    const input = joinMessages(added.filter(({ item }) => isUserMessage(item)));
    const history = placed.slice(0, first);
    return { history, input: input === '' ? undefined : input, answers, newCalls, endsWithAnswers: true };
  }
  const end = placed.findLastIndex(({ item }) => !isUserMessage(item)) + 1;
  const input = joinMessages(placed.slice(end));
  if (input === '') throw fieldError('invalid_input', 'input', 'expected a user message at the end');
  return { history: placed.slice(0, end), input, answers, newCalls, endsWithAnswers: false };
}

function readAnswers(placed: readonly PlacedInput[]): Content['answers'] {
  return Object.fromEntries(placed.flatMap((one) => (isAnswer(one.item) ? [readAnswer(one)] : [])));
}

function joinMessages(placed: readonly PlacedInput[]): string {
  const texts = placed.map(({ item, at }) => readText(item.content, at));
  return texts.every((text) => text === '') ? '' : texts.join('\n\n');
}

function isUserMessage({ type, role }: RequestItem): boolean {
  return type === 'message' && role === 'user';
}

export function isAnswer({ type }: RequestItem): boolean {
  return type === 'function_call_output' || type === 'mcp_approval_response';
}

function readAnswer({ item, at }: PlacedInput): [string, CallAnswer] {
  const { type, call_id: call = '', approval_request_id: request = '', approve = false, reason, output } = item;
  const { id, hash } = readCallName(type === 'function_call_output' ? call : request);
  if (type === 'function_call_output') return [id, { content: readText(output, `${at}.output`), hash }];
  return [id, { approved: approve, ...(typeof reason === 'string' && { why: reason }), hash }];
}

/** Leaves out reasoning, because another model may continue. */
export function readMessage({ item, at }: PlacedInput): AppendInput['messages'] {
  const { type, role, content, call_id: toolCallId = '', name = '', arguments: written = '', output } = item;
  switch (type) {
    case 'message':
      return [{ role: role === 'user' || role === 'assistant' ? role : 'system', content: readText(content, at) }];
    case 'function_call':
      return [{ role: 'assistant', content: '', toolCalls: [{ id: toolCallId, name, arguments: written }] }];
    case 'function_call_output':
      return [{ role: 'tool', toolCallId, content: readText(output, `${at}.output`) }];
    case 'reasoning':
      return [];
    default:
      throw fieldError('invalid_input', `${at}.type`, `expected a message or a function call, and got "${type}"`);
  }
}

function readText(content: RequestItem['content'], at: string): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  const texts = content.map((part) => {
    const { type, text } = part as { type: string; text?: unknown };
    if (typeof text === 'string') return text;
    throw fieldError('invalid_input', at, `expected text, and got "${type}"`);
  });
  return joinPartTexts(texts);
}
