import { z } from 'zod';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { Message } from '../../src/domain/message.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { CALLS, isHeld, type Kind } from './oracle.ts';

const SHARDS = 4;
const input = z.object({});
/** Key of a model call: `tenant/conversation/turn/time/model-<n>`. */
const MODEL_CALL = /^[^/]+\/([^/]+)\/([^/]+)\/\d+\/model-(\d+)$/;

/** Real workers over a Redis of their own, and a client. Model calls of turns that hold wait for the test. */
export interface World {
  readonly client: OpenClient;
  /** Events that no run may cause. */
  readonly faults: readonly WorkerEvent[];
  /** True while the first model call of a turn waits. */
  isHolding(conversation: string, turn: string): boolean;
  /** Lets the waiting model call of a turn end. Does nothing if no call waits. */
  release(conversation: string, turn: string): void;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const server = await provideRedis(readRedisSource());
  const gates = new Map<string, () => void>();
  const faults: WorkerEvent[] = [];
  const workers = await startWorkers({
    redisUrl: server.url,
    agents: [createAgent(gates)],
    shards: SHARDS,
    concurrency: { turn: 64, compaction: 8, summarization: 8 },
    shutdownMs: 2_000,
    onEvent: (event) => {
      if (event.type === 'worker_failed' || event.type === 'record_quarantined') faults.push(event);
    },
  });
  const client = await openClient({ redisUrl: server.url, shards: SHARDS });
  return {
    client,
    faults,
    isHolding: (conversation, turn) => gates.has(`${conversation}/${turn}`),
    release: (conversation, turn) => gates.get(`${conversation}/${turn}`)?.(),
    async close() {
      for (const release of gates.values()) release();
      await client.close();
      await workers.close();
      await server.stop();
    },
  };
}

function createAgent(gates: Map<string, () => void>): Agent {
  return {
    name: 'talker',
    system: 'You talk.',
    policy: { retentionWindow: 2, messageThreshold: 10_000 },
    tools: [
      { name: 'echo', description: 'runs in the worker', input, run: async () => 'echoed' },
      { name: 'ask', description: 'runs elsewhere', input },
      { name: 'risk', description: 'has to be allowed', input, needsApproval: true, run: async () => 'risked' },
    ],
    model: scriptedModel({ decide: (request) => decide(request, gates) }),
  };
}

async function decide(request: ModelRequest, gates: Map<string, () => void>): Promise<Awaited<ScriptedOutcome>> {
  const { messages, idempotencyKey, signal } = request;
  const [, conversation = '', turn = '', step] = MODEL_CALL.exec(idempotencyKey) ?? [];
  const kind = turn.split('-')[0] as Kind;
  if (kind === 'fail') return new ModelError('fatal', 'the model is gone');
  if (kind === 'refuse') return new ModelError('fatal', 'the contents are refused', { refusesContents: true });
  if (step === '1' && isHeld(kind)) await waitAt(gates, `${conversation}/${turn}`, signal);
  const calls = step === '1' ? CALLS[kind] : [];
  if (calls.length > 0) return { toolCalls: calls.map((name) => ({ name, arguments: {} })) };
  const heard = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  return { content: `saw ${heard.join(',')}` };
}

async function waitAt(gates: Map<string, () => void>, key: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  gates.set(key, resolve);
  signal.addEventListener('abort', () => resolve());
  try {
    await promise;
  } finally {
    gates.delete(key);
  }
  signal.throwIfAborted();
}

/** One line for a message, without ids. */
export function labelOf({ role, content, toolCalls, isError }: Message): string {
  switch (role) {
    case 'user':
      return `u:${content}`;
    case 'tool':
      return isError === true ? 't!' : `t:${content}`;
    case 'assistant':
      return toolCalls === undefined ? `a:${content}` : `a:[${toolCalls.map(({ name }) => name).join(',')}]`;
    default:
      return `${role}:${content}`;
  }
}
