import { vi } from 'vitest';
import { hashPayload } from '../../../src/api/client/payload-hash.ts';
import type { Scope } from '../../../src/domain/access-key.ts';
import { nameOperation } from '../../../src/domain/ids.ts';
import { ROLES, startWorkers, type WorkerRole } from '../../../src/host/start-workers.ts';
import { Keyspace } from '../../../src/store/keys.ts';
import { compact, SHARDS, talk } from '../../client/fixture.ts';
import { createExampleAgents } from '../examples/example-agents.ts';
import type { HttpFixture } from '../fixture.ts';

const agent = 'support';
const WAIT = { waitMs: 30_000 };
const MAX_QUEUED = 1_000;
const LIST = 500;

const PROPOSALS = [
  'proposed',
  'decided',
  'thinking',
  'erased',
  'approve-1',
  'approve-2',
  'reject-1',
  'reject-2',
] as const;

/** Conversations and other objects that the rows of the table name. Their workers have stopped, so none changes. */
export interface World {
  /**
   * Proposals by their conversations. `decided`: rejected. `thinking`: an approval waits for the end of a thought.
   * `erased`: erased with its conversation. The others still wait.
   */
  readonly proposals: Readonly<Record<(typeof PROPOSALS)[number], string>>;
  /** Range of a summary of each proposal. */
  readonly range: string;
  readonly webhook: string;
  /** The call of the turn `refund` that waits for approval in the conversation `waiting`. */
  readonly call: string;
  /** A call of the chat `chat`, whose turn `m1.1` waits for approval. */
  readonly chatCall: string;
  readonly revokedKey: string;
  /** Tokens of keys that lack one right. */
  readonly tokens: Readonly<Record<Scope, string>>;
  readonly close: () => Promise<void>;
}

/**
 * Makes the conversations in all states that a route refuses:
 * - `kept`: version 1, and the settled turn `done`
 * - `lost`: version 2. The text of version 1 and the log before it are no longer complete, so it is gone
 * - `waiting`: the turn `refund` waits for approval, and the turn `never` was canceled before it began
 * - `failed`: the failed turn `broken-1`. `hollow`: the same, without its input. `full`: the same, with a full mailbox
 * - `copying` and `abandoned`: copies that a fork makes, and that a fork has left. `cut-off`: a copy whose source was
 *   created again, shorter
 * - `owned`: belongs to the owner ann. `chat`: the turn `m1.1` of a chat waits for approval
 * - `large`: a context of more than a megabyte
 */
export async function prepareWorld(http: HttpFixture): Promise<World> {
  const { client, url: redisUrl } = http;
  const start = (roles: readonly WorkerRole[]) =>
    startWorkers({
      redisUrl,
      agents: createExampleAgents(),
      roles,
      shards: SHARDS,
      queueShards: 1,
      inbox: false,
      concurrency: { turn: 8, compaction: 4, summarization: 4 },
      shutdownMs: 2_000,
      missingAgentMs: 0,
    });
  const workers = await start(ROLES);
  await Promise.all([makeVersions(http), makeTurns(http), makeChats(http), makeLarge(http)]);
  await client.append({ conversation: 'owned', agent, messages: talk(1), owner: 'ann' });
  const proposals = await makeProposals(http);
  await workers.close();
  // This worker changes nothing, and shows which agents there are.
  const idle = await start(['summarization']);
  await makeCopies(http);
  return {
    proposals,
    call: await findCall(http, 'waiting', 'refund'),
    chatCall: await findCall(http, 'chat', 'm1.1'),
    range: (await client.proposal('proposed'))?.summaries[0]?.range ?? '',
    webhook: (await client.webhooks.add({ tenant: '_', url: 'https://shop.example/turnfold' })).webhook.id,
    ...(await makeKeys(http)),
    close: async () => void (await idle.close()),
  };
}

async function ask({ client }: HttpFixture, conversation: string, turn: string, input: string): Promise<void> {
  await client.enqueueTurn({ conversation, agent, input, turn });
  await client.result(conversation, turn, WAIT);
}

async function makeVersions(http: HttpFixture): Promise<void> {
  const { client, redis } = http;
  await client.append({ conversation: 'kept', agent, messages: talk(16) });
  await compact(http, 'kept');
  await ask(http, 'kept', 'done', 'Thanks');
  await ask(http, 'lost', 'early.1', 'Thanks');
  for (const from of [1, 17]) {
    await client.append({ conversation: 'lost', agent, messages: talk(16, from) });
    await compact(http, 'lost');
  }
  await redis.hdel(keyOf('lost', 'ver'), '1');
}

async function makeTurns(http: HttpFixture): Promise<void> {
  const { client, redis } = http;
  for (const conversation of ['failed', 'hollow', 'full']) await ask(http, conversation, 'broken-1', 'It is broken.');
  await redis.hdel(keyOf('hollow', 'log'), '1');
  await client.enqueueTurn({ conversation: 'waiting', agent, input: 'Thanks', turn: 'never', delayMs: 3_600_000 });
  await client.cancel('waiting', 'never');
  for (const [conversation, turn] of [
    ['waiting', 'refund'],
    ['full', 'refund'],
    ['chat', 'm1.1'],
  ] as const) {
    await client.enqueueTurn({ conversation, agent, input: 'Refund order 4711.', turn });
    await vi.waitUntil(async () => (await client.result(conversation, turn)).state === 'waiting', 30_000);
  }
  for (let from = 1; from < MAX_QUEUED; from += LIST) {
    const length = Math.min(LIST, MAX_QUEUED - from);
    const turns = Array.from({ length }, () => ({ conversation: 'full', agent, input: 'Thanks' }));
    await client.enqueueTurns(turns);
  }
}

/** `edited`: a message with two attempts. `double`: an id that names an answer and a message. */
async function makeChats(http: HttpFixture): Promise<void> {
  for (const [conversation, turn] of [
    ['edited', 'm1.1'],
    ['edited', 'm1.2'],
    ['double', 'm1.1'],
    ['double', 'm1.1.1'],
  ] as const) {
    await ask(http, conversation, turn, turn);
  }
}

async function makeLarge({ client, ...http }: HttpFixture): Promise<void> {
  const conversation = 'large';
  await client.append({ conversation, agent, messages: talk(16) });
  await compact({ client, ...http }, conversation);
  const messages = [1, 2].map(() => ({ role: 'user' as const, content: 'x'.repeat(600_000) }));
  await client.append({ conversation, agent, messages });
}

async function makeProposals({ client }: HttpFixture): Promise<World['proposals']> {
  const propose = async (conversation: string): Promise<string> => {
    await client.append({ conversation, agent: 'careful', messages: talk(8) });
    return (await vi.waitUntil(() => client.proposal(conversation), { timeout: 60_000 }))?.proposal ?? '';
  };
  const found = await Promise.all(PROPOSALS.map(async (name) => [name, await propose(name)] as const));
  const proposals = Object.fromEntries(found) as World['proposals'];
  await client.reject('decided', proposals.decided, WAIT);
  await client.erase('erased');
  const raw = { format: 'anthropic' as const, model: 'm', items: [{ type: 'thinking', thinking: 'hm' }] };
  const toolCalls = [{ id: 'c1', name: 'find_order', arguments: '{}' }];
  await client.append({
    conversation: 'thinking',
    agent: 'careful',
    messages: [
      { role: 'user', content: 'go on' },
      { role: 'assistant', content: '', toolCalls, raw },
      { role: 'tool', content: 'found', toolCallId: 'c1' },
    ],
  });
  // A worker refuses this approval. A repeated request with the same id gets the same answer without a worker.
  await client.approve('thinking', proposals.thinking, { operation: 'think', ...WAIT }).catch(() => undefined);
  return proposals;
}

/** Writes the state that a fork leaves when its process ends after the first batch. */
async function makeCopies({ client, redis }: HttpFixture): Promise<void> {
  const [first] = await redis.hmget(keyOf('kept', 'log'), '1');
  const [entry] = await client.log('kept', { limit: 1 });
  const cut = nameOperation('cut', hashPayload(['fork', { tenant: '_', id: 'owned' }, {}]));
  for (const [id, forkUntil, forking] of [
    ['copying', Date.now() + 3_600_000, 'op 0 48 _ kept'],
    ['abandoned', 1, 'op 0 48 _ kept'],
    // Its source was longer when the copy began.
    ['cut-off', Date.now() + 3_600_000, `${cut} 0 99 _ owned`],
  ] as const) {
    await redis.hset(keyOf(id, 'log'), { 1: first });
    const head = { head: 1, headTokens: entry?.total.tokens, headBytes: entry?.total.bytes, turns: 1 };
    await redis.hset(keyOf(id, 'c'), { schema: 1, agent: 'none yet', ...head, forkAgent: agent, forkUntil, forking });
  }
}

async function findCall({ client }: HttpFixture, conversation: string, turn: string): Promise<string> {
  return (await client.result(conversation, turn)).waiting?.calls[0]?.id ?? '';
}

async function makeKeys({ client: { keys } }: HttpFixture): Promise<Pick<World, 'revokedKey' | 'tokens'>> {
  const create = async (scopes: Scope[]): Promise<string> => (await keys.create({ tenant: '_', scopes })).token;
  const revoked = await keys.create({ tenant: '_', scopes: ['read'] });
  await keys.revoke(revoked.key.id);
  const [read, other] = [await create(['read']), await create(['answer'])];
  return { revokedKey: revoked.key.id, tokens: { read: other, enqueue: read, answer: read, admin: read } };
}

function keyOf(id: string, suffix: 'c' | 'log' | 'ver'): string {
  return new Keyspace(SHARDS).key({ tenant: '_', id }, suffix);
}
