import { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nameTypedField } from '../../src/cli/typed-errors.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { eventually } from '../runtime/fixture.ts';
import { openOwnRedis } from './own-redis.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines, runTurnfold, writeTemporary } from './run-turnfold.ts';

const SOURCE = new URL('../../src', import.meta.url).pathname;
const WAIT = { waitMs: 60_000 };

/** Calls the tool that the input names, or fails at the input `fail`. */
const agent: Agent = {
  name: 'asker',
  system: '',
  tools: [
    { name: 'elsewhere', description: '', input: z.object({}) },
    { name: 'guarded', description: '', input: z.object({}), needsApproval: true, run: async () => 'ran' },
  ],
  policy: { enabled: false },
  model: scriptedModel({
    decide: ({ messages }) => {
      const said = messages.at(-1)?.content ?? '';
      if (said === 'fail') return new Error('broken');
      if (said === 'guarded' || said === 'elsewhere') return { toolCalls: [{ name: said, arguments: {} }] };
      return { content: 'heard' };
    },
  }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;

/** v1 and v2 have a settled turn, s1 a failed one, and w1 and a1 one that waits for call c2_0. */
beforeAll(async () => {
  const { client } = own;
  for (const [conversation, input] of [
    ['v1', 'hello'],
    ['v2', 'hello'],
    ['s1', 'fail'],
    ['w1', 'elsewhere'],
    ['a1', 'guarded'],
  ] as const) {
    await client.enqueueTurn({ conversation, agent: 'asker', turn: 't1', input });
    if (input === 'hello' || input === 'fail') await client.result(conversation, 't1', WAIT);
  }
  for (const id of ['w1', 'a1']) {
    await eventually(
      () => client.result(id, 't1'),
      ({ state }) => {
        if (state !== 'waiting') throw new Error(`${id} is ${state}`);
      },
    );
  }
});

interface Acknowledged {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}

async function refusalOf(args: readonly string[], env: Record<string, string> = {}): Promise<Acknowledged> {
  const run = await runTurnfold([...args, '--json'], { env: { REDIS_URL: own.redisUrl, ...env } });
  expect({ code: run.code, stdout: run.stdout }).toEqual({ code: 1, stdout: '' });
  return (JSON.parse(run.stderr) as { error: Acknowledged }).error;
}

const NO_ID = 'a b';
const AGENT = ['--agent', 'asker'];

describe('an error names the option or argument that was typed', () => {
  test.each<readonly [name: string, code: string, args: readonly string[]]>([
    ['text', 'invalid_input', ['enqueue', 'v1', '', ...AGENT]],
    ['--agent', 'invalid_input', ['enqueue', 'v1', 'hi', '--agent', NO_ID]],
    ['--turn', 'invalid_input', ['enqueue', 'v1', 'hi', ...AGENT, '--turn', NO_ID]],
    ['--turn', 'turn_conflict', ['enqueue', 'v1', 'hi', ...AGENT, '--turn', 't1']],
    ['--tenant', 'invalid_input', ['enqueue', 'v1', 'hi', ...AGENT, '--tenant', NO_ID]],
    ['--agent', 'agent_conflict', ['enqueue', 'v1', 'hi', '--agent', 'other']],
    ['conversation', 'invalid_input', ['enqueue', NO_ID, 'hi', ...AGENT]],
    ['--limit', 'invalid_input', ['turns', 'v1', '--limit', '0']],
    ['--limit', 'invalid_input', ['failed', '--limit', '20000']],
    ['--tenant', 'invalid_input', ['failed', '--tenant', NO_ID]],
    ['--code', 'invalid_input', ['failed', '--code', '']],
    ['--operation', 'invalid_input', ['redrive', 's1', 't1', '--operation', NO_ID]],
    ['--after', 'invalid_input', ['events', 'v1', '--after', 'x']],
    ['call', 'conflict', ['answer', 'w1', 't1', 'c9', '--content', 'x']],
    ['call', 'conflict', ['answer', 'v1', 't1', 'c9', '--content', 'x']],
    ['--approve', 'invalid_input', ['answer', 'w1', 't1', 'c2_0', '--approve']],
    ['turn', 'not_found', ['answer', 'v1', 't9', 'c9', '--content', 'x']],
    ['--tenant', 'invalid_input', ['show', 'v1', '--tenant', NO_ID]],
    ['--version', 'not_found', ['show', 'v1', '--version', '9']],
    ['--version', 'not_found', ['restore', 'v1', '--version', '9', '--drop']],
    ['--operation', 'invalid_input', ['restore', 'v1', '--version', '0', '--drop', '--operation', NO_ID]],
    ['--version', 'not_found', ['fork', 'v1', 'v3', '--version', '9']],
    ['--head', 'invalid_input', ['fork', 'v1', 'v3', '--head', '99']],
    ['new', 'invalid_input', ['fork', 'v1', NO_ID]],
    ['new', 'conflict', ['fork', 'v1', 'v2']],
    ['to', 'not_found', ['diff', 'v1', '0', '9']],
    ['from', 'not_found', ['diff', 'v1', '9', '0']],
    ['from', 'invalid_input', ['diff', 'v1', '1e16', '0']],
    ['conversation', 'not_found', ['approve', 'v1']],
    ['--proposal', 'invalid_input', ['approve', 'v1', '--proposal', NO_ID]],
    ['--proposal', 'proposal_stale', ['approve', 'v1', '--proposal', 'p1']],
    ['--reason', 'invalid_input', ['reject', 'v1', '--proposal', 'p1', '--reason', '']],
    ['--model', 'invalid_config', ['demo', '--model', 'nope']],
  ])('an error of a command names %s as it was typed and has the code %s: %j', async (name, code, args) => {
    const { message, ...error } = await refusalOf(args);
    expect(error).toMatchObject({ code, field: name });
    expect(message).toMatch(new RegExp(`^${name}: `));
  });

  test('an error names the API field instead of the option if that option was not typed and has no default', () => {
    const command = new Command('fork')
      .option('--version <n>')
      .option('--tenant <id>', '', '_')
      .parse([], { from: 'user' });
    const of = (field: string) => new TurnfoldError('not_found', `${field}: is no longer kept`, { field });
    expect(nameTypedField(of('version'), command)).toMatchObject({ message: 'version: is no longer kept' });
    expect(nameTypedField(of('tenant'), command)).toMatchObject({ message: '--tenant: is no longer kept' });
  });

  test('turnfold dev refuses an invalid --conversation before it starts anything', async () => {
    const run = await runTurnfold(['dev', '--conversation', NO_ID]);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/^turnfold: invalid_input: --conversation: /);
  });

  test.each([
    [
      ['w1', 't1', 'c2_0', '--approve'],
      '--approve: turn t1 waits for a tool result, but the command gives an approval. Use --content or --file.',
    ],
    [
      ['a1', 't1', 'c2_0', '--content', 'x'],
      '--content: turn t1 waits for an approval, but the command gives a tool result. Use --approve or --deny.',
    ],
  ])('the error of answer names the option that the waiting turn needs: %j', async (args, message) => {
    expect(await refusalOf(['answer', ...args])).toMatchObject({ code: 'invalid_input', message });
  });

  test('the error of answer names --file if the file is too large', async () => {
    const file = await writeTemporary('big.txt', 'x'.repeat(1_100_000));
    const error = await refusalOf(['answer', 'w1', 't1', 'c2_0', '--file', file]);
    expect(error).toMatchObject({ code: 'message_too_large', field: '--file' });
  });

  test('the error of rollback names the turn if the restored context would exceed the hard limit', async () => {
    const module = `import { scriptedModel } from '${SOURCE}/providers/scripted.ts';
      const model = scriptedModel({ window: 8, decide: () => ({ content: '' }) });
      const profile = { ...model.profile, windowTokens: 10, outputCapTokens: 5 };
      export const agents = [{ name: 'asker', system: '', tools: [], policy: {}, model: { ...model, profile } }];`;
    const agents = await writeTemporary('agents.ts', module);
    const messages = [{ role: 'user' as const, content: 'so much '.repeat(100) }];
    await own.client.append({ conversation: 'v4', agent: 'asker', messages });
    await own.client.enqueueTurn({ conversation: 'v4', agent: 'asker', turn: 't1', input: 'hello' });
    await own.client.result('v4', 't1', WAIT);
    const error = await refusalOf(['rollback', 'v4', 't1', '--agents', agents]);
    expect(error).toMatchObject({ code: 'over_hard_limit', field: 'turn' });
  });

  test('turnfold import reports an invalid option once, and an invalid id as a field of the file', async () => {
    const messages = [{ role: 'user', content: 'hello' }];
    const file = await writeTemporary('talks.jsonl', [
      { id: NO_ID, messages },
      { id: 'i1', messages },
    ]);
    expect(await refusalOf(['import', file, '--agent', NO_ID])).toMatchObject({ field: '--agent' });
    expect(await refusalOf(['import', file, ...AGENT, '--tenant', NO_ID])).toMatchObject({ field: '--tenant' });
    const run = await turnfold('import', file, ...AGENT, '--json');
    expect(run.code).toBe(1);
    expect(readJsonLines(run.stdout)).toMatchObject([
      { id: NO_ID, error: { code: 'invalid_input', field: 'id' } },
      { id: 'i1', messages: 1 },
    ]);
    const refusedAs = async (id: string, ofAgent: string) => {
      const other = await writeTemporary('talks.jsonl', [{ id, messages }]);
      const { stdout } = await turnfold('import', other, '--agent', ofAgent, '--json');
      return readJsonLines(stdout)[0];
    };
    expect(await refusedAs('v1', 'asker')).toMatchObject({ error: { code: 'conflict', field: 'id' } });
    expect(await refusedAs('v1', 'other')).toMatchObject({ error: { code: 'agent_conflict', field: '--agent' } });
  });

  test('an error names the environment variable of a durability that Redis does not support', async () => {
    const { url } = await openOwnRedis('--appendonly', 'no');
    const error = await refusalOf(['show', 'v1'], { REDIS_URL: url, TURNFOLD_DURABLE_FSYNC: 'local' });
    expect(error).toMatchObject({ code: 'invalid_config', field: 'TURNFOLD_DURABLE_FSYNC' });
  });
});
