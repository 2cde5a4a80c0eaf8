import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { runTurnfold, writeTemporary } from './run-turnfold.ts';

let isBroken = false;

/** An agent whose passes wait for approval. */
const agent: Agent = {
  name: 'reviewed',
  system: '',
  tools: [],
  policy: { mode: 'review', messageThreshold: 6, retentionWindow: 2 },
  model: scriptedModel({ decide: () => (isBroken ? new Error('broken') : { content: 'done' }) }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;

/** Runs a command whose write a replica would have to confirm, without replicas. @returns the command to repeat */
async function runUnconfirmed(...args: string[]): Promise<string> {
  return (await readUnconfirmed(args)).command;
}

/** @returns the command to repeat, and the typed name that the error begins with */
async function readUnconfirmed(args: readonly string[]): Promise<{ readonly named: string; readonly command: string }> {
  const env = { REDIS_URL: own.redisUrl, TURNFOLD_DURABLE_REPLICAS: '1', TURNFOLD_DURABLE_TIMEOUT_MS: '20' };
  const run = await runTurnfold(args, { env });
  expect(run).toMatchObject({ code: 1, stdout: '' });
  const expected =
    /^turnfold: (?:\S+: )?accepted_unsure: (.*)the write succeeded, but 0 of 1 replicas confirmed it in time\. To check again, run: turnfold (.*)\n$/;
  expect(run.stderr).toMatch(expected);
  const [, named = '', command = ''] = expected.exec(run.stderr) ?? [];
  return { named, command };
}

async function appendSequences(conversation: string): Promise<void> {
  const said = (part: number) => ({ role: 'assistant' as const, content: `part ${part} ${'and so on '.repeat(300)}` });
  const asked = { role: 'user' as const, content: 'go on' };
  const messages = [asked, said(1), said(2), asked, said(3), said(4), asked, said(5)];
  await own.client.append({ conversation, agent: 'reviewed', messages });
}

async function untilProposed(conversation: string): Promise<string> {
  await expect.poll(() => own.client.proposal(conversation), { timeout: 60_000 }).toMatchObject({ isDecided: false });
  return (await own.client.proposal(conversation))?.proposal ?? '';
}

async function untilVersion(conversation: string, version: number): Promise<void> {
  const live = async (): Promise<number> => (await own.client.describe(conversation)).size.version;
  await expect.poll(live, { timeout: 60_000 }).toBe(version);
}

describe('a command with an unconfirmed write', () => {
  test.each(['approve', 'reject'])(
    'turnfold %s with an unconfirmed write prints a command that repeats the decision on the same proposal',
    async (verb) => {
      const id = `u-${verb}`;
      await appendSequences(id);
      const proposal = await untilProposed(id);
      const again = await runUnconfirmed(verb, id, '--wait', '0');
      expect(again).toMatch(new RegExp(`^${verb} ${id} --wait 0 --proposal ${proposal} --operation \\S+$`));
      await expect.poll(() => own.client.proposal(id), { timeout: 60_000 }).toBeUndefined();
      if (verb === 'approve') await untilVersion(id, 1);
      await appendSequences(id);
      const next = await untilProposed(id);
      const outcome = verb === 'approve' ? 'approved, version 1' : 'rejected';
      expect(await turnfold(...again.split(' '))).toEqual({ code: 0, stdout: `${id}  ${outcome}\n`, stderr: '' });
      expect(await own.client.proposal(id)).toMatchObject({ proposal: next, isDecided: false });
    },
  );

  test('turnfold restore and turnfold rollback with an unconfirmed write print a command that creates no second version', async () => {
    const id = 'u-restore';
    await own.client.append({ conversation: id, agent: 'reviewed', messages: [{ role: 'user', content: 'hello' }] });
    await own.client.enqueueTurn({ conversation: id, agent: 'reviewed', turn: 't1', input: 'hello' });
    await own.client.result(id, 't1', { waitMs: 60_000 });
    const restored = await runUnconfirmed('restore', id, '--version', '0', '--keep');
    expect(restored).toMatch(/^restore u-restore --version 0 --keep --operation \S+$/);
    expect((await turnfold(...restored.split(' '))).stdout).toMatch(/^u-restore {2}version 1 /);
    const rolledBack = await runUnconfirmed('rollback', id, 't1');
    expect(rolledBack).toMatch(/^rollback u-restore t1 --operation \S+$/);
    expect((await turnfold(...rolledBack.split(' '))).stdout).toMatch(/^u-restore {2}version 2 /);
    expect(await own.client.versions(id)).toHaveLength(2);
  });

  test('turnfold enqueue with an unconfirmed write prints a shell-quoted command that creates no second turn', async () => {
    const again = await runUnconfirmed('enqueue', 'u-turn', "it's here", '--agent', 'reviewed', '--tenant', 'acme');
    const [, turn = ''] =
      /^enqueue u-turn 'it'\\''s here' --tenant acme --agent reviewed --turn (\S+)$/.exec(again) ?? [];
    const args = ['enqueue', 'u-turn', "it's here", '--tenant', 'acme', '--agent', 'reviewed', '--turn', turn];
    expect((await turnfold(...args, '--json')).stdout).toContain('"isNew":false');
  });

  test('the error of an unconfirmed write contains an id only if the person typed that id', async () => {
    const typed = ['enqueue', 'u-named', 'hi', '--agent', 'reviewed', '--turn', 't9'];
    expect(await readUnconfirmed(typed.slice(0, 5))).toMatchObject({ named: '' });
    expect(await readUnconfirmed(typed)).toMatchObject({ named: '--turn: t9: ' });
    expect(await readUnconfirmed(['fork', 'u-named', 'u-copy'])).toMatchObject({ named: '' });
    expect(await readUnconfirmed(['cancel', 'u-named', 't9'])).toMatchObject({ named: 'turn: t9: ' });
  });

  test('turnfold import with an unconfirmed write prints the same command to repeat', async () => {
    const messages = [{ role: 'user', content: 'hello' }];
    const file = await writeTemporary('talks.jsonl', [{ id: 'u-import', messages }]);
    const args = ['import', file, '--agent', 'reviewed'];
    expect(await readUnconfirmed(args)).toEqual({ named: '', command: args.join(' ') });
    expect(await turnfold(...args)).toMatchObject({ code: 0, stdout: 'u-import  1 messages\n' });
  });

  test('in the printed command to repeat, an argument that looks like an option stands after --', async () => {
    const again = await runUnconfirmed('enqueue', '--agent', 'reviewed', '--', 'u-dash', '-x');
    const [, turn = ''] = /^enqueue --agent reviewed --turn (\S+) -- u-dash -x$/.exec(again) ?? [];
    expect((await turnfold(...again.split(' '))).stdout).toMatch(new RegExp(`^${turn} {2}`));
  });

  test.each([
    ['redrive', '', ['redrive', 'u-same', 't1']],
    ['fork', '', ['fork', 'u-same', 'u-other', '--head', '1']],
    ['cancel', 'turn: t1: ', ['cancel', 'u-same', 't1']],
    ['erase', 'conversation: u-same: ', ['erase', 'u-same', '--yes']],
  ])('turnfold %s with an unconfirmed write prints the same command to repeat', async (_, named, args) => {
    isBroken = true;
    await own.client.enqueueTurn({ conversation: 'u-same', agent: 'reviewed', turn: 't1', input: 'hello' });
    await own.client.result('u-same', 't1', { waitMs: 60_000 });
    isBroken = false;
    expect(await readUnconfirmed(args)).toEqual({ named, command: args.join(' ') });
  });
});
