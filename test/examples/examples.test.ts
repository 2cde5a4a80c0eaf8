import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { agents as supportAgents } from '../../examples/support.ts';
import { agents as workspaceAgents } from '../../examples/workspace.ts';
import { useOwnWorkers } from '../cli/own-workers.ts';

const WAIT = { waitMs: 20_000 };

test('each example file has a test in this file', () => {
  const examples = readdirSync(new URL('../../examples', import.meta.url)).filter((name) => name.endsWith('.ts'));
  expect(examples.toSorted()).toEqual(['support.ts', 'workspace.ts']);
});

describe('the workspace example', () => {
  const own = useOwnWorkers(...workspaceAgents);

  test.each([
    ['list examples', 'support.ts'],
    ['read package.json', '"name": "turnfold"'],
    ['read ../secret', 'is outside the workspace'],
    ['hello', 'Ask me'],
  ])('the workspace example answers "%s"', async (input, answer) => {
    const { turn } = await own.client.enqueueTurn({ conversation: 'files', agent: 'workspace', input });
    const view = await own.client.result('files', turn, WAIT);
    expect(view).toMatchObject({ state: 'completed', answer: { content: expect.stringContaining(answer) as string } });
  });
});

describe('the support example', () => {
  const own = useOwnWorkers(...supportAgents);

  async function ask(input: string): Promise<string> {
    const context = { customer: 'Ada' };
    return (await own.client.enqueueTurn({ conversation: 'shop', agent: 'support', input, context })).turn;
  }

  async function answerCall(turn: string, answer: { content: string } | { approved: boolean }): Promise<void> {
    await expect.poll(async () => (await own.client.result('shop', turn)).state).toBe('waiting');
    const { waiting } = await own.client.result('shop', turn);
    await own.client.answer('shop', turn, { [waiting?.calls[0]?.id ?? '']: answer });
  }

  test('the support example looks up an order', async () => {
    const view = await own.client.result('shop', await ask('Where is o-17?'), WAIT);
    expect(view.answer?.content).toContain('"state":"delivered"');
  });

  test.each([
    [{ approved: true }, 'refunded o-17'],
    [{ approved: false }, 'denied'],
  ])('the support example asks for approval before a refund: %j', async (decision, answer) => {
    const turn = await ask('Please refund o-17');
    await answerCall(turn, decision);
    expect((await own.client.result('shop', turn, WAIT)).answer?.content).toContain(answer);
  });

  test('the support example waits for a person who answers a difficult question', async () => {
    const turn = await ask('Is wool warm?');
    await answerCall(turn, { content: 'Very warm.' });
    expect((await own.client.result('shop', turn, WAIT)).answer?.content).toBe('Here is the result: Very warm.');
  });
});
