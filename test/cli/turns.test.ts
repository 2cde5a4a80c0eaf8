import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines, writeTemporary } from './run-turnfold.ts';

/** Calls the tool that the input names, and repeats its result. */
const agent: Agent = {
  name: 'asker',
  system: '',
  tools: [
    { name: 'elsewhere', description: '', input: z.object({}) },
    { name: 'guarded', description: '', input: z.object({}), needsApproval: true, run: async () => 'it ran' },
  ],
  policy: { conversationTtl: 3_600_000 },
  model: scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { content: `heard: ${last.content}` };
      return { toolCalls: [{ name: last?.content ?? '', arguments: {} }] };
    },
  }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;

/** A turn that waits for its call. */
async function ask(conversation: string, tool: 'elsewhere' | 'guarded'): Promise<void> {
  await own.client.enqueueTurn({ conversation, agent: 'asker', turn: 't1', input: tool });
  await expect
    .poll(async () => (await own.client.result(conversation, 't1')).state, { timeout: 60_000 })
    .toBe('waiting');
}

describe('result and answer', () => {
  test('turnfold result shows the call that a turn waits for, answer sends its result, and result --wait prints the answer', async () => {
    await ask('a1', 'elsewhere');
    const waiting = await turnfold('result', 'a1', 't1');
    expect(waiting).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^t1 {2}waiting {2}for tools, until 20\S+Z\n {2}c2_0 {2}elsewhere\(\{\}\)\n$/),
    });
    const brought = await turnfold('answer', 'a1', 't1', 'c2_0', '--content', 'a parcel');
    expect(brought).toMatchObject({ code: 0, stdout: 't1  continues\n' });
    expect(await turnfold('result', 'a1', 't1', '--wait', '20')).toMatchObject({
      code: 0,
      stdout: 'heard: a parcel\n',
    });
  });

  test('turnfold answer reads the tool result from a file, and --error marks the result as an error', async () => {
    await ask('a2', 'elsewhere');
    const file = await writeTemporary('result.txt', 'no such parcel');
    const brought = await turnfold('answer', 'a2', 't1', 'c2_0', '--file', file, '--error', '--json');
    expect(readJsonLines(brought.stdout)).toEqual([
      { tenant: '_', conversation: 'a2', turn: 't1', outcome: 'answered' },
    ]);
    await own.client.result('a2', 't1', { waitMs: 60_000 });
    expect((await own.client.log('a2')).at(2)?.message).toMatchObject({ content: 'no such parcel', isError: true });
  });

  test.each([
    ['--approve', [], 'heard: it ran'],
    ['--deny', ['too late today'], 'too late today'],
  ])('turnfold answer %s decides on a call that needs approval', async (option, more, said) => {
    const conversation = `guarded${option}`;
    await ask(conversation, 'guarded');
    expect(await turnfold('answer', conversation, 't1', 'c2_0', option, ...more)).toMatchObject({ code: 0 });
    const { answer } = await own.client.result(conversation, 't1', { waitMs: 60_000 });
    expect(answer?.content).toContain(said);
  });

  test('turnfold answer fails without a result or decision, and with contradicting options', async () => {
    for (const options of [[], ['--approve', '--deny'], ['--approve', '--error']]) {
      const run = await turnfold('answer', 'a1', 't1', 'c2_0', ...options);
      expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('invalid_input: --content: ') });
    }
    const settled = await turnfold('answer', 'a1', 't9', 'c2_0', '--approve');
    expect(settled.stderr).toContain('not_found: ');
  });
});

test('turnfold cancel settles a waiting turn, and exits with 1 for a completed turn', async () => {
  await ask('k1', 'elsewhere');
  expect(await turnfold('cancel', 'k1', 't1')).toMatchObject({ code: 0, stdout: 't1  canceled\n' });
  expect(await own.client.result('k1', 't1')).toMatchObject({ state: 'canceled' });
  await ask('k2', 'guarded');
  await own.client.answer('k2', 't1', { c2_0: { approved: true } });
  await own.client.result('k2', 't1', { waitMs: 60_000 });
  expect(await turnfold('cancel', 'k2', 't1')).toMatchObject({ code: 1, stdout: 't1  completed\n' });
});

describe('turns', () => {
  const later = { delayMs: 3_600_000 };

  test('turnfold turns lists open turns in order, with the command that answers the first one', async () => {
    await ask('o1', 'guarded');
    await own.client.enqueueTurn({ conversation: 'o1', agent: 'asker', turn: 't3', input: 'later', ...later });
    await own.client.enqueueTurn({ conversation: 'o1', agent: 'asker', turn: 't2', input: 'next' });
    const listed = await turnfold('turns', 'o1');
    const hash = (await own.client.result('o1', 't1')).waiting?.calls[0]?.hash;
    const advice = `turnfold answer o1 t1 c2_0 --hash ${hash} --approve (or --deny)\n`;
    expect(listed).toMatchObject({ code: 0, stderr: advice });
    expect(listed.stdout.split('\n')).toEqual([
      expect.stringMatching(/^t1 {2}waiting {2}for approval, until 20\S+ {2}accepted 20\S+Z$/),
      '  c2_0  guarded({})',
      expect.stringMatching(/^t2 {2}queued {2}accepted 20\S+Z$/),
      expect.stringMatching(/^t3 {2}scheduled {2}for 20\S+Z {2}accepted 20\S+Z$/),
      '',
    ]);
    const described = await turnfold('describe', 'o1');
    expect(described.stdout).toMatch(/^ {2}turn +t1 {2}waiting {2}for approval, until 20/m);
    expect(described.stdout).toMatch(/^ {2}behind it +1 queued$/m);
    expect(described.stdout).toMatch(/^ {2}scheduled +1 \(/m);
    const { turns } = await own.client.openTurns('o1');
    const json = await turnfold('turns', 'o1', '--json');
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(readJsonLines(json.stdout)).toEqual(turns.map((turn) => ({ tenant: '_', conversation: 'o1', ...turn })));
    const [state] = readJsonLines((await turnfold('describe', 'o1', '--json')).stdout);
    expect(state).toMatchObject({ openTurns: { turns: [{ turn: 't1' }], mailbox: 2, scheduled: 1 } });
  });

  test('turnfold result --wait names the turn that a queued turn waits behind, with the command that answers it', async () => {
    await ask('behind', 'guarded');
    await own.client.enqueueTurn({ conversation: 'behind', agent: 'asker', turn: 't2', input: 'next' });
    const hash = (await own.client.result('behind', 't1')).waiting?.calls[0]?.hash;
    const waited = await turnfold('result', 'behind', 't2', '--wait', '1');
    expect(waited.stderr).toContain('t2 is queued behind t1:\n');
    expect(waited.stderr).toContain(`turnfold answer behind t1 c2_0 --hash ${hash} --approve (or --deny)\n`);
  });

  test('turnfold answer refuses a hash that belongs to another call, and shows who has already decided the call differently', async () => {
    await ask('o3', 'guarded');
    const answer = async (...options: string[]) => await turnfold('answer', 'o3', 't1', 'c2_0', ...options);
    expect(await answer('--hash', 'of-another-call', '--approve')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the hash does not belong to the call that turn t1 now has under this id'),
    });
    expect(await answer('--deny', '--by', 'ann')).toMatchObject({ code: 0 });
    expect(await answer('--approve')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the call was denied by ann'),
    });
  });

  test('turnfold turns lists at most --limit turns of one tenant', async () => {
    const conversation = 'o2';
    for (const turn of ['t1', 't2']) {
      await own.client.enqueueTurn({ conversation, tenant: 'acme', agent: 'asker', turn, input: 'later', ...later });
    }
    expect(await turnfold('turns', 'o2', '--tenant', 'acme', '--limit', '1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^t1 {2}scheduled {2}[^\n]*\n$/),
      stderr: 'first 1 of 2 turns (--limit up to 1000)\n',
    });
    expect((await turnfold('describe', 'o2', '--tenant', 'acme')).stdout).toMatch(
      /^ {2}turn +t1 {2}scheduled {2}for 20/m,
    );
    for (const turn of ['t1', 't2']) await own.client.cancel({ tenant: 'acme', conversation }, turn);
    expect(await turnfold('turns', 'o2', '--tenant', 'acme')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no open turns\n',
    });
    expect((await turnfold('describe', 'o2', '--tenant', 'acme')).stdout).toMatch(/^ {2}turn +none open$/m);
    expect((await turnfold('turns', 'o2')).stderr).toContain('not_found: conversation: ');
    expect((await turnfold('turns', 'o2', '--limit', '0')).stderr).toContain('invalid_input: --limit: ');
  });
});

describe('lists over all conversations', () => {
  test('the command waiting lists the awaited calls with their arguments, by tenant and kind', async () => {
    await own.client.enqueueTurn({ conversation: 'w1', tenant: 'lists', agent: 'asker', turn: 't1', input: 'guarded' });
    const state = async () => (await own.client.result({ tenant: 'lists', conversation: 'w1' }, 't1')).state;
    await expect.poll(state, { timeout: 60_000 }).toBe('waiting');
    const listed = await turnfold('waiting', '--tenant', 'lists');
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('turnfold turns <conversation>') });
    expect(listed.stdout.split('\n')).toEqual([
      'w1  t1  of tenant lists',
      expect.stringMatching(/^ {2}asker waits for approval since 20/),
      '  c2_0  guarded({})',
      expect.stringMatching(/^ {4}until 20/),
      '',
    ]);
    const [entry] = (await own.client.waiting({ tenant: 'lists' })).turns;
    const json = await turnfold('waiting', '--tenant', 'lists', '--json');
    expect(readJsonLines(json.stdout)).toEqual([{ ...entry, tenant: 'lists', conversation: 'w1' }]);
    expect(await turnfold('waiting', '--tenant', 'lists', '--for', 'tools')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no turns wait for a tool result or an approval\n',
    });
    expect((await turnfold('waiting', '--for', 'luck')).stderr).toContain('invalid_input: --for: ');
  });

  test('turnfold conversations prints a table of at most 100 columns, or pages with --after', async () => {
    const tenant = 'pages';
    for (const id of ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'b', 'c']) {
      const messages = [{ role: 'user' as const, content: 'x' }];
      await own.client.append({ conversation: id, tenant, agent: 'asker', messages });
    }
    const listed = await turnfold('conversations', '--tenant', tenant);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const lines = listed.stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^conversation +agent +state +messages +open +last message +last turn +title$/);
    expect(lines).toHaveLength(4);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    const first = await turnfold('conversations', '--tenant', tenant, '--limit', '2', '--json');
    const [, after = ''] = /--after (\S+)/.exec(first.stderr) ?? [];
    const second = await turnfold('conversations', '--tenant', tenant, '--after', after, '--json');
    const ids = [first, second].flatMap(({ stdout }) =>
      readJsonLines(stdout).map(({ conversation }) => String(conversation)),
    );
    expect(ids.toSorted()).toEqual(['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'b', 'c']);
    expect((await turnfold('conversations', '--state', 'asleep')).stderr).toContain('invalid_input: --state: ');
  });
});

test('turnfold erase of a missing conversation prints a note and exits with 0', async () => {
  await own.client.enqueueTurn({
    conversation: 'x1',
    tenant: 'acme',
    agent: 'asker',
    turn: 't1',
    input: 'x',
    delayMs: 3_600_000,
  });
  const elsewhere = await turnfold('erase', 'x1', '--yes');
  expect(elsewhere).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'tenant _ has no conversation x1 (--tenant names another tenant)\n',
  });
  expect(await own.client.describe({ tenant: 'acme', conversation: 'x1' })).toMatchObject({ agent: 'asker' });
  const erased = await turnfold('erase', 'x1', '--yes', '--tenant', 'acme');
  expect(erased).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^x1 {2}erased \(\d+ Redis keys\)\n$/),
    stderr: '',
  });
  expect(await turnfold('erase', 'x1', '--yes', '--tenant', 'acme')).toEqual(erased);
  const json = await turnfold('erase', 'nobody', '--yes', '--json');
  expect(json).toMatchObject({
    code: 0,
    stdout: '{"tenant":"_","conversation":"nobody","removedKeys":0}\n',
    stderr: '',
  });
});

test('turnfold describe prints the state of a conversation, and erase --yes removes the conversation', async () => {
  await ask('d1', 'elsewhere');
  const described = await turnfold('describe', 'd1');
  expect(described.code).toBe(0);
  expect(described.stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['d1'],
    ['agent', 'asker'],
    ['title', 'elsewhere'],
    ['created', expect.stringMatching(/^20[-\d]+ [:\d]+, last message 20[-\d]+ [:\d]+$/)],
    ['log', expect.stringMatching(/^2 messages \(1 from users\), \d+ tokens$/)],
    ['context', expect.stringMatching(/^version 0, \d+ tokens without system prompt and tools$/)],
    ['last pass', 'none'],
    ['pass', 'none in progress'],
    ['turn', 't1', 'waiting', expect.stringMatching(/^for tools, until 20/)],
    ['open call', 'c2_0', 'elsewhere({}), of t1'],
    ['What was done'],
    ['calls', '0 worked, 0 failed, 1 without a result'],
    [''],
  ]);
  const { tokens } = await own.client.context('d1');
  expect(described.stdout, 'the size that turnfold show prints').toContain(`version 0, ${tokens} tokens `);
  await own.client.answer('d1', 't1', { c2_0: { content: 'a parcel' } });
  await own.client.result('d1', 't1', { waitMs: 60_000 });
  expect((await turnfold('describe', 'd1')).stdout).toMatch(
    /^ {2}idle TTL +3600 s without work, then the conversation is erased$/m,
  );
  expect(await turnfold('erase', 'd1')).toMatchObject({ code: 1, stderr: expect.stringContaining("option '--yes'") });
  expect(await own.client.describe('d1')).toMatchObject({ head: 4 });
  expect(await turnfold('erase', 'd1', '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^d1 {2}erased \(/),
  });
  expect((await turnfold('describe', 'd1')).stderr).toContain('not_found: ');
});
