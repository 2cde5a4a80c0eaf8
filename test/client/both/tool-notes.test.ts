import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { OpenClient, TurnPart } from '../../../src/api/client/index.ts';
import type { ToolContext } from '../../../src/domain/agent.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../fixture.ts';

let fixture: Fixture;
/** Run of the tool in the next turn. */
let work: (context: ToolContext) => Promise<string> = async () => 'done';

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([
    {
      name: 'painter',
      system: '',
      policy: {},
      tools: [{ name: 'paint', description: '', input: z.object({}), run: async (_, context) => await work(context) }],
      model: scriptedModel({
        decide: ({ messages }) =>
          messages.at(-1)?.role === 'user'
            ? { toolCalls: [{ name: 'paint', arguments: {} }] }
            : { content: JSON.stringify(messages.at(-1)) },
      }),
    },
  ]);
});
afterAll(() => fixture.close());

type Body = TurnPart extends infer Part ? (Part extends TurnPart ? Omit<Part, 'id'> : never) : never;

async function readAll(client: OpenClient, conversation: string, turn: string, after?: string): Promise<Body[]> {
  const parts: Body[] = [];
  for await (const { id: _, ...part } of client.stream(conversation, turn, after === undefined ? {} : { after })) {
    parts.push(part);
  }
  return parts;
}

const notesOf = (parts: readonly Body[]): unknown[] =>
  parts.flatMap((part) => (part.type === 'progress' || part.type === 'data' ? [part] : []));

describe('notes of running tools', () => {
  test('a reader sees progress and emitted values while the tool runs, and a late reader sees the values', async () => {
    const seen = Promise.withResolvers<void>();
    onTestFinished(() => seen.resolve());
    work = async ({ progress, emit }) => {
      progress({ text: 'mixing', done: 1, total: 4 });
      emit('palette', ['red']);
      emit('sketch', { at: 1 }, 'left');
      await seen.promise;
      emit('palette', ['red', 'blue']);
      return 'done';
    };
    const { client } = fixture;
    const conversation = 'notes';
    const { turn } = await client.enqueueTurn({ conversation, agent: 'painter', input: 'go' });
    const parts: TurnPart[] = [];
    for await (const part of client.stream(conversation, turn)) {
      parts.push(part);
      if (part.type === 'data' && part.name === 'sketch') seen.resolve();
    }
    const at = { step: 1, call: 'c2_0' };
    const palette = { type: 'data', ...at, name: 'palette' };
    const sketch = { type: 'data', ...at, name: 'sketch', key: 'left', data: { at: 1 } };
    const bodies = parts.map(({ id: _, ...part }): Body => part);
    expect(notesOf(bodies)).toEqual([
      { type: 'progress', ...at, text: 'mixing', done: 1, total: 4 },
      { ...palette, data: ['red'] },
      sketch,
      { ...palette, data: ['red', 'blue'] },
    ]);
    expect(notesOf(await readAll(client, conversation, turn)), 'late').toEqual([
      { ...palette, data: ['red', 'blue'] },
      sketch,
    ]);
    const result = parts.findIndex(({ type }) => type === 'tool-result');
    expect(notesOf(await readAll(client, conversation, turn, parts[result]?.id)), 'behind the result').toEqual([]);
  });

  test('emitted values stand in the log with the result of the call, and no model reads them', async () => {
    work = async ({ emit }) => {
      emit('chart', { bars: [1, 2] });
      return 'drawn';
    };
    const { client } = fixture;
    const conversation = 'log';
    const { turn } = await client.enqueueTurn({ conversation, agent: 'painter', input: 'go' });
    const view = await client.result(conversation, turn, { waitMs: 60_000 });
    const log = await client.log(conversation);
    expect(log[2]?.message).toMatchObject({ content: 'drawn', data: [{ name: 'chart', data: { bars: [1, 2] } }] });
    expect(view.answer?.content).toContain('drawn');
  });

  test('a tool that reports wrong or too large values gets an error that names the field', async () => {
    const errors: string[] = [];
    const collect = (call: () => void): void => {
      try {
        call();
      } catch (error) {
        errors.push((error as Error).message);
      }
    };
    work = async ({ progress, emit }) => {
      collect(() => progress({ done: Number.NaN }));
      collect(() => emit('turn', 1));
      collect(() => emit('a b', 1));
      collect(() => emit('big', 'x'.repeat(20_000)));
      collect(() => emit('chart', () => 1));
      return 'done';
    };
    const { client } = fixture;
    const { turn } = await client.enqueueTurn({ conversation: 'bad', agent: 'painter', input: 'go' });
    expect(await client.result('bad', turn, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
    expect(errors).toEqual([
      expect.stringContaining('progress.done'),
      expect.stringContaining('emit.name: "turn" is reserved'),
      expect.stringContaining('emit.name: must match'),
      expect.stringContaining('emit.data: exceeds 16384'),
      expect.stringContaining('emit.data: expected JSON'),
    ]);
  });
});
