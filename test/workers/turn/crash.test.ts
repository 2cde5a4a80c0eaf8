import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import type { Message } from '../../../src/domain/message.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { bindPort, ignoreCrash, type When, WorkerDeath } from '../worker-death.ts';
import { Fixture } from './fixture.ts';

const tools = [
  defineTool({
    name: 'read',
    description: '',
    input: z.object({ path: z.string() }),
    run: async ({ path }) => `text of ${path}`,
  }),
  defineTool({ name: 'remove', description: '', input: z.object({}), needsApproval: true, run: async () => 'removed' }),
  defineTool({ name: 'ask', description: '', input: z.object({}) }),
] as Tool[];

const read = (path: string) => ({ name: 'read', arguments: { path } });

/** The answer depends only on the request, so that a repeated step gets the same answer. */
function decide({ messages, idempotencyKey }: ModelRequest): ScriptedAnswer {
  const step = Number(/model-(\d+)$/.exec(idempotencyKey)?.[1]);
  if (!idempotencyKey.includes('/t1/')) return { content: `second answer, ${messages.length} messages` };
  const rounds: ScriptedAnswer[] = [
    { content: 'Let me see.', toolCalls: [read('a'), read('b'), { name: 'write', arguments: {} }] },
    { toolCalls: [{ name: 'ask', arguments: {} }, read('c'), { name: 'remove', arguments: {} }] },
    { content: `first answer, ${messages.length} messages` },
  ];
  return rounds[step - 1] ?? { content: 'too many steps' };
}

function bindToDeath(death: () => WorkerDeath): (ports: TurnPorts) => TurnPorts {
  return (ports) => ({
    ...ports,
    turns: bindPort(ports.turns, death),
    contexts: bindPort(ports.contexts, death),
    passes: bindPort(ports.passes, death),
    takeover: bindPort(ports.takeover, death),
    wakes: bindPort(ports.wakes, death),
  });
}

interface Run {
  readonly world: Fixture;
  readonly hasCrashed: boolean;
}

/** Runs two turns from acceptance to their end. After a worker dies, another one continues. */
async function play(at: number, when: When): Promise<Run> {
  let death = new WorkerDeath(at, when);
  let hasCrashed = false;
  const model = scriptedModel({ profile: { windowTokens: 1_500, outputCapTokens: 500 }, decide });
  const mortal = {
    ...model,
    generate: (request: ModelRequest) => death.pass(() => model.generate(request)),
  };
  const mortalTools = tools.map(
    (tool): Tool =>
      tool.run === undefined
        ? tool
        : { ...tool, run: (input, context) => death.pass(async () => tool.run?.(input, context) ?? '') },
  );
  const world = await Fixture.open({
    model: mortal,
    tools: mortalTools,
    policy: { turnThreshold: 1 },
    wrap: bindToDeath(() => death),
  });
  // Long enough that the second turn is over the hard limit and must wait for a compaction pass.
  await world.accept('t1', ' word'.repeat(700));
  await world.accept('t2', ' word'.repeat(300));
  for (let delivery = 0; (await world.view('t2'))?.state !== 'completed'; delivery += 1) {
    if (delivery === 20) throw new Error('20 deliveries did not settle both turns');
    await world.deliver().catch(ignoreCrash);
    if (death.hasHappened) {
      hasCrashed = true;
      death = new WorkerDeath();
      world.db.advance(8_001);
    }
    await bringWhatIsAwaited(world);
  }
  return { world, hasCrashed };
}

async function bringWhatIsAwaited(world: Fixture): Promise<void> {
  for (const turn of ['t1', 't2']) {
    const { waiting } = (await world.view(turn)) ?? {};
    if (waiting?.for === 'compaction') await world.endPass(1);
    const answer = waiting?.for === 'approval' ? { approved: true } : { content: 'blue' };
    const calls = waiting?.calls ?? [];
    if (calls.length > 0) await world.resume(turn, Object.fromEntries(calls.map(({ id }) => [id, answer])));
  }
}

/** A log without ids and times. The results of one tool round are in the order of their calls. */
function normalize(log: readonly Message[]): unknown[] {
  const byCall = new Map(log.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])));
  return log
    .filter(({ role }) => role !== 'tool')
    .map(({ role, content, toolCalls = [] }) => ({
      role,
      content,
      calls: toolCalls.map(({ id, name, arguments: text }) => {
        const { content: result, isError } = byCall.get(id) ?? {};
        return { name, text, result, isError };
      }),
    }));
}

it.each(['before', 'after'] as const)(
  'the log of a conversation is the same if a worker dies at any await, %s the awaited call has its effect',
  async (when) => {
    const reference = await play(0, 'before');
    expect(reference.hasCrashed).toBe(false);
    const expected = normalize(await reference.world.readLog());
    expect(expected).toHaveLength(6);
    const waits = reference.world.eventsOf('turn_suspended').map((event) => event.for);
    expect(waits).toEqual(['approval', 'tools', 'compaction']);
    let at = 1;
    for (; ; at += 1) {
      const { world, hasCrashed } = await play(at, when);
      if (!hasCrashed) break;
      const label = `death ${when} await ${at}`;
      expect(normalize(await world.readLog()), label).toEqual(expected);
      const results = (await world.readLog()).filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId);
      expect(new Set(results).size, `${label}: each call answered once`).toBe(results.length);
      expect(await world.view('t1'), label).toMatchObject({ state: 'completed' });
      expect(await world.countTimers(), label).toBe(0);
    }
    expect(at, 'awaits at which a worker died').toBeGreaterThan(30);
  },
);

/** A worker dies inside a tool call, and another worker continues. */
async function crashInside(retry: 'safe' | 'never'): Promise<{ world: Fixture; keys: string[] }> {
  const keys: string[] = [];
  let death = new WorkerDeath();
  const pay = defineTool({
    name: 'pay',
    description: '',
    input: z.object({}),
    retry,
    run: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length === 1) death = new WorkerDeath(1, 'before');
      return death.pass(async () => 'paid');
    },
  });
  const model = scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool' ? { content: last.content } : { toolCalls: [{ name: 'pay', arguments: {} }] };
    },
  });
  const world = await Fixture.open({ model, tools: [pay] as Tool[], wrap: bindToDeath(() => death) });
  await world.accept('t1', 'Pay.');
  await world.deliver().catch(ignoreCrash);
  death = new WorkerDeath();
  world.db.advance(8_001);
  await world.deliver();
  return { world, keys };
}

it('a tool call that was started before a crash runs again with the same idempotency key', async () => {
  const { world, keys } = await crashInside('safe');
  expect(keys).toEqual(['_/talk/t1/1700000000000/c2_0', '_/talk/t1/1700000000000/c2_0']);
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'paid' } });
});

it('a tool call that was started before a crash gets the answer “outcome unknown” if its tool must not run twice', async () => {
  const { world, keys } = await crashInside('never');
  expect(keys).toHaveLength(1);
  expect(await world.view('t1')).toMatchObject({
    state: 'completed',
    answer: { content: expect.stringMatching(/^outcome_unknown: /) },
  });
});
