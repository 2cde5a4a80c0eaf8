/** Random requests through the SDK of OpenAI, valid and broken ones: each is answered or refused, and none fails the server. */
import * as fc from 'fast-check';
import { APIError, OpenAI, OpenAIError } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
  openai = new OpenAI({ baseURL: fixture.baseUrl, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => fixture.http.close());

/** Ids that earlier requests got, and those that no server has. */
interface Known {
  readonly responses: string[];
  readonly conversations: string[];
  readonly calls: string[];
  readonly items: string[];
}

const FOREIGN = ['', 'resp_x', 'resp_a~b', 'resp_a~b~c2_0', 'conv_x', 'msg_a~-~1', 'call_1', 'a b', '../x', '~', 'ü'];
const pick = (known: readonly string[], at: number): string => {
  const all = [...known.slice(-5), ...known.slice(-5), ...FOREIGN];
  return all[at % all.length] ?? '';
};

const text = fc.constantFrom(
  'hello',
  'history',
  'think',
  'fail',
  'use find_order',
  'use refund',
  'use weather_of',
  'weather',
  '',
);
const place = fc.nat(1_000);
const junk = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, -1, 1e300, '', [], {}, '\ud800'));
const part = fc.oneof(
  fc.record({ type: fc.constantFrom('input_text', 'output_text', 'text'), text }),
  fc.record({
    type: fc.constantFrom('input_image', 'input_file', 'input_audio', 'refusal'),
    image_url: junk,
    file_id: junk,
  }),
);
const item = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool'),
      content: fc.oneof(text, fc.array(part, { maxLength: 3 })),
    }),
  },
  fc.record({
    type: fc.constant('function_call_output'),
    call: place,
    output: fc.oneof(text, fc.array(part, { maxLength: 2 })),
  }),
  fc.record({ type: fc.constant('function_call'), call: place, name: text, arguments: fc.constantFrom('{}', '{', '') }),
  fc.record({ type: fc.constant('item_reference'), item: place }),
  fc.record({ type: fc.constant('mcp_approval_response'), call: place, approve: fc.boolean() }),
  fc.record({
    type: fc.constantFrom('reasoning', 'web_search_call', 'compaction', 'mcp_call', 'unknown'),
    id: text,
    summary: junk,
  }),
);
const tool = fc.record(
  {
    type: fc.constantFrom('function', 'web_search'),
    name: fc.constantFrom('weather_of', 'find_order', 'a b'),
    parameters: fc.oneof(fc.constant({ type: 'object', properties: {} }), junk),
  },
  { requiredKeys: ['type', 'name'] },
);
const body = fc.record(
  {
    model: fc.constantFrom('support', 'support', 'support', 'gpt-5', ''),
    input: fc.oneof(text, fc.array(item, { maxLength: 5 })),
    previous: place,
    conversation: place,
    instructions: text,
    tools: fc.array(tool, { maxLength: 2 }),
    tool_choice: fc.oneof(
      fc.constantFrom('auto', 'none', 'required'),
      fc.record({ type: fc.constantFrom('function', 'allowed_tools'), name: text, mode: text, tools: fc.array(tool) }),
      junk,
    ),
    text: fc.oneof(
      fc.record({
        format: fc.record({
          type: fc.constantFrom('text', 'json_object', 'json_schema', 'x'),
          name: text,
          schema: junk,
        }),
      }),
      junk,
    ),
    metadata: fc.oneof(fc.dictionary(fc.string({ maxLength: 5 }), text), junk),
    store: fc.boolean(),
    background: fc.boolean(),
    stream: fc.boolean(),
    max_output_tokens: fc.oneof(fc.constant(100), junk),
    include: fc.oneof(fc.constant(['reasoning.encrypted_content']), junk),
    temperature: fc.constantFrom(1, 0, null),
    extra: junk,
  },
  { requiredKeys: ['input'] },
);
const query = fc.record(
  {
    order: fc.constantFrom('asc', 'desc', 'x'),
    limit: fc.constantFrom(1, 100, 0, 1_000, 'x'),
    after: place,
  },
  { requiredKeys: [] },
);
const kind = fc.constantFrom(
  'create',
  'create',
  'create',
  'create',
  'retrieve',
  'cancel',
  'delete',
  'inputs',
  'tokens',
  'chat',
  'chat',
  'open',
  'append',
  'items',
  'item',
  'conversation',
  'update',
  'erase',
  'model',
);
const move = fc.record({ kind, body, query, at: place, other: place, messages: fc.array(item, { maxLength: 4 }) });
type Move = typeof move extends fc.Arbitrary<infer One> ? One : never;

/** Puts ids in place of their places. */
function name(given: unknown, known: Known): never {
  if (Array.isArray(given)) return given.map((one) => name(one, known)) as never;
  if (typeof given !== 'object' || given === null) return given as never;
  const { call, item: reference, previous, conversation, after, ...rest } = given as Record<string, unknown>;
  return {
    ...rest,
    ...(typeof call === 'number' && { call_id: pick(known.calls, call), approval_request_id: pick(known.calls, call) }),
    ...(typeof reference === 'number' && { id: pick(known.items, reference) }),
    ...(typeof previous === 'number' && { previous_response_id: pick(known.responses, previous) }),
    ...(typeof conversation === 'number' &&
      previous === undefined && { conversation: pick(known.conversations, conversation) }),
    ...(typeof after === 'number' && { after: pick(known.items, after) }),
    ...('input' in rest && { input: name(rest['input'], known) }),
  } as never;
}

interface Answer {
  readonly id?: string;
  readonly conversation?: { readonly id: string } | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly output?: readonly { readonly id?: string; readonly type: string; readonly call_id?: string }[];
}

function learn(answer: unknown, known: Known): void {
  const { id = '', conversation, output = [] } = answer as Answer;
  if (id.startsWith('resp_')) known.responses.push(id);
  if (id.startsWith('conv_')) known.conversations.push(id);
  if (conversation) known.conversations.push(conversation.id);
  for (const { id: itemId = '', call_id: call = itemId, type } of output) {
    known.items.push(itemId);
    if (type === 'function_call' || type === 'mcp_approval_request') known.calls.push(call);
  }
}

async function send(
  { kind: what, body: given, query: asked, at, other, messages }: Move,
  known: Known,
): Promise<unknown> {
  const response = pick(known.responses, at);
  const conversation = pick(known.conversations, at);
  const own = { conversation_id: conversation };
  switch (what) {
    case 'create':
      return await openai.responses.create(name(given, known));
    case 'retrieve':
      return await openai.responses.retrieve(response, { stream: given.stream ?? false, starting_after: other });
    case 'cancel':
      return await openai.responses.cancel(response);
    case 'delete':
      return await openai.responses.delete(response);
    case 'inputs':
      return await openai.responses.inputItems.list(response, name(asked, known));
    case 'tokens':
      return await openai.responses.inputTokens.count(name(given, known));
    case 'chat':
      return await openai.chat.completions.create({
        ...given,
        input: undefined,
        messages: name(messages, known),
      } as never);
    case 'open':
      return await openai.conversations.create({ items: name(messages, known), metadata: given.metadata as never });
    case 'append':
      return await openai.conversations.items.create(conversation, { items: name(messages, known) });
    case 'items':
      return await openai.conversations.items.list(conversation, name(asked, known));
    case 'item':
      return await openai.conversations.items.retrieve(pick(known.items, other), own);
    case 'conversation':
      return await openai.conversations.retrieve(conversation);
    case 'update':
      return await openai.conversations.update(conversation, { metadata: given.metadata as never });
    case 'erase':
      return await openai.conversations.delete(conversation);
    case 'model':
      return await openai.models.retrieve(given.model ?? 'support');
  }
}

test('a random request of the SDK of OpenAI is answered or refused with its reason, and none fails the server or hangs', async () => {
  const known: Known = { responses: [], conversations: [], calls: [], items: [] };
  const seen = new Set<unknown>();
  await fc.assert(
    fc.asyncProperty(move, async (one) => {
      try {
        const answer = await send(one, known);
        if (answer !== null && typeof answer === 'object' && Symbol.asyncIterator in answer) {
          for await (const { response = {} } of answer as AsyncIterable<{ response?: Answer }>) {
            learn(response, known);
            // The stream goes on once another response has its answers.
            if (response.metadata?.['waits_behind'] !== undefined) break;
          }
        } else learn(answer, known);
        seen.add('answered');
      } catch (error) {
        if (!(error instanceof APIError)) {
          // The SDK refuses an empty id by itself.
          expect(error).toBeInstanceOf(OpenAIError);
          return;
        }
        const { status, code, message, type } = error;
        // A failed turn is the error of a chat, or of a stream.
        if (code === 'model_failed' || code === 'answer_invalid') return;
        expect(status, `${JSON.stringify(one)}: ${message}`).toBeGreaterThanOrEqual(400);
        expect(status, `${JSON.stringify(one)}: ${message}`).toBeLessThan(500);
        expect([typeof code, typeof type, message === '']).toEqual(['string', 'string', false]);
        seen.add(status);
      }
    }),
    { numRuns: 200, endOnFailure: true },
  );
  expect([...seen]).toEqual(expect.arrayContaining(['answered', 400, 404]));
  expect(fixture.http.defects).toEqual([]);
});
