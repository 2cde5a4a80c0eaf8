import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { importFile } from '../../src/cli/commands/transfer.ts';
import { createWorkspaceAgent } from '../../src/cli/demo/workspace-agent.ts';
import type { Message } from '../../src/domain/message.ts';
import { useOwnWorkers } from './own-workers.ts';
import { collectOutput, readJsonLines, runTurnfold, tracePath, writeTemporary } from './run-turnfold.ts';
import { AGENTS } from './worker-process.ts';

const own = useOwnWorkers(createWorkspaceAgent(process.cwd()));
const { turnfold } = own;

async function readOne(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await turnfold(...args, '--json');
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  const lines = readJsonLines(stdout);
  expect(lines).toHaveLength(1);
  return lines[0] ?? {};
}

describe('enqueue', () => {
  test('turnfold enqueue accepts a turn once by its id, and refuses another text under that id', async () => {
    const args = ['enqueue', 'e1', 'hello', '--agent', 'workspace', '--turn', 't1'];
    expect(await readOne(...args)).toMatchObject({ conversation: 'e1', turn: 't1', isNew: true });
    expect(await readOne(...args)).toMatchObject({ turn: 't1', isNew: false });
    const conflict = await turnfold('enqueue', 'e1', 'hullo', '--agent', 'workspace', '--turn', 't1');
    expect(conflict).toMatchObject({ code: 1, stdout: '' });
    expect(conflict.stderr).toMatch(/^turnfold: turn_conflict: --turn: t1 /);
  });

  test('turnfold enqueue --wait prints the answer', async () => {
    const run = await turnfold('enqueue', 'e2', 'list src/jobs', '--agent', 'workspace', '--wait', '20');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('queues.ts');
  });

  test('turnfold enqueue --stream prints the text of each step and the answer once', async () => {
    const args = ['enqueue', 'e5', 'list src/jobs', '--agent', 'workspace', '--stream'];
    const { code, stdout } = await turnfold(...args);
    expect(code).toBe(0);
    expect(stdout.match(/queues\.ts/g)).toHaveLength(1);
    const { stdout: json } = await turnfold(...args, '--json', '--turn', 't2');
    const parts = readJsonLines(json);
    expect(parts.at(-1)).toMatchObject({ type: 'end', view: { turn: 't2', state: 'completed' } });
    expect(parts.slice(0, -1).map(({ type }) => type)).not.toContain('end');
  });

  test('turnfold enqueue --stream prints the failure of a turn and exits with 1', async () => {
    const run = await turnfold('enqueue', 'e6', 'hello', '--agent', 'nobody', '--stream');
    expect(run).toMatchObject({ code: 1, stdout: expect.stringMatching(/failed {2}unknown_agent: /) as string });
  });

  test('turnfold enqueue --wait exits with 1 if the turn fails', async () => {
    const run = await turnfold('enqueue', 'e3', 'hello', '--agent', 'nobody', '--wait', '20');
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/failed {2}unknown_agent: /);
  });

  test('turnfold enqueue --json names the invalid argument', async () => {
    const { code, stderr } = await turnfold('enqueue', 'a:b', 'hello', '--agent', 'workspace', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'invalid_input', field: 'conversation' } });
  });
});

describe('import and export', () => {
  const messages = (id: string): Message[] => [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Which files?' },
    { role: 'assistant', content: '', toolCalls: [{ id, name: 'list', arguments: '{"path": "."}' }] },
    { role: 'tool', content: 'README.md', toolCallId: id, isError: true },
    { role: 'assistant', content: 'One: README.md', pinned: true },
  ];

  test('turnfold export returns the imported messages with new call ids', async () => {
    const file = await writeTemporary('talk.jsonl', [{ id: 'i1', messages: messages('mine') }]);
    expect(await readOne('import', file, '--agent', 'workspace')).toStrictEqual({ id: 'i1', messages: 5 });
    const exported = await readOne('export', 'i1');
    const expected = messages('c3_0');
    expected[2] = {
      ...(expected[2] as Message),
      toolCalls: [{ id: 'c3_0', name: 'list', arguments: '{"path": "."}', providerId: 'mine' }],
    };
    expect(exported).toStrictEqual({ id: 'i1', messages: expected });
  });

  test('turnfold export --to writes the conversation in the format of another program, which import reads', async () => {
    const file = await writeTemporary('talk.jsonl', [{ id: 'i9', messages: messages('mine') }]);
    await readOne('import', file, '--agent', 'workspace');
    const written = await readOne('export', 'i9', '--to', 'anthropic');
    expect(written).toMatchObject({
      system: [{ text: 'Be brief.' }],
      messages: [{}, { content: [{ type: 'tool_use', name: 'list' }] }, {}, {}],
    });
    const back = await writeTemporary('i10.json', JSON.stringify(written));
    expect(await readOne('import', back, '--agent', 'workspace')).toMatchObject({ id: 'i10', messages: 5 });
    expect(await turnfold('export', 'i9', '--to', 'word')).toMatchObject({ code: 1 });
  });

  test('a repeated turnfold import changes nothing, and turnfold import refuses other messages under the same conversation id', async () => {
    const file = await writeTemporary('talk.jsonl', [{ id: 'i2', messages: messages('mine') }]);
    for (const _ of [1, 2]) expect(await turnfold('import', file, '--agent', 'workspace')).toMatchObject({ code: 0 });
    expect(await readOne('show', 'i2')).toMatchObject({ head: 5 });

    const other = await writeTemporary('talk.jsonl', [{ id: 'i2', messages: messages('mine').slice(0, 2) }]);
    const run = await turnfold('import', other, '--agent', 'workspace', '--json');
    expect(run.code).toBe(1);
    expect(readJsonLines(run.stdout)).toMatchObject([
      { id: 'i2', error: { code: 'conflict', field: 'id', details: { head: 5 } } },
    ]);
    expect(run.stderr).toBe(
      'turnfold: i2: conflict: id: i2 exists already with 5 messages. Use another id or another tenant.\n',
    );
    expect(await readOne('show', 'i2')).toMatchObject({ head: 5 });
  });

  test('turnfold import reports that another writer appended during a long import', async () => {
    const { client } = own;
    const one: Message = { role: 'user', content: 'And?' };
    const file = await writeTemporary('long.jsonl', [{ id: 'i5', messages: Array.from({ length: 501 }, () => one) }]);
    const interrupted: TurnfoldClient = {
      ...client,
      async append(input) {
        const appended = await client.append(input);
        await client.append({ conversation: 'i5', agent: 'workspace', messages: [one] });
        return appended;
      },
    };
    const { output, printed } = collectOutput();
    const options = { agent: 'workspace', tenant: '_' };
    expect(await importFile({ client: interrupted, output, wordError: (error) => error }, file, options)).toBe(1);
    expect(printed.stderr).toBe(
      'turnfold: i5: conflict: id: another writer appended to i5 during the import. 500 of its 501 messages were imported.\n',
    );
  });

  test('turnfold import of a file with some invalid conversations creates the valid ones', async () => {
    const orphan = { id: 'i3', messages: [{ role: 'tool', content: 'x', toolCallId: 'nobody' }] };
    const empty = { id: 'i9', messages: [] };
    const file = await writeTemporary('talks.jsonl', [orphan, empty, { id: 'i4', messages: messages('mine') }]);
    const run = await turnfold('import', file, '--agent', 'workspace');
    expect(run).toMatchObject({ code: 1, stdout: 'i4  5 messages\n' });
    expect(run.stderr).toContain('i3: orphan_result: messages[0].toolCallId');
    expect(run.stderr).toContain('i9: invalid_input: messages: ');
    expect((await turnfold('show', 'i3')).stderr).toMatch(/^turnfold: not_found: conversation: no conversation i3/);
  });

  test('turnfold import --tenant creates a conversation apart from the same id of another tenant', async () => {
    const file = await writeTemporary('talk.jsonl', [{ id: 'i1', messages: messages('mine').slice(0, 2) }]);
    expect(await turnfold('import', file, '--agent', 'workspace', '--tenant', 'acme')).toMatchObject({ code: 0 });
    expect(await readOne('show', 'i1', '--tenant', 'acme')).toMatchObject({ head: 2 });
    expect(await readOne('show', 'i1')).toMatchObject({ head: 5 });
  });

  test.for(['coding_sweagent', 'tau2_retail'])(
    'turnfold import and turnfold export keep the messages and calls of a recorded conversation of %s',
    async (name, { skip }) => {
      const path = tracePath(name);
      if (!existsSync(path)) skip(`${path} is not here`);
      const [line = ''] = (await readFile(path, 'utf8')).split('\n');
      const file = await writeTemporary('one.jsonl', line);
      const imported = await turnfold('import', file, '--agent', 'workspace', '--json');
      expect(imported).toMatchObject({ code: 0, stderr: '' });
      const { id, messages: recorded } = JSON.parse(line) as { id: string; messages: Message[] };
      const exported = (await readOne('export', id))['messages'] as Message[];
      expect(exported.map(withoutCallIds)).toStrictEqual(recorded.map(withoutCallIds));
      expect(callGraph(exported)).toStrictEqual(callGraph(recorded));
    },
  );
});

function withoutCallIds({ toolCallId: _, toolCalls, ...message }: Message): unknown {
  return { ...message, calls: toolCalls?.map(({ name, arguments: given }) => ({ name, arguments: given })) };
}

/** For each result in order: index of the message with its call, and index of the call. */
function callGraph(messages: readonly Message[]): string[] {
  const made = new Map<string, string>();
  return messages.flatMap((message, position) => {
    message.toolCalls?.forEach(({ id }, index) => made.set(id, `${position}/${index}`));
    return message.toolCallId === undefined ? [] : [made.get(message.toolCallId) ?? 'nobody'];
  });
}

describe('show and versions', () => {
  test('versions, show and diff describe a compacted conversation as text and as JSON', async () => {
    const talk = Array.from({ length: 16 }, (_, turn) => [
      { role: 'user', content: `question ${turn}` },
      { role: 'assistant', content: `thought ${turn} ${'and so on '.repeat(100)}` },
      { role: 'assistant', content: `answer ${turn} ${'and so forth '.repeat(100)}` },
    ]).flat();
    const file = await writeTemporary('talk.jsonl', [{ id: 's1', messages: talk }]);
    await turnfold('import', file, '--agent', 'workspace');
    await expect
      .poll(async () => (await turnfold('versions', 's1', '--json')).stdout, { timeout: 60_000 })
      .not.toBe('');

    const versions = readJsonLines((await turnfold('versions', 's1', '--json')).stdout);
    expect(versions[0]).toMatchObject({ number: 1, parent: 0, strategy: 'summarize', reasons: ['token_threshold'] });
    const table = (await turnfold('versions', 's1')).stdout.split('\n');
    expect(table[0]).toMatch(/^version {2}strategy {3}reasons +archived {2}tokens before → after/);
    expect(table[1]).toMatch(/^1 {8}summarize {2}token_threshold +\d+ +\d+ → \d+/);

    expect(await readOne('show', 's1', '--version', '1')).toMatchObject({ conversation: 's1', version: 1, head: 48 });
    const shown = (await turnfold('show', 's1')).stdout;
    expect(shown).toMatch(
      /^s1 {2}version \d+, head 48, \d+ tokens in \d+ messages, system prompt and tools not counted\n/,
    );
    expect(shown).toMatch(/\n +2-3 {2}summary +\d+ {2}/);
    expect((await turnfold('show', 's1', '--full')).stdout.length).toBeGreaterThan(shown.length);
    expect((await turnfold('diff', 's1', '0', '1')).stdout).toMatch(/^ +2-3 {2}raw +→ summary\n/);
    expect(await readOne('diff', 's1', '1', '0')).toMatchObject({
      conversation: 's1',
      from: 1,
      to: 0,
      changes: expect.arrayContaining([{ from: 2, to: 3, before: 'summary', after: 'raw' }]) as unknown,
    });
    expect((await turnfold('diff', 's1', '1', '1')).stdout).toBe('s1  versions 1 and 1 have the same context\n');
  });

  test('turnfold versions of a conversation that was never compacted prints a note as text and nothing as JSON', async () => {
    await turnfold('enqueue', 's2', 'hello', '--agent', 'workspace', '--wait', '20');
    expect(await turnfold('versions', 's2')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no version yet') as string,
    });
    expect(await turnfold('versions', 's2', '--json')).toMatchObject({ code: 0, stdout: '' });
  });

  test.each([
    ['conversation', ['show', 'nobody']],
    ['conversation', ['versions', 'nobody']],
    ['conversation', ['export', 'nobody']],
    ['--version', ['show', 'i1', '--version', '9']],
    ['to', ['diff', 'i1', '0', '9']],
  ])('an error names the missing %s of the command %j', async (field, args) => {
    const { code, stdout, stderr } = await turnfold(...args, '--json');
    expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not_found', field } });
  });
});

describe('restore, rollback and fork', () => {
  test('the commands fork, rollback and restore work on a conversation with one turn', async () => {
    await turnfold('enqueue', 'r1', 'hello', '--agent', 'workspace', '--turn', 't1', '--wait', '20');
    const fork = ['fork', 'r1', 'r2', '--head', '1'];
    for (const _ of [1, 2]) expect(await readOne(...fork)).toEqual({ tenant: '_', conversation: 'r2', head: 1 });
    expect(await readOne('rollback', 'r1', 't1')).toMatchObject({ number: 1, cause: 'rollback', archived: 2 });
    expect(await readOne('show', 'r1')).toMatchObject({ version: 1, head: 2, items: [] });
    expect((await turnfold(...fork)).stdout).toBe('r2  1 messages, copied from r1\n');
    const args = ['restore', 'r1', '--version', '0', '--keep', '--agents', AGENTS];
    expect((await turnfold(...args)).stdout).toMatch(
      /^r1 {2}version 2 \(as version 0, everything newer kept\) {2}\d+ → \d+ tokens, 0 messages archived\n$/,
    );
    expect((await readOne('show', 'r1'))['items']).toHaveLength(2);
  });

  test.each([
    ['invalid_input', '--keep', ['restore', 'r1', '--version', '0']],
    ['invalid_input', '--keep', ['restore', 'r1', '--version', '0', '--keep', '--drop']],
    ['invalid_input', '--policy', ['restore', 'r1', '--version', '0', '--keep', '--policy', '/nowhere.yaml']],
    ['not_found', '--version', ['restore', 'r1', '--version', '9', '--drop']],
    ['not_found', 'turn', ['rollback', 'r1', 'nothing']],
    ['conflict', 'new', ['fork', 'r2', 'r1']],
  ])('a command fails with %s and its error names the option or argument %s: %j', async (code, field, args) => {
    const run = await turnfold(...args, '--json');
    expect({ code: run.code, stdout: run.stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(JSON.parse(run.stderr)).toMatchObject({ error: { code, field } });
  });

  test('turnfold restore --agents refuses a context over the hard limit of the agent', async () => {
    const talk = [{ role: 'user', content: 'so much '.repeat(40_000) }];
    const file = await writeTemporary('talk.jsonl', [{ id: 'r3', messages: talk }]);
    await turnfold('import', file, '--agent', 'workspace');
    const { stderr } = await turnfold('restore', 'r3', '--version', '0', '--keep', '--agents', AGENTS, '--json');
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'over_hard_limit' } });
  });
});

test.each([
  ['REDIS_URL', () => ({ REDIS_URL: new URL('/99', own.redisUrl).href })],
  ['TURNFOLD_SHARDS', () => ({ REDIS_URL: own.redisUrl, TURNFOLD_SHARDS: '7' })],
])('an error names the setting %s that does not fit the Redis in use', async (field, env) => {
  for (const args of [
    ['show', 'c1'],
    ['worker', '--agents', AGENTS],
  ]) {
    const { code, stderr } = await runTurnfold(args, { env: env() });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^turnfold: [a-z_]+: ${field}: `));
  }
});

test('a command refuses an invalid REDIS_URL by its name and without its password', async () => {
  const run = await runTurnfold(['show', 'c1'], { env: { REDIS_URL: 'redis://:s3cret@127.0.0.1:port' } });
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toMatch(/^turnfold: invalid_config: REDIS_URL: /);
  expect(run.stderr).not.toContain('s3cret');
});
