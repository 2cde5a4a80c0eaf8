import type { EnqueueInput } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../../src/domain/errors.ts';
import { isSettled } from '../../src/domain/turn.ts';
import { ROLES, startWorkers, type WorkerRole, type Workers } from '../../src/host/start-workers.ts';
import { words } from '../runtime/agents.ts';
import { type Fixture, SHARDS } from '../runtime/fixture.ts';
import { createTrafficAgents, createTrafficSummarizers } from './traffic-agents.ts';

const SETTLED_MS = 8_000;
const WAIT_MS = 250;
const MEMORY_LIMIT = '256mb';
/** more turns than workers take at a time */
const BURST = 40;
const SLOTS = { turn: 8, compaction: 4, summarization: 4 };

/** Workers with metrics pages and a load for them. */
export interface Traffic {
  readonly workers: readonly Workers[];
  /** turns that keep every hand busy, and more that wait for one, until `drive` */
  queueUp(): Promise<void>;
  /**
   * Lets those go on and leads one conversation with each agent, turn behind turn, until the signal. Once, every connection
   * to Redis is cut.
   * @returns how many turns workers settled
   */
  drive(signal: AbortSignal): Promise<number>;
}

/** One worker with every role, which measures a shadow policy too, and one with turns alone. */
export async function openTraffic(fixture: Fixture): Promise<Traffic> {
  const gate = Promise.withResolvers<void>();
  const agents = createTrafficAgents(gate.promise);
  await fixture.redis.config('SET', 'maxmemory', MEMORY_LIMIT);
  const workers = [await start(fixture, agents, ROLES), await start(fixture, agents, ['turn'])];
  const burst = Array.from({ length: BURST }, (_, index) => `burst-${index}`);
  return {
    workers,
    async queueUp() {
      await Promise.all(burst.map((conversation) => enqueue(fixture, turnOf(conversation, 'held', 0))));
    },
    async drive(signal) {
      gate.resolve();
      const held = burst.map(async (conversation) => Number(await settle(fixture, conversation, 't0')));
      const conversations = agents.map(({ name }) => converse(fixture, name, signal));
      await Promise.all(held);
      await fixture.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      return (await Promise.all([...held, ...conversations])).reduce((sum, count) => sum + count, 0);
    },
  };
}

async function start({ redisUrl }: Fixture, agents: readonly Agent[], roles: readonly WorkerRole[]): Promise<Workers> {
  return await startWorkers({
    redisUrl,
    agents,
    summarizers: createTrafficSummarizers(),
    roles,
    shards: SHARDS,
    queueShards: 1,
    concurrency: SLOTS,
    shutdownMs: 5_000,
    metrics: { host: '127.0.0.1', port: 0 },
    shadow: { tokenThreshold: 600, maxTokens: 500, retentionWindow: 2 },
  });
}

const INPUTS = [
  `call:read call:read ${words(60)}`,
  `call:break call:nobody ${words(60)}`,
  `call:ask ${words(60)}`,
  `call:sign ${words(60)}`,
  words(400),
];

function turnOf(conversation: string, agent: string, number: number): EnqueueInput {
  return { conversation, turn: `t${number}`, agent, input: INPUTS[number % INPUTS.length] ?? '' };
}

async function converse(fixture: Fixture, agent: string, signal: AbortSignal): Promise<number> {
  let settled = 0;
  for (let number = 0; !signal.aborted; number += 1) {
    await enqueue(fixture, turnOf(agent, agent, number));
    if (await settle(fixture, agent, `t${number}`)) settled += 1;
    await review(fixture, agent);
  }
  return settled;
}

/** Again under the same id where the connection was cut amid the call. */
async function enqueue({ client }: Fixture, input: EnqueueInput): Promise<void> {
  for (;;) {
    try {
      await client.enqueueTurn(input);
      return;
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_unavailable')) throw error;
    }
  }
}

/** Answers external calls of a turn until it is settled. A slow turn is canceled. */
async function settle({ client }: Fixture, conversation: string, turn: string): Promise<boolean> {
  const deadline = Date.now() + SETTLED_MS;
  while (Date.now() < deadline) {
    const view = await client.result(conversation, turn, { waitMs: WAIT_MS }).catch(ignoreRefusal);
    if (view === undefined) continue;
    const { state, waiting } = view;
    if (isSettled(state)) return true;
    if (waiting === undefined || waiting.calls.length === 0) continue;
    const answer = waiting.for === 'approval' ? { approved: true } : { content: 'from elsewhere' };
    const answers = Object.fromEntries(waiting.calls.map(({ id }) => [id, answer]));
    await client.answer(conversation, turn, answers).catch(ignoreRefusal);
  }
  return (await client.cancel(conversation, turn)) !== 'canceled';
}

/** Approves of what waits for it: first with texts that are too long to be taken, then as it is. */
async function review({ client }: Fixture, conversation: string): Promise<void> {
  const proposed = await client.proposal(conversation).catch(ignoreRefusal);
  if (proposed === undefined) return;
  const tooLong = Object.fromEntries(proposed.summaries.map(({ range }) => [range, words(5_000)]));
  for (const edits of [tooLong, {}]) {
    await client.approve(conversation, proposed.proposal, { edits, waitMs: SETTLED_MS }).catch(ignoreRefusal);
  }
}

/** A decision that came first is no failure of the load. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof TurnfoldError)) throw error;
}
