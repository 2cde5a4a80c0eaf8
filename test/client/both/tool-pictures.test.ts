import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../../src/domain/message.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { PIXEL } from '../../fakes/contents.ts';
import { type Fixture, openFixture } from '../fixture.ts';

let fixture: Fixture;
/** Result of the tool in the next turn. */
let output: object = {};
let seen: Message | undefined;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([
    {
      name: 'seer',
      system: '',
      policy: {},
      tools: [
        { name: 'shoot', description: '', input: z.object({}), run: async () => output },
        { name: 'ask', description: '', input: z.object({}) },
      ],
      model: scriptedModel({
        decide: ({ messages }) => {
          const last = messages.at(-1);
          if (last?.role === 'user') return { toolCalls: [{ name: last.content, arguments: {} }] };
          seen = last;
          return { content: 'seen' };
        },
      }),
    },
  ]);
});
afterAll(() => fixture.close());

async function answer(conversation: string, input = 'shoot') {
  const { client } = fixture;
  const { turn } = await client.enqueueTurn({ conversation, agent: 'seer', input });
  return { turn, view: await client.result(conversation, turn, { waitMs: 60_000 }) };
}

describe('images in results of tools', () => {
  test('texts and images of a result reach the model, the log and readers in their order', async () => {
    const image = { type: 'image', data: Buffer.from(PIXEL, 'base64'), mediaType: 'image/png' };
    output = { content: 'before', parts: [{ type: 'text', text: 'first:' }, image, { type: 'text', text: 'end' }] };
    const { turn, view } = await answer('shots');
    expect(view.state).toBe('completed');
    const stored = [
      { type: 'text', text: 'before' },
      { type: 'text', text: 'first:' },
      { ...image, data: PIXEL },
      { type: 'text', text: 'end' },
    ];
    expect(seen).toMatchObject({ role: 'tool', content: 'before\nfirst:\nend', parts: stored });
    const [, , logged] = await fixture.client.log('shots');
    expect(logged?.message.parts).toEqual(stored);
    expect(logged?.tokens, 'the image is counted').toBeGreaterThan(5);
    const results: unknown[] = [];
    for await (const part of fixture.client.stream('shots', turn)) {
      if (part.type === 'tool-result') results.push(part.parts);
    }
    expect(results).toEqual([stored]);
  });

  test('images beyond the limit of a result become notes, and a long text keeps its start and end', async () => {
    const image = { type: 'image', url: 'https://pictures.example/a.png' };
    output = { content: 'x '.repeat(40_000), parts: Array.from({ length: 9 }, () => image) };
    await answer('many');
    const parts = (seen?.parts ?? []) as { type: string; text?: string }[];
    expect(parts.filter(({ type }) => type === 'image').length).toBeLessThan(9);
    expect(parts.at(-1)?.text).toContain('an image of about');
    expect(seen?.content).toContain('[clipped: ');
  });

  test('an image that no provider can read makes the result an error that names the part', async () => {
    output = { content: '', parts: [{ type: 'image', data: 'AAAA', mediaType: 'image/png' }] };
    await answer('broken');
    expect(seen).toMatchObject({ isError: true, content: expect.stringContaining('result.parts[0]') as string });
  });

  test('an object whose parts are no texts, images or files is JSON', async () => {
    output = { content: 'order 7', parts: [{ id: 4_711, count: 2 }] };
    await answer('json');
    expect(seen?.content).toBe(JSON.stringify(output));
    expect(seen?.parts).toBeUndefined();
  });

  test('an answer from outside brings images, and is refused with the part that cannot be read', async () => {
    const { client } = fixture;
    const { turn } = await client.enqueueTurn({ conversation: 'outside', agent: 'seer', input: 'ask' });
    for await (const part of client.stream('outside', turn)) if (part.type === 'wait') break;
    const give = (data: string) =>
      client.answer('outside', turn, {
        c2_0: { content: 'here', parts: [{ type: 'image', data, mediaType: 'image/png' }] },
      });
    await expect(give('AAAA')).rejects.toMatchObject({ code: 'invalid_input', field: 'answers.c2_0.parts[0]' });
    expect(await give(PIXEL)).toBe('answered');
    expect(await give(PIXEL), 'again').toBe('answered');
    await client.result('outside', turn, { waitMs: 60_000 });
    expect(seen?.parts).toHaveLength(2);
  });
});
