import { Queue } from 'bullmq';
import { type Arbitrary, constantFrom, integer, record } from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isNewerPayload, summarizeJob, wakePassJob, wakeTurnJob } from '../../src/jobs/job.ts';
import { QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { badJson, codedError, type Make, spoiled, tryBatch } from './cases.ts';

const TIMEOUT_MS = 600_000;

const payload = record({
  v: constantFrom(1, 1, 1, 2),
  tenant: constantFrom('_', 'acme'),
  id: constantFrom('c1', 'c2'),
  traceParent: constantFrom('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  passId: constantFrom('p1'),
  sequence: record({ from: integer({ min: 1 }), to: integer({ min: 1 }), tokens: integer({ min: 0 }) }),
  hash: constantFrom('0123456789abcdef'),
});

test(
  'every reader of job payloads returns a value or throws a coded error for any JSON',
  async () => {
    const run = async (data: unknown): Promise<void> => {
      for (const read of [wakeTurnJob.read, wakePassJob.read, summarizeJob.read, isNewerPayload]) {
        await codedError(() => read(data));
      }
    };
    const serveNeighbour = async (): Promise<void> => {
      expect(wakeTurnJob.read({ v: 1, tenant: '_', id: 'c1' })).toEqual({ conversation: { tenant: '_', id: 'c1' } });
    };
    for (const bad of [spoiled(payload, badJson()), badJson()]) {
      const input = bad.map(
        (make): Make =>
          () =>
            plain(make()),
      );
      await tryBatch({ cases: 1_500, input, run, serveNeighbour });
    }
  },
  TIMEOUT_MS,
);

const QUEUE_NAMES = Object.values(QUEUES);

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers();
}, TIMEOUT_MS);

afterAll(() => fixture.close(), TIMEOUT_MS);

const jobs: Arbitrary<Make<{ queue: keyof typeof QUEUES; data: unknown }>> = record({
  queue: constantFrom(...QUEUE_NAMES),
  make: spoiled(payload, badJson()),
}).map(({ queue, make }) => () => ({ queue, data: plain(make()) }));

/** The form of a value in a job. */
function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return null;
  }
}

test(
  'workers still answer turns after they received jobs with arbitrary payloads',
  async () => {
    const connection = new Redis(fixture.url, { maxRetriesPerRequest: null });
    const queues = new Map(
      QUEUE_NAMES.map((name) => [name, new Queue(name, { connection, prefix: queuePrefix(0) })] as const),
    );
    let turns = 0;
    const serveNeighbour = async (): Promise<void> => {
      turns += 1;
      const neighbour = { conversation: 'neighbour', agent: 'talker', input: `hello ${turns}` };
      const { turn } = await fixture.client.enqueueTurn(neighbour);
      const view = await fixture.client.result('neighbour', turn, { waitMs: 60_000 });
      expect(view).toMatchObject({ state: 'completed', answer: { content: `heard hello ${turns}` } });
    };
    const run = async ({ queue, data }: { queue: keyof typeof QUEUES; data: unknown }): Promise<void> => {
      await queues.get(queue)?.add('job', data, { removeOnComplete: true, removeOnFail: true, attempts: 2 });
    };
    try {
      await tryBatch({ cases: 600, input: jobs, run, serveNeighbour });
      await serveNeighbour();
    } finally {
      for (const queue of queues.values()) await queue.close();
      connection.disconnect();
    }
  },
  TIMEOUT_MS,
);
