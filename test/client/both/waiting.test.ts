import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { TurnPart } from '../../../src/api/client/index.ts';
import type { Agent } from '../../../src/domain/agent.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { type Fixture, failureOf, isOverHttp, openFixture } from '../fixture.ts';

const WAIT = { timeout: 60_000 };
const input = z.object({ order: z.string() });

/** Calls the tools that the input names, each with an order, and repeats their results. */
const clerk: Agent = {
  name: 'clerk',
  system: '',
  policy: {},
  tools: [
    { name: 'ask', description: 'answered from outside', input },
    { name: 'soon', description: 'answered from outside within seconds', input, answerWithinMs: 4_000 },
    { name: 'refund', description: 'has to be allowed', input, needsApproval: true, run: async () => 'paid back' },
  ],
  model: scriptedModel({
    decide: ({ messages }) => {
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
      if (results.length > 0) return { content: results.map(({ content }) => content).join(' | ') };
      const names = messages[asked]?.content.split(',') ?? [];
      const toolCalls = names.map((name, at) => ({ name, arguments: { order: `o-${at}` } }));
      return { content: 'Let me see.', toolCalls };
    },
  }),
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([clerk]);
});
afterAll(() => fixture.close());

test('agents lists the agents that running workers have, with their number and roles', async () => {
  expect(await fixture.client.agents()).toEqual([
    { agent: 'clerk', workers: 1, roles: ['compaction', 'summarization', 'turn'] },
  ]);
  const idle = await openFixture();
  onTestFinished(() => idle.close());
  expect(await idle.client.agents()).toEqual([]);
});

async function ask(conversation: string, tools: string, tenant = '_'): Promise<void> {
  await fixture.client.enqueueTurn({ conversation, tenant, agent: 'clerk', input: tools, turn: 't1' });
  const state = async () => (await fixture.client.result({ tenant, conversation }, 't1')).state;
  await expect.poll(state, WAIT).toBe('waiting');
}

const REFUND = { id: 'c2_0', name: 'refund', arguments: '{"order":"o-0"}' };

describe('a turn that waits for a decision', () => {
  test('result, openTurns and describe show name, arguments and deadline of each awaited call', async () => {
    await ask('w-views', 'refund');
    const { waiting } = await fixture.client.result('w-views', 't1');
    const { since = 0 } = waiting ?? {};
    const until = since + 604_800_000;
    const call = { ...REFUND, input: REFUND.arguments, hash: expect.any(String), until };
    expect(waiting).toEqual({ for: 'approval', step: 'model-1', since, until, calls: [call] });
    expect((await fixture.client.openTurns('w-views')).turns[0]?.waiting).toEqual(waiting);
    expect((await fixture.client.describe('w-views')).openCalls).toEqual([expect.objectContaining(REFUND)]);
  });

  test('a turn that starts to wait emits an event with the kind and the deadline', async () => {
    await ask('w-event', 'refund');
    const { waiting } = await fixture.client.result('w-event', 't1');
    const events = [];
    for await (const event of fixture.client.events('w-event', { after: '0', waitMs: 0 })) events.push(event);
    expect(events).toEqual([
      expect.objectContaining({
        type: 'turn_waiting',
        turn: 't1',
        for: 'approval',
        until: waiting?.until,
        calls: waiting?.calls,
      }),
    ]);
  });

  test('a stream reports a wait once, between the text before and after the wait', async () => {
    await fixture.client.enqueueTurn({ conversation: 'w-stream', agent: 'clerk', input: 'refund', turn: 't1' });
    const parts: TurnPart[] = [];
    for await (const part of fixture.client.stream('w-stream', 't1', { waitMs: 60_000 })) {
      parts.push(part);
      if (part.type !== 'wait') continue;
      expect(part.waiting).toMatchObject({ for: 'approval', calls: [REFUND] });
      await fixture.client.answer('w-stream', 't1', { c2_0: { approved: true } });
    }
    const kinds = parts.map((part) => part.type).filter((kind, at, all) => kind !== all[at - 1]);
    expect(kinds.filter((kind) => kind === 'wait' || kind === 'end')).toEqual(['wait', 'end']);
    expect(parts.at(-1)).toMatchObject({ view: { state: 'completed', answer: { content: 'paid back' } } });
  });

  test.skipIf(isOverHttp())(
    'client.waiting lists a turn by tenant and kind of wait, with the arguments of its calls, until the turn is answered',
    async () => {
      await ask('w-listed', 'refund', 'acme');
      await ask('w-outside', 'ask', 'acme');
      const list = async (options: object) =>
        (await fixture.client.waiting(options)).turns.map(({ conversation: id }) => id).toSorted();
      expect(await list({ tenant: 'acme' })).toEqual(['w-listed', 'w-outside']);
      expect(await list({ tenant: 'acme', for: 'tools' })).toEqual(['w-outside']);
      expect(await list({ for: 'approval' })).toContain('w-listed');
      const [listed] = (await fixture.client.waiting({ tenant: 'acme', for: 'approval' })).turns;
      expect(listed).toMatchObject({
        tenant: 'acme',
        conversation: 'w-listed',
        turn: 't1',
        agent: 'clerk',
        waiting: { for: 'approval', calls: [REFUND] },
      });
      if (listed === undefined) throw new Error('the turn is not listed');
      await fixture.client.answer(listed, listed.turn, { c2_0: { approved: false, why: 'no' } });
      expect(await list({ tenant: 'acme' })).toEqual(['w-outside']);
    },
  );
});

test('a tool call gets a timeout result at its deadline, and the turn keeps waiting for its other call', async () => {
  await ask('w-deadlines', 'soon,ask');
  const first = (await fixture.client.result('w-deadlines', 't1')).waiting;
  expect(first?.calls.map(({ until }) => until - (first?.since ?? 0))).toEqual([4_000, 604_800_000]);
  const calls = async () => (await fixture.client.result('w-deadlines', 't1')).waiting?.calls;
  await expect.poll(calls, WAIT).toEqual([first?.calls[1]]);
  const results = (await fixture.client.log('w-deadlines')).filter(({ message }) => message.role === 'tool');
  expect(results).toMatchObject([{ message: { toolCallId: 'c2_0', content: expect.stringMatching(/^timeout: /) } }]);
  await fixture.client.answer('w-deadlines', 't1', { c2_1: { content: 'blue' } });
  const { answer } = await fixture.client.result('w-deadlines', 't1', { waitMs: 60_000 });
  expect(answer?.content).toMatch(/^timeout: .* \| blue$/);
});

describe('the list of conversations', () => {
  test.skipIf(isOverHttp())(
    'conversations lists the conversations of a tenant, an agent or a state, in pages',
    async () => {
      const tenant = 'pages';
      for (const id of ['a', 'b', 'c']) {
        const messages = [{ role: 'user' as const, content: 'x' }];
        await fixture.client.append({ conversation: id, tenant, agent: 'clerk', messages });
      }
      await ask('d', 'ask', tenant);
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await fixture.client.conversations({ tenant, limit: 3, ...(after !== undefined && { after }) });
        found.push(...page.conversations.map(({ conversation }) => conversation));
        after = page.next;
      } while (after !== undefined);
      expect(found.toSorted()).toEqual(['a', 'b', 'c', 'd']);
      const [waiting, ...others] = (await fixture.client.conversations({ tenant, state: 'waiting' })).conversations;
      expect(others).toEqual([]);
      expect(waiting).toMatchObject({ tenant, conversation: 'd', agent: 'clerk', waitsFor: 'tools', mailbox: 1 });
      expect((await fixture.client.conversations({ tenant, agent: 'nobody' })).conversations).toEqual([]);
      await fixture.client.erase({ tenant, conversation: 'd' });
      expect((await fixture.client.conversations({ tenant })).conversations).toHaveLength(3);
      expect((await fixture.client.waiting({ tenant })).turns).toEqual([]);
    },
  );

  test.each<[string, () => Promise<unknown>]>([
    ['after', () => fixture.client.conversations({ after: 'nowhere' })],
    ['after', () => fixture.client.waiting({ after: '_/retry/a/b' })],
    ['state', () => fixture.client.conversations({ state: 'asleep' as 'idle' })],
    ['for', () => fixture.client.waiting({ for: 'retry' as 'tools' })],
    ['limit', () => fixture.client.conversations({ limit: 0 })],
    ['tenant', () => fixture.client.waiting({ tenant: 'a|b' })],
  ])('client.conversations and client.waiting refuse an invalid %s', async (field, call) => {
    expect((await failureOf(call)).error).toMatchObject({ code: 'invalid_input', field });
  });
});
