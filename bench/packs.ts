/**
 * Measures how much memory packed logs take in Redis, and what packing and reading them cost: `node bench/packs.ts
 * [--json]`. The logs are the recorded conversations in ../shared/traces. Target: at most 0.35 of the memory before.
 */
import type { Redis } from 'ioredis';
import type { Message } from '../src/domain/message.ts';
import { Keyspace } from '../src/store/keys.ts';
import type { Store } from '../src/store/open-store.ts';
import { openStore } from '../src/store/open-store.ts';
import { openConnection } from '../src/store/redis/connection.ts';
import { appendOf } from '../test/store/pass-samples.ts';
import { restConversation } from '../test/store/rest-conversation.ts';
import { newConversation, weigh } from '../test/store/samples.ts';
import { hasTraces, readConversationFiles } from '../test/wire/traces.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const CONVERSATIONS = sampleSize(20, 2);

interface Packed {
  /** Bytes of the log in Redis. */
  readonly before: number;
  /** Bytes of packs and log in Redis. */
  readonly after: number;
  /** ms of CPU time to pack the log, to read it before and to read it after. */
  readonly packMs: number;
  readonly readMs: number;
  readonly readPackedMs: number;
}

interface Row {
  readonly name: string;
  readonly conversations: number;
  readonly megabytes: number;
  readonly share: number;
  /** ms of CPU time for each MB of the log. */
  readonly pack: Spread;
  readonly read: Spread;
  readonly readPacked: Spread;
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

async function packOne(redis: Redis, store: Store, messages: readonly Message[]): Promise<Packed> {
  const [keyspace, conversation] = [new Keyspace(16), newConversation()];
  const [log, packs] = [keyspace.key(conversation, 'log'), keyspace.key(conversation, 'pk')];
  const memory = async (key: string): Promise<number> => Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
  const weighed = messages.filter(({ role }) => role !== 'system').map(weigh);
  const all = [{ from: 1, to: weighed.length }];
  await store.append({ ...appendOf(conversation, 0, 0), messages: weighed });
  const before = await memory(log);
  const readMs = await timed(() => store.readLog(conversation, all));
  await restConversation(redis, keyspace, conversation);
  const packMs = await timed(() => store.packLog(conversation));
  const after = (await memory(packs)) + (await memory(log));
  const readPackedMs = await timed(() => store.readLog(conversation, all));
  await store.erase(conversation);
  return { before, after, packMs, readMs, readPackedMs };
}

async function measure(
  redis: Redis,
  store: Store,
  file: ReturnType<typeof readConversationFiles>[number],
): Promise<Row> {
  const packed: Packed[] = [];
  for (const { messages } of file.conversations.slice(0, CONVERSATIONS))
    packed.push(await packOne(redis, store, messages));
  const sum = (of: (one: Packed) => number): number => packed.reduce((total, one) => total + of(one), 0);
  const perMegabyte = (of: (one: Packed) => number): Spread =>
    spreadOf(packed.map((one) => (of(one) * 1e6) / one.before));
  return {
    name: file.name,
    conversations: packed.length,
    megabytes: sum(({ before }) => before) / 1e6,
    share: sum(({ after }) => after) / sum(({ before }) => before),
    pack: perMegabyte(({ packMs }) => packMs),
    read: perMegabyte(({ readMs }) => readMs),
    readPacked: perMegabyte(({ readPackedMs }) => readPackedMs),
  };
}

async function main(): Promise<void> {
  if (!hasTraces) {
    process.stdout.write('skipped: the recorded conversations in ../shared/traces are absent\n');
    return;
  }
  const redis = await openBenchRedis();
  const connection = openConnection({ url: redis.url });
  try {
    const store = openStore(connection, new Keyspace(16));
    const rows: Row[] = [];
    for (const file of readConversationFiles()) rows.push(await measure(connection, store, file));
    if (process.argv.includes('--json')) {
      process.stdout.write(`${JSON.stringify({ packs: rows })}\n`);
      return;
    }
    for (const { name, conversations, megabytes, share, pack, read, readPacked } of rows)
      process.stdout.write(
        `${name}: ${conversations} conversations of ${megabytes.toFixed(2)} MB take ${share.toFixed(2)} of it. ` +
          `ms of CPU a MB: pack ${describeSpread(pack, 0)}, read before ${describeSpread(read, 0)}, after ${describeSpread(readPacked, 0)}\n`,
      );
  } finally {
    connection.disconnect();
    await redis.stop();
  }
}

await main();
