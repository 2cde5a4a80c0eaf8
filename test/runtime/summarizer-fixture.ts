import type { Agent } from '../../src/domain/agent.ts';
import type { ContextSource } from '../../src/domain/context-source.ts';
import type { EventListener } from '../../src/domain/events.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Model } from '../../src/domain/model.ts';
import { noTracing } from '../../src/domain/tracing.ts';
import { prepareAgents } from '../../src/host/agents.ts';
import { systemClock } from '../../src/host/system.ts';
import { openQueueWorkers } from '../../src/jobs/bullmq/queue-workers.ts';
import { createIdSource } from '../../src/jobs/id-source.ts';
import { connectStore } from '../../src/store/connect-store.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { decodeLogEntry } from '../../src/store/log.ts';
import { createModelSummarizer } from '../../src/summarize/model/model-summarizer.ts';
import { createStructuralSummarizer } from '../../src/summarize/structural/structural-summarizer.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { Shutdown } from '../../src/workers/shutdown.ts';
import { createSummarizationHandler } from '../../src/workers/summarization/summarization-delivery.ts';
import { systemTimers } from '../../src/workers/timers.ts';
import { readLogTexts } from '../store/read-log-texts.ts';
import { type Fixture, SHARDS } from './fixture.ts';

export interface SummarizersOptions {
  readonly agent: Agent;
  /** in front of the structural summarizer */
  readonly model: Model;
  readonly callTimeoutMs?: number;
  readonly onEvent: EventListener;
}

/** Workers of the summarization role over a chain of the test's own, and a look at what lies in Redis. */
export interface Summarizers {
  /** the log's entries by seq, as they lie in Redis */
  readLogBytes(conversation: string): Promise<ReadonlyMap<number, string>>;
  readEntry(log: ReadonlyMap<number, string>, seq: number): Message;
  readContext(conversation: string): Promise<ContextSource>;
  close(): Promise<void>;
}

export async function openSummarizers(
  { redis, redisUrl: url }: Fixture,
  { agent, model, callTimeoutMs, onEvent }: SummarizersOptions,
): Promise<Summarizers> {
  const counter = await loadTokenCounter('o200k_base');
  const chain = [
    createModelSummarizer({
      model,
      counter,
      clock: systemClock,
      ...(callTimeoutMs !== undefined && { callTimeoutMs }),
    }),
    createStructuralSummarizer({ counter }),
  ];
  const { store, close } = await connectStore({ url, shards: SHARDS });
  const handler = createSummarizationHandler({
    contexts: store,
    summaries: store,
    summarizers: () => chain,
    agents: await prepareAgents([agent], {}, () => 1),
    clock: systemClock,
    ids: createIdSource(),
    owners: createIdSource(),
    timers: systemTimers,
    shutdown: new Shutdown(),
    onEvent,
    tracing: noTracing,
  });
  const workers = openQueueWorkers({
    url,
    shards: 1,
    roles: { summarization: { handler, concurrency: 4 } },
    onError: (error, where) => onEvent({ type: 'worker_failed', where, error }),
    deadlineMs: 5_000,
  });
  await workers.start();
  const keyspace = new Keyspace(SHARDS);
  const refOf = (id: string) => ({ tenant: '_', id });
  return {
    async readLogBytes(conversation) {
      const entries = await readLogTexts(redis, keyspace, refOf(conversation));
      return new Map(Object.entries(entries).map(([seq, entry]) => [Number(seq), entry]));
    },
    readEntry: (log, seq) => decodeLogEntry(seq, log.get(seq) ?? '', 'log').message,
    async readContext(conversation) {
      const source = await store.readContext(refOf(conversation));
      if (source === undefined) throw new Error(`no context: ${conversation}`);
      return source;
    },
    async close() {
      await workers.close();
      await close();
    },
  };
}
