import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { SHARDS } from './fixture.ts';
import { type Edit, makeMutant } from './mutant.ts';
import { hasServer, type Server, startReplicated, until } from './servers.ts';

const TIMEOUT_MS = 300;
const turn = { conversation: 'c', agent: 'guide', input: 'hello', turn: 'one' };
const unsure = expect.stringMatching(/^(accepted_unsure|redis_unavailable)$/);
const BARRIER = 'src/store/barrier.ts';
const EXEC = 'results = (await pipeline.exec()) ?? [];';
const NO_WAIT_IN_PIPELINE = {
  file: BARRIER,
  find: 'for (const [command, ...args] of this.#waits()) pipeline.call(command, args);',
  put: '',
};

type Open = (timeoutMs?: number) => Promise<OpenClient>;

/** Returns the error code of a failed call, or `sure` for a call that succeeds. */
function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'sure',
    ({ code }: { readonly code: string }) => code,
  );
}

interface Rule {
  readonly name: string;
  /** Rejects if the clients that `open` returns break the rule. */
  readonly check: (open: Open) => Promise<void>;
  /** Edits of the source code that break the rule. */
  readonly edits: readonly Edit[];
  /** The broken code fails only on Redis 7.2 or later. Before, WAIT also covers writes of other connections. */
  readonly needsForgetfulWait?: boolean;
}

const RULES: readonly Rule[] = [
  {
    name: 'a write is unsure if WAIT reports too few replicas',
    check: async (open) => {
      const client = await open();
      replica.signal('SIGSTOP');
      expect(await outcomeOf(client.enqueueTurn(turn))).toEqual('accepted_unsure');
    },
    edits: [{ file: BARRIER, find: 'const isReached = ', put: 'const isReached = true || ' }],
  },
  {
    name: 'B1: the connection that waits has written',
    check: async (open) => {
      const client = await open();
      replica.signal('SIGSTOP');
      expect(await outcomeOf(client.enqueueTurn(turn))).toEqual('accepted_unsure');
    },
    edits: [
      NO_WAIT_IN_PIPELINE,
      {
        file: BARRIER,
        find: EXEC,
        put: `${EXEC}
          const other = this.#redis.duplicate({ enableOfflineQueue: true, lazyConnect: false });
          for (const [command, ...args] of this.#waits()) results = [...results, [null, await other.call(command, args)]];
          other.disconnect();`,
      },
    ],
    needsForgetfulWait: true,
  },
  {
    name: 'B1: a WAIT is not sent again after a lost connection',
    check: async (open) => {
      const client = await open(3_000);
      await client.enqueueTurn({ ...turn, turn: 'before' });
      replica.signal('SIGSTOP');
      const outcome = outcomeOf(client.enqueueTurn(turn));
      await cutWaiting();
      expect(await outcome).toEqual(unsure);
      // The next write uses a connection that was opened again.
      expect(await outcomeOf(client.enqueueTurn(turn))).toBe('accepted_unsure');
    },
    edits: [
      // ioredis does not resend a partly answered pipeline, but it would resend a single WAIT.
      NO_WAIT_IN_PIPELINE,
      {
        file: BARRIER,
        find: EXEC,
        put: `${EXEC}
          for (const [command, ...args] of this.#waits()) {
            results = [...results, [null, await this.#redis.call(command, args)]];
          }`,
      },
      { file: BARRIER, find: 'autoResendUnfulfilledCommands: false', put: 'autoResendUnfulfilledCommands: true' },
      { file: BARRIER, find: 'maxRetriesPerRequest: 0', put: 'maxRetriesPerRequest: null' },
    ],
    needsForgetfulWait: true,
  },
  {
    name: 'B2: the barrier covers a write of another connection',
    check: async (open) => {
      const [writer, other] = [await open(), await open()];
      replica.signal('SIGSTOP');
      expect(await outcomeOf(writer.enqueueTurn(turn))).toBe('accepted_unsure');
      expect(await outcomeOf(other.enqueueTurn(turn))).toBe('accepted_unsure');
    },
    edits: [
      { file: BARRIER, find: "pipeline.call('eval', [MARK, 1, calls[0]?.mark ?? '']);", put: '' },
      { file: BARRIER, find: 'results.slice(1).map(', put: 'results.map(' },
    ],
    needsForgetfulWait: true,
  },
  {
    name: 'B3: a demoted master cannot confirm a write',
    check: async (open) => {
      const client = await open();
      await client.enqueueTurn(turn);
      await replica.redis.replicaof('NO', 'ONE');
      await master.redis.replicaof('127.0.0.1', replica.port);
      // The demoted master knows the turn and can answer without a write.
      expect(await outcomeOf(client.enqueueTurn(turn))).toEqual(unsure);
      expect(await outcomeOf(client.enqueueTurn({ ...turn, turn: 'late' }))).toBe('redis_unavailable');
    },
    edits: [
      {
        file: BARRIER,
        find: 'if (results.some(([error]) => error !== null)) return { wanted };',
        put: 'if (results.some(([error]) => error !== null)) return undefined;',
      },
    ],
  },
];

let master: Server;
let replica: Server;
/** True if WAIT covers only the writes of its own connection, as since Redis 7.2. */
let isForgetful: boolean;

/** Closes the client connection that a WAIT is blocking. */
async function cutWaiting(): Promise<void> {
  await until('a connection waits', async () => {
    const id = /id=(\d+) [^\n]*flags=b [^\n]*cmd=wait/.exec(String(await master.redis.client('LIST')))?.[1];
    return id !== undefined && (await master.redis.client('KILL', 'ID', id)) === 1;
  });
}

async function followAgain(): Promise<void> {
  replica.signal('SIGCONT');
  await master.redis.replicaof('NO', 'ONE');
  await replica.redis.replicaof('127.0.0.1', master.port);
  await until('the replica follows', async () => {
    await master.redis.set('{test}:mark', '');
    return (await master.redis.wait(1, 100)) === 1;
  });
}

describe.skipIf(!hasServer)('rules of the durability barrier (skipped where PATH has no server)', () => {
  beforeAll(async () => {
    [master, replica] = (await startReplicated(1)) as [Server, Server];
    replica.signal('SIGSTOP');
    await master.redis.set('{test}:mark', '');
    const reader = new Redis(master.url);
    await reader.get('{test}:mark');
    isForgetful = (await reader.wait(1, 100)) === 1;
    reader.disconnect();
    await followAgain();
  });
  afterEach(async () => {
    await followAgain();
    await master.redis.flushdb();
  });
  afterAll(async () => {
    await Promise.all([master, replica].map((server) => server?.stop()));
  });

  function opener(open: typeof openClient): Open {
    return async (timeoutMs = TIMEOUT_MS) => {
      const client = await open({ redisUrl: master.url, shards: SHARDS, durability: { replicas: 1, timeoutMs } });
      onTestFinished(() => client.close());
      return client;
    };
  }

  test.each(RULES)('the durability barrier (waiting for replicas) keeps the rule: $name', async ({ check }) => {
    await expect(check(opener(openClient))).resolves.toBeUndefined();
  });

  test.for(RULES)(
    'the test of the durability barrier fails if the code is changed to break the rule: $name',
    async ({ check, edits, needsForgetfulWait = false }, { skip }) => {
      if (needsForgetfulWait && !isForgetful)
        skip('WAIT of this server covers what others wrote too: Redis 7.2 ends that');
      const mutant = await makeMutant(edits);
      onTestFinished(() => mutant.remove());
      await expect(check(opener(mutant.openClient))).rejects.toThrow(/expected .*sure/);
    },
  );
});
