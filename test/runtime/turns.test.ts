import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { QUEUES } from '../../src/jobs/queues.ts';
import { agentOf, countSteps, toolOf, words } from './agents.ts';
import { eventsOf, eventually, openFixture, settled } from './fixture.ts';

const fixture = await openFixture();
afterAll(() => fixture.close());

describe('turns', () => {
  it('turns run in order within a conversation, and in parallel across conversations', async () => {
    const open = new Set<string>();
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const decide = async ({ idempotencyKey, messages }: ModelRequest) => {
      const [, conversation = ''] = idempotencyKey.split('/');
      expect(open.has(conversation), 'one at a time').toBe(false);
      open.add(conversation);
      most = Math.max(most, open.size);
      // No model answers before all conversations have started.
      if (open.size === 4) gate.resolve();
      await gate.promise;
      open.delete(conversation);
      return { content: `answer to ${messages.at(-1)?.content}` };
    };
    await fixture.useWorkers(agentOf({ decide }));
    const names = ['o1', 'o2', 'o3', 'o4'];
    for (let turn = 1; turn <= 6; turn += 1) {
      for (const name of names) await fixture.enqueue(name, `t${turn}`, `${turn}`);
    }
    for (const name of names) {
      await settled(fixture, name, 't6');
      const log = await fixture.client.log(name);
      const expected = [1, 2, 3, 4, 5, 6].flatMap((turn) => [`${turn}`, `answer to ${turn}`]);
      expect(log.map(({ message }) => message.content)).toEqual(expected);
    }
    expect(most).toBe(4);
  });

  it('the idempotency key of a tool call differs between tenants, and after an erase', async () => {
    const seen: Omit<ToolContext, 'signal' | 'context' | 'progress' | 'emit'>[] = [];
    const tools = [
      defineTool({
        name: 'pay',
        description: '',
        input: z.object({}),
        run: async (_, { tenant, conversation, turn, idempotencyKey }) => {
          seen.push({ tenant, conversation, turn, idempotencyKey });
          return 'paid';
        },
      }),
    ];
    const decide = (request: ModelRequest) =>
      countSteps(request) === 0 ? { toolCalls: [{ name: 'pay', arguments: {} }] } : { content: 'done' };
    await fixture.useWorkers(agentOf({ decide, tools }));
    const pay = async (tenant: string): Promise<void> => {
      const name = { tenant, conversation: 'order' };
      await fixture.client.enqueueTurn({ tenant, conversation: 'order', turn: 't1', agent: 'guide', input: 'pay' });
      expect(await fixture.client.result(name, 't1', { waitMs: 25_000 })).toMatchObject({ state: 'completed' });
    };
    await pay('acme');
    await pay('globex');
    await fixture.client.erase({ tenant: 'acme', conversation: 'order' });
    await pay('acme');
    expect(seen.map(({ tenant }) => tenant)).toEqual(['acme', 'globex', 'acme']);
    expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
  });

  it('turns fail one after the other if no worker knows their agent', async () => {
    await fixture.useWorkers(agentOf());
    const turns = ['t1', 't2'];
    for (const turn of turns) await fixture.enqueue('u1', turn, 'hello', 'stranger');
    for (const turn of turns) {
      expect(await settled(fixture, 'u1', turn)).toMatchObject({
        state: 'failed',
        failure: { code: 'unknown_agent', details: { agent: 'stranger' } },
      });
    }
  });

  it('the sweeper starts turns whose queue job was lost', async () => {
    await fixture.closeWorkers();
    await fixture.enqueue('w1', 't1', 'hello');
    await fixture.enqueue('w1', 't2', 'hello again');
    const queue = fixture.openRaw(QUEUES.turn);
    await queue.obliterate({ force: true });
    expect(await queue.getJobCountByTypes('waiting', 'prioritized', 'delayed', 'active')).toBe(0);
    await fixture.useWorkers(agentOf());
    expect(await settled(fixture, 'w1', 't2')).toMatchObject({ state: 'completed' });
    expect(await fixture.client.log('w1')).toHaveLength(4);
  });

  it('a turn that a provider delays four times does not fail as poison', async () => {
    let refusals = 0;
    const decide = () => {
      if (refusals === 4) return { content: 'at last' };
      refusals += 1;
      return new ModelError('retry', 'rate limited', { retryAt: Date.now() });
    };
    const running = await fixture.useWorkers(agentOf({ decide }));
    await fixture.enqueue('r1', 't1', 'hello');
    expect(await settled(fixture, 'r1', 't1')).toMatchObject({ state: 'completed', answer: { content: 'at last' } });
    expect(eventsOf(running, 'turn_suspended')).toHaveLength(4);
    expect(eventsOf(running, 'turn_claimed').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
  });

  it('a worker writes each of a hundred tool calls of a turn to the log before the next call, and the conversation is compacted meanwhile', async () => {
    const decide = (request: ModelRequest) =>
      countSteps(request) < 100 ? { toolCalls: [{ name: 'look', arguments: {} }] } : { content: 'seen all' };
    let calls = 0;
    const heads: number[] = [];
    const look = toolOf('look', async () => {
      calls += 1;
      if (calls % 25 === 0) heads.push((await fixture.client.describe('h1')).head);
      return words(100);
    });
    const profile = { windowTokens: 6_000, outputCapTokens: 1_000 };
    await fixture.useWorkers(agentOf({ decide, tools: [look], profile, maxSteps: 300 }));
    await fixture.enqueue('h1', 't1', 'look at everything');
    const view = await settled(fixture, 'h1', 't1');
    expect(view).toMatchObject({ state: 'completed', answer: { content: 'seen all' } });
    expect(heads, 'each call before the next').toEqual([50, 100, 150, 200]);
    expect(await fixture.client.log('h1')).toHaveLength(202);
    expect((await fixture.client.versions('h1')).length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...view.requestTokens)).toBeLessThanOrEqual(5_000);
  });
});

describe('an erase', () => {
  it('after an erase, the old worker writes nothing to a new conversation under the same id', async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let isFirst = true;
    const decide = async ({ messages }: ModelRequest) => {
      if (!isFirst) return { content: `second life of ${messages.length}` };
      isFirst = false;
      asked.resolve();
      await gate.promise;
      return { content: 'too late' };
    };
    const running = await fixture.useWorkers(agentOf({ decide }));
    await fixture.enqueue('e1', 't1', 'forget me');
    await asked.promise;
    await fixture.client.erase('e1');
    await expect(fixture.client.log('e1')).rejects.toMatchObject({ code: 'not_found' });

    await fixture.enqueue('e1', 't1', 'once more');
    expect(await settled(fixture, 'e1', 't1')).toMatchObject({ answer: { content: 'second life of 1' } });
    gate.resolve();
    await eventually(
      () => eventsOf(running, 'lease_lost'),
      (lost) => expect(lost).toMatchObject([{ what: 'turn', conversation: 'e1' }]),
    );
    expect((await fixture.client.log('e1')).map(({ message }) => message.content)).toEqual([
      'once more',
      'second life of 1',
    ]);
  });
});
