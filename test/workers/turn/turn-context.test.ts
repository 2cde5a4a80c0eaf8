import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineTool, type SystemFunction, type Tool } from '../../../src/domain/agent.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture, type FixtureOptions, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const context = '{"plan":"pro","user":"u1"}';
const CALL: ScriptedAnswer = { toolCalls: [{ id: 'call_0', name: 'look', arguments: {} }] };

/** A model that calls the tool `look` once per turn, and then answers "done". Its requests are in `asked`. */
function openModel() {
  const asked: ModelRequest[] = [];
  const model = scriptedModel({
    decide: (request) => {
      asked.push(request);
      return request.messages.at(-1)?.role === 'tool' ? { content: 'done' } : CALL;
    },
  });
  return { asked, model };
}

function lookTool(run: NonNullable<Tool['run']>, more: Partial<Tool> = {}): Tool[] {
  return [defineTool({ name: 'look', description: 'looks', input: z.object({}), run, ...more })];
}

async function accept(world: Fixture, turn: string, given?: string): Promise<void> {
  const input = await world.agent.weigh({ role: 'user', content: 'Hi' });
  const common = { conversation: ref, turn, agent: 'guide', input, payloadHash: turn, maxQueuedTurns: 100 };
  await world.store.accept({ ...common, wake: world.nextId(), ...(given !== undefined && { context: given }) });
}

async function open(system: Agent['system'], options: Partial<FixtureOptions> = {}) {
  const { asked, model } = openModel();
  const world = await Fixture.open({ model, system, tools: lookTool(async () => 'seen'), ...options });
  return { asked, world };
}

it('each tool gets its own copy of the context that a caller passed with the turn, and the model never gets it', async () => {
  const seen: unknown[] = [];
  const run: Tool['run'] = async (_, call) => {
    seen.push(structuredClone(call.context));
    (call.context as Record<string, unknown>)['user'] = 'changed';
    return 'seen';
  };
  const { asked, world } = await open('You guide.', { tools: lookTool(run) });
  for (const [turn, given] of [
    ['t1', context],
    ['t2', undefined],
    ['t3', context],
  ] as const) {
    await accept(world, turn, given);
    await world.deliver();
  }
  expect(seen).toStrictEqual([{ plan: 'pro', user: 'u1' }, {}, { plan: 'pro', user: 'u1' }]);
  expect(JSON.stringify([asked, world.events, await world.readLog()])).not.toContain('u1');
});

it('an agent’s system function writes the prompt from the caller’s context, once per turn', async () => {
  let runs = 0;
  const system: SystemFunction = async ({ user = 'nobody' }) => {
    runs += 1;
    return `You guide ${String(user)}, ${runs}.`;
  };
  const { asked, world } = await open(system);
  await accept(world, 't1', context);
  await accept(world, 't2');
  await world.deliver();
  expect(asked.map(({ system: sent }) => sent)).toStrictEqual([
    'You guide u1, 1.',
    'You guide u1, 1.',
    'You guide nobody, 2.',
    'You guide nobody, 2.',
  ]);
});

it('a turn that continues at another worker keeps its system prompt', async () => {
  let runs = 0;
  const { asked, world } = await open(() => `Prompt ${(runs += 1)}.`, { tools: lookTool(undefined as never) });
  await accept(world, 't1');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'waiting' });
  await world.resume('t1', { c2_0: { content: 'seen' } });
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(asked.map(({ system }) => system)).toStrictEqual(['Prompt 1.', 'Prompt 1.']);
});

it('the computed size of a request includes the turn’s system prompt, and ignores token counts that providers reported for another prompt', async () => {
  const { asked, world } = await open(({ user }) => (user === 'u1' ? 'Guide. '.repeat(200) : 'Guide.'));
  await accept(world, 't1', context);
  await accept(world, 't2');
  await world.deliver();
  const [first, , second] = asked.map(({ tokens }) => tokens);
  expect(first).toBeGreaterThan(400);
  expect(second).toBeLessThan(150);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('no such user');
    },
    /no such user/,
  ],
  ['returns a number', () => 7 as never, /must return text, but returned number/],
  ['returns 1 MiB and one byte', () => 'x'.repeat(1_048_577), /1048577 bytes, but its limit is 1048576 bytes/],
] as const)('only the current turn fails when the system function of its agent %s', async (_, system, why) => {
  const { asked, world } = await open(system);
  await accept(world, 't1');
  await world.deliver();
  expect(asked).toStrictEqual([]);
  expect(await world.view('t1')).toMatchObject({
    state: 'failed',
    failure: { code: 'system_failed', message: expect.stringMatching(why) as string },
  });
});

it('a turn fails if the system function of its agent exceeds the time limit of a step', async () => {
  const { world } = await open(() => new Promise<string>(() => undefined));
  await accept(world, 't1');
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(600_000);
  await delivered;
  expect(await world.view('t1')).toMatchObject({ state: 'failed', failure: { code: 'system_failed' } });
});

it('a call of a tool with its own time limit is answered with a timeout at that limit, and the tool’s signal aborts', async () => {
  let isAborted = false;
  const run: Tool['run'] = (_, { signal }) => {
    signal.addEventListener('abort', () => {
      isAborted = true;
    });
    return new Promise<string>(() => undefined);
  };
  const { world } = await open('You guide.', { tools: lookTool(run, { timeoutMs: 50 }) });
  await accept(world, 't1');
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(50);
  await delivered;
  expect(isAborted).toBe(true);
  expect((await world.readLog()).find(({ role }) => role === 'tool')).toMatchObject({
    content: 'timeout: the call did not end within its timeout of 50 ms',
    isError: true,
  });
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});
