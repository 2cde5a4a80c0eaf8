import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Workers } from '../../src/host/start-workers.ts';
import { createTalker } from '../client/fixture.ts';
import { openWorkers, SHARDS } from './fixture.ts';
import { hasServer, type Server, startReplicated, until } from './servers.ts';

const LATER_MS = 3_600_000;
const agent = 'talker';
const reviewed = 'reviewed';
const said = 'I have looked at one of the files. '.repeat(60);
const history = ['one', 'two', 'three', 'four'].flatMap((part) => [
  { role: 'user' as const, content: `look at part ${part}` },
  { role: 'assistant' as const, content: `${part}: ${said}` },
  { role: 'assistant' as const, content: `more of ${part}: ${said}` },
]);

interface Write {
  readonly name: keyof OpenClient;
  /** Prepares the state that the replica must have before the tested call. */
  readonly prepare?: (client: OpenClient, conversation: string) => Promise<unknown>;
  /** @param id id of the first call, which the client chose */
  readonly call: (client: OpenClient, conversation: string, id?: string) => Promise<unknown>;
  readonly field: 'turn' | 'operation' | 'conversation';
  readonly answer: unknown;
  /** Counts what the call wrote. A repeated call must not raise this count. */
  readonly readEffect: (client: OpenClient, conversation: string) => Promise<unknown>;
  readonly once: unknown;
}

const turnOption = (turn: string | undefined) => (turn === undefined ? {} : { turn });
const operationOption = (operation: string | undefined) => (operation === undefined ? {} : { operation });
const countLog = async (client: OpenClient, conversation: string) => (await client.log(conversation)).length;
const countVersions = async (client: OpenClient, conversation: string) => (await client.versions(conversation)).length;

async function enqueue(client: OpenClient, conversation: string, input: string, more = {}): Promise<void> {
  await client.enqueueTurn({ conversation, agent, input, turn: 't', ...more });
}

async function ask(client: OpenClient, conversation: string, input: string, more = {}): Promise<void> {
  await enqueue(client, conversation, input, more);
  await client.result(conversation, 't', { waitMs: 60_000 });
}

async function propose(client: OpenClient, conversation: string): Promise<void> {
  await client.append({ conversation, agent: reviewed, messages: history });
  await until('the pass has a proposal', async () => (await client.proposal(conversation)) !== undefined);
}

/** Id of the conversation's proposal, also after the decision. */
const proposals = new Map<string, string>();
async function proposalOf(client: OpenClient, conversation: string): Promise<string> {
  const waiting = await client.proposal(conversation);
  if (waiting !== undefined) proposals.set(conversation, waiting.proposal);
  return proposals.get(conversation) ?? '';
}

const WRITES: readonly Write[] = [
  {
    name: 'enqueueTurn',
    call: (client, conversation, id) =>
      client.enqueueTurn({ conversation, agent, input: 'hello', delayMs: LATER_MS, ...turnOption(id) }),
    field: 'turn',
    answer: { state: 'scheduled', isNew: false },
    readEffect: async (_, conversation) => (await master.redis.keys(`*:t:${conversation}:*`)).length,
    once: 1,
  },
  {
    name: 'enqueueTurns',
    call: async (client, conversation, id) => {
      const turn = { conversation, agent, input: 'hello', delayMs: LATER_MS, ...turnOption(id) };
      const [answer] = await client.enqueueTurns([turn]);
      if (answer?.status === 'refused') throw answer.error;
      return answer;
    },
    field: 'turn',
    answer: { status: 'enqueued', state: 'scheduled', isNew: false },
    readEffect: async (_, conversation) => (await master.redis.keys(`*:t:${conversation}:*`)).length,
    once: 1,
  },
  {
    name: 'redrive',
    prepare: (client, conversation) => ask(client, conversation, 'hello', { agent: 'nobody' }),
    call: (client, conversation) => client.redrive(conversation, 't'),
    field: 'turn',
    answer: { isNew: false },
    readEffect: async (_, conversation) => (await master.redis.keys(`*:t:${conversation}:*`)).length,
    once: 2,
  },
  {
    name: 'cancel',
    prepare: (client, conversation) => enqueue(client, conversation, 'hello', { delayMs: LATER_MS }),
    call: (client, conversation) => client.cancel(conversation, 't'),
    field: 'turn',
    answer: 'canceled',
    readEffect: async (client, conversation) => (await client.result(conversation, 't')).state,
    once: 'canceled',
  },
  {
    name: 'answer',
    prepare: async (client, conversation) => {
      await enqueue(client, conversation, 'call ask');
      await until('the turn waits', async () => (await client.result(conversation, 't')).state === 'waiting');
    },
    // Before the repetition, the worker has already continued and settled the turn.
    call: (client, conversation) => client.answer(conversation, 't', { c2_0: { content: 'the answer' } }),
    field: 'turn',
    answer: 'answered',
    readEffect: async (client, conversation) => {
      const { answer } = await client.result(conversation, 't', { waitMs: 60_000 });
      return [answer?.content, await countLog(client, conversation)];
    },
    once: ['the answer', 4],
  },
  {
    name: 'append',
    call: (client, conversation, id) =>
      client.append({ conversation, agent, messages: history, ...operationOption(id) }),
    field: 'operation',
    answer: { from: 1, to: 12 },
    readEffect: countLog,
    once: 12,
  },
  {
    name: 'restore',
    prepare: (client, conversation) => client.append({ conversation, agent, messages: history }),
    call: (client, conversation, id) =>
      client.restore(conversation, { version: 0, newer: 'keep', ...operationOption(id) }),
    field: 'operation',
    answer: { number: 1, cause: 'restore' },
    readEffect: countVersions,
    once: 1,
  },
  {
    name: 'rollBackTurn',
    prepare: (client, conversation) => ask(client, conversation, 'hello'),
    call: (client, conversation, id) => client.rollBackTurn(conversation, 't', operationOption(id)),
    field: 'operation',
    answer: { number: 1, cause: 'rollback' },
    readEffect: countVersions,
    once: 1,
  },
  {
    name: 'fork',
    prepare: (client, conversation) => client.append({ conversation, agent, messages: history }),
    call: (client, conversation, id) => client.fork(conversation, `${conversation}.fork`, operationOption(id)),
    field: 'operation',
    answer: { head: 12 },
    readEffect: async (client, conversation) => [
      await countLog(client, `${conversation}.fork`),
      await countVersions(client, `${conversation}.fork`),
    ],
    once: [12, 1],
  },
  {
    name: 'compact',
    prepare: (client, conversation) => client.append({ conversation, agent, messages: history }),
    call: (client, conversation) => client.compact(conversation),
    field: 'conversation',
    answer: expect.any(String),
    // A repetition after the end of its pass is another pass, which may find nothing to do. The log keeps all.
    readEffect: countLog,
    once: 12,
  },
  {
    name: 'approve',
    prepare: propose,
    call: async (client, conversation, id) =>
      client.approve(conversation, await proposalOf(client, conversation), { ...operationOption(id), waitMs: 60_000 }),
    field: 'operation',
    answer: { state: 'approved', version: 1 },
    readEffect: countVersions,
    once: 1,
  },
  {
    name: 'reject',
    prepare: propose,
    call: async (client, conversation, id) =>
      client.reject(conversation, await proposalOf(client, conversation), { ...operationOption(id), waitMs: 60_000 }),
    field: 'operation',
    answer: { state: 'rejected' },
    readEffect: countVersions,
    once: 0,
  },
  {
    name: 'updateConversation',
    prepare: (client, conversation) => client.append({ conversation, agent, messages: history }),
    call: (client, conversation) => client.updateConversation(conversation, { owner: 'ann', title: 'files' }),
    field: 'conversation',
    answer: { owner: 'ann', title: 'files' },
    readEffect: async (client, conversation) => (await client.describe(conversation)).owner,
    once: 'ann',
  },
  {
    name: 'erase',
    prepare: (client, conversation) => client.append({ conversation, agent, messages: history }),
    call: (client, conversation) => client.erase(conversation),
    field: 'conversation',
    answer: { removedKeys: expect.any(Number) },
    readEffect: (client, conversation) =>
      client.describe(conversation).catch(({ code }: { readonly code: string }) => code),
    once: 'not_found',
  },
];

let master: Server;
let replica: Server;
let workers: Workers;

describe.skipIf(!hasServer)('while a replica stands still (skipped where PATH has no server)', () => {
  beforeAll(async () => {
    [master, replica] = (await startReplicated(1)) as [Server, Server];
    workers = await openWorkers({
      redisUrl: master.url,
      agents: [
        createTalker(),
        { ...createTalker(), name: reviewed, policy: { mode: 'review', messageThreshold: 10, retentionWindow: 2 } },
      ],
    });
  });
  afterEach(() => replica.signal('SIGCONT'));
  afterAll(async () => {
    await workers?.close();
    await Promise.all([master, replica].map((server) => server?.stop()));
  });

  async function open(timeoutMs: number): Promise<OpenClient> {
    const durability = { replicas: 1, timeoutMs };
    const client = await openClient({ redisUrl: master.url, shards: SHARDS, durability });
    onTestFinished(() => client.close());
    return client;
  }

  test.each(WRITES)(
    'client.$name reports its write as unsure while the replica is frozen, and a repeated call does not write again',
    async (write) => {
      const { name: conversation, field } = write;
      await write.prepare?.(await open(5_000), conversation);
      const client = await open(200);
      replica.signal('SIGSTOP');
      const first = await write.call(client, conversation).catch((error: unknown) => error);
      expect(first).toMatchObject({ code: 'accepted_unsure', field, details: { wanted: { replicas: 1 } } });
      const { details } = first as { readonly details: Readonly<Record<string, string>> };
      const id = details[field];
      expect(id).toBeTypeOf('string');
      // A call through another client uses connections that have not sent this write.
      const other = await open(200);
      await expect(write.call(other, conversation, id)).rejects.toMatchObject({
        code: 'accepted_unsure',
        field,
        details: { [field]: id },
      });
      replica.signal('SIGCONT');
      let answer: unknown;
      await until('the replica is back', async () => {
        answer = await write.call(client, conversation, id).catch(({ code }) => {
          expect(code).toBe('accepted_unsure');
        });
        return answer !== undefined;
      });
      const expected = write.answer;
      if (typeof expected === 'object' && !('asymmetricMatch' in (expected as object))) {
        expect(answer).toMatchObject(expected as object);
      } else expect(answer).toEqual(expected);
      expect(await write.readEffect(client, conversation)).toEqual(write.once);
    },
  );

  test('a client without durability does not wait for a frozen replica', async () => {
    const client = await openClient({ redisUrl: master.url, shards: SHARDS });
    onTestFinished(() => client.close());
    replica.signal('SIGSTOP');
    await expect(client.append({ conversation: 'plain', agent, messages: history })).resolves.toEqual({
      from: 1,
      to: 12,
    });
  });

  test('the table of tested writes lists every client method that writes', async () => {
    const client = await open(200);
    const reads = [
      'result',
      'stream',
      'openTurns',
      'events',
      'failedTurns',
      'context',
      'show',
      'versions',
      'diff',
      'log',
      'describe',
      'conversations',
      'waiting',
      'usage',
      'outline',
      'breakdown',
      'workDone',
      'report',
      'plan',
      'steps',
      'agents',
      'proposal',
    ];
    // A lost key, secret of tokens or webhook is made again by its caller, who then has a new one.
    const remade = ['keys', 'createConversationToken', 'webhooks'];
    const known = [...WRITES.map(({ name }) => name), ...reads, ...remade, 'close'];
    expect(Object.keys(client).toSorted()).toEqual(known.toSorted());
  });
});
