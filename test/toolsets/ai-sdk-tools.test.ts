import { jsonSchema, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aiSdkTools } from '../../src/ai-sdk.ts';
import { defineAgent, scriptedModel, type Tool, type ToolContext } from '../../src/index.ts';
import { openTestWorkers } from '../../src/testing/index.ts';
import { runTool } from './mcp/fixture.ts';

const weather = tool({
  description: 'Tells the weather.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { toolCallId }) => ({ city, celsius: 21, toolCallId }),
});

async function onlyTool(tools: Parameters<typeof aiSdkTools>[0], options = {}): Promise<Tool> {
  const [first] = await aiSdkTools(tools, options);
  if (first === undefined) throw new Error('no tool');
  return first;
}

describe('aiSdkTools', () => {
  it('an AI SDK tool runs in a turn, and its tool call id is the idempotency key', async () => {
    const model = scriptedModel({
      decide: ({ messages }) => {
        const last = messages.at(-1);
        return last?.role === 'tool'
          ? { content: last.content }
          : { content: '', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] };
      },
    });
    const agent = defineAgent({
      name: 'guide',
      system: 'Help.',
      model,
      tools: await aiSdkTools({ weather }),
      policy: {},
    });
    const workers = await openTestWorkers({ agents: [agent] });
    try {
      await workers.client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn: 't1', input: 'Oslo?' });
      const { answer } = await workers.client.result('c1', 't1', { waitMs: 10_000 });
      expect(JSON.parse(answer?.content ?? '')).toMatchObject({
        city: 'Oslo',
        celsius: 21,
        toolCallId: expect.stringContaining('c1') as string,
      });
    } finally {
      await workers.close();
    }
  });

  it('an AI SDK tool passes its JSON Schema to the model unchanged, and its own check refuses other arguments', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] } as const;
    const validate = (value: unknown) =>
      (value as { n?: unknown }).n === 1
        ? { success: true as const, value: { n: 1 } }
        : { success: false as const, error: new Error('n') };
    const given = await onlyTool({
      count: tool({ inputSchema: jsonSchema<{ n: number }>(schema, { validate }), execute: ({ n }) => n }),
    });
    expect(z.toJSONSchema(given.input)).toMatchObject(schema);
    expect(given.input.safeParse([]).success).toBe(false);
    expect(await runTool([given], 'count', { n: 1 })).toEqual({ content: '1' });
    expect(await runTool([given], 'count', { n: 2 })).toMatchObject({ isError: true });
  });

  it('the last value of an AI SDK tool that yields values is its result, and readers see each value', async () => {
    const given = await onlyTool({
      search: tool({
        inputSchema: z.object({}),
        async *execute() {
          yield 'searching';
          yield 'found';
        },
      }),
    });
    const shown: unknown[] = [];
    const emit: ToolContext['emit'] = (name, data) => void shown.push([name, data]);
    expect(await runTool([given], 'search', {}, { emit })).toEqual({ content: 'found' });
    expect(shown).toEqual([
      ['preliminary-output', 'searching'],
      ['preliminary-output', 'found'],
    ]);
  });

  it.each([
    [{ type: 'text', value: 'a' }, { content: 'a' }],
    [{ type: 'json', value: { a: 1 } }, { content: '{"a":1}' }],
    [
      { type: 'error-text', value: 'no' },
      { content: 'no', isError: true },
    ],
    [
      { type: 'error-json', value: ['no'] },
      { content: '["no"]', isError: true },
    ],
    [
      { type: 'execution-denied', reason: 'not now' },
      { content: 'denied: not now', isError: true },
    ],
    [
      { type: 'content', value: [{ type: 'text', text: 'a' }, { type: 'custom' }] },
      { content: 'a\n(a part of type custom is not shown)' },
    ],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
          { type: 'media', data: 'BBBB', mediaType: 'image/webp' },
          { type: 'image-url', url: 'https://a.example/b.png' },
          { type: 'file', data: { type: 'data', data: 'CCCC' }, mediaType: 'application/pdf', filename: 'c.pdf' },
          { type: 'file', data: { type: 'text', text: 'd' }, mediaType: 'text/plain' },
        ],
      },
      {
        content: '',
        parts: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'AAAA', mediaType: 'image/png' },
          { type: 'image', data: 'BBBB', mediaType: 'image/webp' },
          { type: 'image', url: 'https://a.example/b.png' },
          { type: 'file', data: 'CCCC', mediaType: 'application/pdf', name: 'c.pdf' },
          { type: 'text', text: 'd' },
        ],
      },
    ],
  ] as const)(
    'an AI SDK tool whose toModelOutput returns %j passes the text of this output to the model',
    async (written, expected) => {
      const given = await onlyTool({
        t: tool({
          inputSchema: z.object({}),
          execute: () => 1,
          toModelOutput: () => structuredClone(written) as never,
        }),
      });
      expect(await runTool([given], 't')).toEqual(expected);
    },
  );

  it('an AI SDK tool without execute waits for a result from outside, and needsApproval of a tool is kept', async () => {
    const given = await onlyTool(
      { ask: tool({ inputSchema: z.object({}) }) },
      { answerWithinMs: 1_000, retry: 'never' },
    );
    expect(given).toMatchObject({
      name: 'ask',
      description: '',
      answerWithinMs: 1_000,
      retry: 'never',
      needsApproval: false,
    });
    expect('run' in given).toBe(false);
    expect(
      await onlyTool({ pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 }) }),
    ).toMatchObject({ needsApproval: true });
  });

  it('aiSdkTools refuses a tool that turnfold cannot run, with the path of its field', async () => {
    const inputSchema = z.object({});
    const provider = {
      type: 'provider',
      id: 'google.google_search',
      isProviderExecuted: true,
      args: {},
      inputSchema,
    } as const;
    await expect(aiSdkTools({ web: provider })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'tools.web.type',
    });
    const byCall = tool({ inputSchema, needsApproval: () => true, execute: () => 1 });
    await expect(aiSdkTools({ byCall })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'tools.byCall.needsApproval',
    });
    const described = { inputSchema, description: () => 'now', execute: () => 1 };
    await expect(aiSdkTools({ described })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'tools.described.description',
    });
  });
});
