import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, scriptedModel } from '../../src/index.ts';
import { openTestWorkers, type TestWorkers } from '../../src/testing/index.ts';

/** Tests in the way users of turnfold write them: an agent with tools, its policy, and a service around it. */
const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Finds an order by its number.',
  input: z.object({ order: z.string() }),
  run: async ({ order }) => `Order ${order} was shipped yesterday.`,
});

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  needsApproval: true,
  run: async ({ order }) => `Refunded ${order}.`,
});

function supportAgent(tool: 'look_up_order' | 'refund') {
  const model = scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool'
        ? { content: `Done: ${last.content}` }
        : { content: '', toolCalls: [{ name: tool, arguments: { order: 'A-17' } }] };
    },
  });
  return defineAgent({
    name: 'support',
    system: 'You support customers.',
    model,
    tools: [lookUpOrder, refund],
    policy: {},
  });
}

let workers: Pick<TestWorkers, 'close'> | undefined;

afterEach(() => workers?.close());

describe('openTestWorkers', () => {
  it('openTestWorkers runs a turn, and the answer uses the results of its tools', async () => {
    const test = await openTestWorkers({ agents: [supportAgent('look_up_order')] });
    workers = test;
    await test.client.enqueueTurn({ conversation: 'c1', agent: 'support', turn: 't1', input: 'Where is A-17?' });
    const view = await test.client.result('c1', 't1', { waitMs: 10_000 });
    expect(view).toMatchObject({
      state: 'completed',
      answer: { content: 'Done: Order A-17 was shipped yesterday.' },
    });
    const log = await test.client.log('c1');
    expect(log.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('openTestWorkers suspends a turn for an approval, and continues after the service approves', async () => {
    const test = await openTestWorkers({ agents: [supportAgent('refund')] });
    workers = test;
    await test.client.enqueueTurn({ conversation: 'c1', agent: 'support', turn: 't1', input: 'Refund A-17.' });
    await test.idle();
    const { turns } = await test.client.waiting();
    const call = turns[0]?.waiting.calls[0];
    expect(call).toMatchObject({ name: 'refund' });
    await test.client.answer('c1', 't1', { [call?.id ?? '']: { approved: true } });
    await test.idle();
    expect(await test.client.result('c1', 't1')).toMatchObject({ answer: { content: 'Done: Refunded A-17.' } });
  });

  it('openTestWorkers runs a scheduled turn once advance moves the clock to its time', async () => {
    const test = await openTestWorkers({ agents: [supportAgent('look_up_order')] });
    workers = test;
    const turn = {
      conversation: 'c1',
      agent: 'support',
      turn: 't1',
      input: 'Where is A-17?',
      delayMs: 60_000,
    } as const;
    await test.client.enqueueTurn(turn);
    await test.advance(59_000);
    expect(await test.client.result('c1', 't1')).toMatchObject({ state: 'scheduled' });
    await test.advance(2_000);
    expect(await test.client.result('c1', 't1')).toMatchObject({ state: 'completed' });
  });

  it('openTestWorkers compacts a long conversation by the policy under test', async () => {
    const model = scriptedModel({ decide: () => ({ content: ' word'.repeat(300) }) });
    const policy = { maxTokens: 1_500, tokenThreshold: 2_000, retentionWindow: 2 };
    const agent = defineAgent({ name: 'writer', system: 'You write.', model, tools: [], policy });
    const test = await openTestWorkers({ agents: [agent] });
    workers = test;
    for (let turn = 1; turn <= 12; turn += 1) {
      await test.client.enqueueTurn({
        conversation: 'c1',
        agent: 'writer',
        turn: `t${turn}`,
        input: `Chapter ${turn}`,
      });
      await test.idle();
    }
    const versions = await test.client.versions('c1');
    expect(versions.length).toBeGreaterThan(0);
    expect(versions.every(({ tokensBefore, tokensAfter }) => tokensAfter < tokensBefore)).toBe(true);
    expect(test.events.some((event) => event.type === 'pass_ended' && event.outcome === 'committed')).toBe(true);
    expect(await test.client.log('c1')).toHaveLength(24);
  });

  it('openTestWorkers refuses a policy whose maxTokens is too small', async () => {
    const agent = { ...supportAgent('refund'), policy: { maxTokens: 10 } };
    await expect(openTestWorkers({ agents: [agent] })).rejects.toMatchObject({ code: 'invalid_policy' });
  });
});
