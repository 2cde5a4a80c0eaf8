import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines, runTurnfold, spawnTurnfold, writeTemporary } from './run-turnfold.ts';

const SOURCE = new URL('../../src', import.meta.url).pathname;
const CONTEXT = '{"user":"ida","plan":"gold-4711"}';

/** Answers with its system prompt, which names the user of the context. */
const agent: Agent = {
  name: 'servant',
  system: ({ user }) => `You serve ${String(user)}.`,
  tools: [],
  policy: {},
  model: scriptedModel({
    decide: ({ system, messages }) => (messages.at(-1)?.content === 'fail' ? new Error('broken') : { content: system }),
  }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;

describe('--context', () => {
  test('turnfold enqueue accepts --context as JSON or from a file, and stores the context with the turn', async () => {
    const file = await writeTemporary('context.json', '{ "user": "otto" }\n');
    const asked = ['hello', '--agent', 'servant', '--wait', '60'];
    expect(await turnfold('enqueue', 'c1', ...asked, '--context', CONTEXT)).toMatchObject({
      code: 0,
      stdout: 'You serve ida.\n',
    });
    expect(await turnfold('enqueue', 'c2', ...asked, '--context', `@${file}`)).toMatchObject({
      code: 0,
      stdout: 'You serve otto.\n',
    });
  });

  test('turnfold enqueue refuses another --context under the same turn id', async () => {
    const args = ['enqueue', 'c3', 'hello', '--agent', 'servant', '--turn', 't1', '--context'];
    expect(await turnfold(...args, CONTEXT)).toMatchObject({ code: 0 });
    expect(await turnfold(...args, CONTEXT)).toMatchObject({ code: 0 });
    expect((await turnfold(...args, '{"user":"otto"}')).stderr).toContain('turn_conflict');
  });

  test('turnfold redrive --context gives the new turn a context', async () => {
    await own.client.enqueueTurn({ conversation: 'c4', agent: 'servant', turn: 't1', input: 'fail' });
    expect(await own.client.result('c4', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'failed' });
    await turnfold('redrive', 'c4', 't1', '--wait', '60', '--context', CONTEXT);
    expect(await own.client.context('c4')).toMatchObject({ conversation: 'c4' });
    const again = await turnfold('redrive', 'c4', 't1', '--context', '{"user":"otto"}');
    expect(again.stderr, 'the context of the re-driven turn is another').toContain('operation_conflict');
    expect((await turnfold('redrive', 'c4', '--context', CONTEXT)).stderr).toMatch(
      /^turnfold: invalid_input: --context: /,
    );
  });

  test('turnfold dev --context gives every turn its context', async () => {
    const agents = `
      import { scriptedModel } from '${SOURCE}/providers/scripted.ts';
      const model = scriptedModel({ decide: ({ system }) => ({ content: system }) });
      const system = ({ user }) => 'You serve ' + user + '.';
      export const agents = [{ name: 'servant', system, tools: [], policy: {}, model }];`;
    const file = await writeTemporary('agents.ts', agents);
    const run = await spawnTurnfold(['dev', '--agents', file, '--context', CONTEXT], { input: 'hello\n/quit\n' });
    expect(run.stdout, run.stderr).toContain('You serve ida.');
    expect(run.stdout + run.stderr).not.toContain('gold-4711');
  });

  test.each([
    ['broken JSON', '{"user":"gold-4711"', 'invalid_input'],
    ['no object', '["gold-4711"]', 'invalid_input'],
    ['too large', JSON.stringify({ user: 'gold-4711'.repeat(2_000) }), 'message_too_large'],
  ])(
    'a command refuses an invalid --context (%s) with an error that names the option and not its value',
    async (_, context, code) => {
      for (const command of [['enqueue', 'c5', 'hello', '--agent', 'servant'], ['dev'], ['redrive', 'c4', 't1']]) {
        const { code: exit, stderr } = await turnfold(...command, '--context', context);
        expect(exit).toBe(1);
        expect(stderr).toMatch(new RegExp(`^turnfold: ${code}: --context: `));
        expect(stderr).not.toContain('gold-4711');
      }
      const json = await turnfold('enqueue', 'c5', 'x', '--agent', 'servant', '--json', '--context', context);
      expect(readJsonLines(json.stderr)).toMatchObject([{ error: { code, field: '--context' } }]);
    },
  );

  test('the error about --context names a file that is missing or is not JSON', async () => {
    const file = await writeTemporary('context.txt', 'gold-4711');
    const args = ['enqueue', 'c6', 'hello', '--agent', 'servant', '--context'];
    const broken = await turnfold(...args, `@${file}`);
    expect(broken.stderr).toContain(`invalid_input: --context: ${file} is not JSON`);
    expect(broken.stderr).not.toContain('gold-4711');
    expect((await turnfold(...args, `@${file}.none`)).stderr).toContain(`not_found: ${file}.none: cannot be read`);
  });

  test('the command that repeats an unconfirmed turn leaves out the value of --context', async () => {
    const env = { REDIS_URL: own.redisUrl, TURNFOLD_DURABLE_REPLICAS: '1', TURNFOLD_DURABLE_TIMEOUT_MS: '20' };
    const args = ['enqueue', 'c7', 'hello', '--agent', 'servant', '--context'];
    const { stderr } = await runTurnfold([...args, CONTEXT], { env });
    expect(stderr).toContain('accepted_unsure');
    expect(stderr).toContain(' --context …');
    expect(stderr).not.toContain('gold-4711');
  });
});
