import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines } from './run-turnfold.ts';

const WAIT = { waitMs: 60_000 };

let isBroken = true;

/** Fails every turn while `isBroken` is set. */
const agent: Agent = {
  name: 'frail',
  system: '',
  tools: [],
  policy: {},
  model: scriptedModel({
    decide: ({ messages }) =>
      isBroken ? new Error('broken') : { content: `heard ${messages.at(-1)?.content}, ${messages.length} messages` },
  }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;

async function fail(conversation: string, name = 'frail'): Promise<void> {
  isBroken = true;
  await own.client.enqueueTurn({ conversation, agent: name, turn: 't1', input: 'hello' });
  expect(await own.client.result(conversation, 't1', WAIT)).toMatchObject({ state: 'failed' });
  isBroken = false;
}

describe('failed', () => {
  test('turnfold failed lists failed turns newest first, filtered by code, age and limit', async () => {
    await fail('l1');
    await fail('l2', 'nobody');
    const { code, stdout } = await turnfold('failed', '--json');
    expect(code).toBe(0);
    expect(readJsonLines(stdout)).toMatchObject([
      { tenant: '_', conversation: 'l2', turn: 't1', agent: 'nobody', failure: { code: 'unknown_agent' } },
      { tenant: '_', conversation: 'l1', turn: 't1', agent: 'frail', failure: { code: 'model_failed' } },
    ]);
    const some = await turnfold('failed', '--code', 'model_failed', '--since', '1h');
    expect(some.stdout).toMatch(/^\d{4}-\S+ {2}l1 {2}t1 {2}model_failed: .*\n$/);
    expect(await turnfold('failed', '--since', '2100-01-01')).toMatchObject({
      stdout: '',
      stderr: 'no failed turns\n',
    });
    expect((await turnfold('failed', '--limit', '1')).stderr).toContain('only the newest 1 turns are listed');
    expect(await turnfold('failed', '--since', 'yesterday')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^turnfold: invalid_input: --since: /) as string,
    });
  });
});

describe('redrive', () => {
  test('turnfold redrive enqueues the input of a failed turn once', async () => {
    await fail('r1');
    const first = await turnfold('redrive', 'r1', 't1', '--wait', '20');
    expect(first).toMatchObject({ code: 0, stderr: '', stdout: 'heard hello, 2 messages\n' });
    const again = await turnfold('redrive', 'r1', 't1');
    expect(again.stdout).toMatch(/^redrive-[\w-]{22} {2}completed {2}\(re-driven before\)\n$/);
    const [turn = ''] = again.stdout.split(' ');
    expect(await own.client.result('r1', turn)).toMatchObject({ redriveOf: 't1' });
    expect(await own.client.result('r1', 't1')).toMatchObject({ state: 'failed', redrivenAs: turn });
    expect((await turnfold('failed')).stdout).toContain(`(re-driven as ${turn})`);
    expect((await own.client.log('r1')).map(({ message }) => message.role)).toEqual(['user', 'user', 'assistant']);

    const other = await own.client.redrive('r1', 't1', { operation: 'once-more' });
    expect(other).toMatchObject({ isNew: true });
    expect(other.turn).not.toBe(turn);
  });

  test('turnfold redrive refuses turns that did not fail or do not exist', async () => {
    isBroken = false;
    await own.client.enqueueTurn({ conversation: 'r2', agent: 'frail', turn: 't1', input: 'hello' });
    await own.client.result('r2', 't1', WAIT);
    const refused = await turnfold('redrive', 'r2', 't1');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^turnfold: turn_not_failed: turn: t1 is completed, but only a failed turn /);
    expect((await turnfold('redrive', 'r2', 't9')).stderr).toMatch(/^turnfold: not_found: turn: /);
    await expect(own.client.redrive('r2', 't1', { operation: 'a b' })).rejects.toMatchObject({
      code: 'invalid_input',
      field: 'operation',
    });
    await fail('r3');
    await own.client.erase('r3');
    await expect(own.client.redrive('r3', 't1')).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each([
    ['--wait', '5'],
    ['--operation', 'x'],
  ])(
    'turnfold redrive without a turn id, which requests a compaction pass, refuses the option %s',
    async (option, value) => {
      const run = await turnfold('redrive', 'r4', option, value);
      expect(run).toMatchObject({ code: 1, stdout: '' });
      expect(run.stderr).toContain(`invalid_input: ${option}: `);
    },
  );

  test('turnfold redrive without a turn id requests a compaction pass', async () => {
    await own.client.enqueueTurn({ conversation: 'r4', agent: 'frail', turn: 't1', input: 'hello' });
    await own.client.result('r4', 't1', WAIT);
    expect((await turnfold('redrive', 'r4')).stdout).toMatch(/^\S+ {2}pass requested\n$/);
    expect((await turnfold('redrive', 'nowhere')).stderr).toMatch(/^turnfold: not_found: /);
  });
});
