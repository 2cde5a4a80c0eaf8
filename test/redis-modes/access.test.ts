import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { NEEDED_COMMANDS } from '../../src/store/redis/access.ts';
import { runTurnfold } from '../cli/run-turnfold.ts';
import { useServer } from './fixture.ts';
import { hasServer, type Server } from './servers.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AGENTS = `${ROOT}/test/setup/workspace-agents.ts`;
const agent = 'talker';

/** The ACL rules of docs/how-to/secure-redis.md, without the password. */
function readDocumentedRules(): string[] {
  const operations = readFileSync(`${ROOT}/docs/how-to/secure-redis.md`, 'utf8');
  const [, block = ''] = /ACL SETUSER turnfold on '>PASSWORD' ([\s\S]*?)```/.exec(operations) ?? [];
  const rules = block.replaceAll('\\\n', ' ').replaceAll('\\|', '|').replaceAll("'", '').split(/\s+/);
  return rules.filter((rule) => rule !== '');
}

async function startPrivate(...rules: readonly string[]): Promise<Server> {
  const server = await useServer();
  await server.redis.call('ACL', ['SETUSER', 'app', 'on', '>pw', ...rules]);
  await server.redis.call('ACL', ['SETUSER', 'default', 'resetpass', '>other']);
  return server;
}

function addressOf({ port }: Server, login = 'app:pw@'): string {
  return `redis://${login}127.0.0.1:${port}`;
}

describe('the access check', () => {
  test('the worker’s permission check tests every Redis command that scripts of the store and of BullMQ call', () => {
    const lua = `${ROOT}/src/store/lua`;
    const own = readdirSync(lua, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.lua'));
    const bull = `${ROOT}/node_modules/bullmq/dist/esm/scripts`;
    const scripts = readdirSync(bull).filter((file) => file.endsWith('.js'));
    const texts = [...own.map((file) => `${lua}/${file}`), ...scripts.map((file) => `${bull}/${file}`)];
    const called = texts.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:rcall|redis\.p?call)\(\s*["']([A-Za-z]+)["']/g)].map(
        ([, name = '']) => name.toUpperCase(),
      ),
    );
    // BullMQ uses RENAME only to migrate queues of an older version.
    const missing = new Set(called.filter((name) => name !== 'RENAME' && !NEEDED_COMMANDS.has(name)));
    expect(called.length).toBeGreaterThan(500);
    expect([...missing]).toStrictEqual([]);
  });
});

describe.skipIf(!hasServer)(
  'a Redis that refuses the connection (skipped where PATH has no server)',
  { timeout: 120_000 },
  () => {
    test.each([
      ['no password', '', /NOAUTH.*REDIS_URL/],
      ['a wrong password', 'app:wrong@', /WRONGPASS.*REDIS_URL/],
      ['a user that does not exist', 'nobody:pw@', /WRONGPASS.*REDIS_URL/],
    ])(
      'worker, describe, dev and doctor fail at once with a one-line error if the Redis URL has %s',
      async (_, login, words) => {
        const server = await startPrivate('~*', '&*', '+@all');
        const env = { REDIS_URL: addressOf(server, login) };
        const [worker, command, doctor, dev] = await Promise.all([
          runTurnfold(['worker', '--agents', AGENTS], { env }),
          runTurnfold(['describe', 'c1'], { env }),
          runTurnfold(['doctor'], { env }),
          runTurnfold(['dev'], { env }),
        ]);
        for (const run of [worker, command, dev]) {
          expect(run).toMatchObject({ code: 78, stderr: expect.stringMatching(words) as string });
          const [line, ...more] = run.stderr.trim().split('\n');
          expect(line).toMatch(/^turnfold: redis_denied: Redis cannot be used: /);
          expect(more).toStrictEqual([]);
          expect(run.stderr).not.toContain('pw');
        }
        expect(doctor.code).toBe(1);
        expect(doctor.stdout).toMatch(words);
        expect(doctor.stdout).not.toContain('does not answer');
      },
    );

    test('a worker whose Redis ACL lacks rules exits before it claims work, and its error names the missing rules', async () => {
      const server = await startPrivate('~{tf*', '&{tf*', '+@all', '-zadd', '-hset');
      const env = { REDIS_URL: addressOf(server) };
      const worker = await runTurnfold(['worker', '--agents', AGENTS], { env });
      expect(worker).toMatchObject({
        code: 78,
        stderr: expect.stringContaining('ACL SETUSER <user> ~{tq* +hset +zadd.'),
      });
      const doctor = await runTurnfold(['doctor'], { env });
      expect(doctor).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('ACL SETUSER <user> ~{tq* +hset +zadd.'),
      });
    });

    test('openClient fails at once if the Redis ACL lacks a rule, and its error names that rule', async () => {
      const server = await startPrivate('~{tf*', '~{tq*', '&{tf*', '+@all', '-evalsha');
      const open = openClient({ redisUrl: addressOf(server), shards: 4 });
      await expect(open).rejects.toMatchObject({
        code: 'redis_denied',
        message: expect.stringContaining('ACL SETUSER <user> +evalsha') as string,
      });
    });
  },
);

describe.skipIf(!hasServer)('the ACL of docs/how-to/secure-redis.md (skipped where PATH has no server)', () => {
  test('the Redis ACL in docs/how-to/secure-redis.md allows turns, a compaction, a fork, an erase and every check of turnfold doctor', {
    timeout: 120_000,
  }, async () => {
    const rules = readDocumentedRules();
    expect(rules.length).toBeGreaterThan(5);
    const server = await startPrivate(...rules);
    const redisUrl = addressOf(server);
    const model = scriptedModel({ decide: ({ messages }) => ({ content: `heard ${messages.at(-1)?.content}` }) });
    const failures: unknown[] = [];
    const workers = await startWorkers({
      redisUrl,
      shards: 4,
      roles: ROLES,
      agents: [{ name: agent, system: 'You talk.', policy: { maxTokens: 2_000 }, tools: [], model }],
      onEvent: (event) => {
        if (event.type === 'worker_failed') failures.push(event.error);
      },
    });
    onTestFinished(async () => void (await workers.close()));
    const client = await openClient({ redisUrl, shards: 4, onError: (error) => failures.push(error) });
    onTestFinished(() => client.close());
    const long = 'many words '.repeat(500);
    for (const input of ['hello', long, long]) {
      const { turn } = await client.enqueueTurn({ conversation: 'c1', agent, input });
      expect(await client.result('c1', turn, { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
    }
    await client.compact('c1');
    await expect.poll(async () => (await client.describe('c1')).passId, { timeout: 30_000 }).toBeUndefined();
    await client.fork('c1', 'c2');
    await client.erase('c2');
    const { turn } = await client.enqueueTurn({ conversation: 'c1', agent, input: 'stream', delayMs: 1 });
    for await (const part of client.stream('c1', turn, { waitMs: 30_000 })) expect(part.type).toBeTypeOf('string');
    expect(failures).toStrictEqual([]);
    const log = (await server.redis.call('ACL', ['LOG'])) as unknown[];
    expect(log).toStrictEqual([]);
    const doctor = await runTurnfold(['doctor'], { env: { REDIS_URL: redisUrl, TURNFOLD_SHARDS: '4' } });
    expect(doctor.stdout).toMatch(/access +this Redis user may run all commands that a worker needs/);
  });
});
