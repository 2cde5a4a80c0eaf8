import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INBOX_QUEUE, QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { HOSTILE_TEXTS } from '../fakes/hostile-texts.ts';
import { takeSample, takeShare } from '../setup/count-runs.ts';
import { expectFrugal } from '../setup/frugal.ts';

const TIMEOUT_MS = 900_000;
const BYTES = 4_000_000;
const HOUR_MS = 3_600_000;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers(undefined, { inbox: true });
}, TIMEOUT_MS);
afterAll(() => fixture.close(), TIMEOUT_MS);

test.each(['data', 'opts', 'progress', 'parent', 'stacktrace', 'returnvalue'])(
  'a job whose %s is hostile JSON of 4 MB blocks the event loop of its worker only briefly and takes little memory',
  async (field) => {
    const connection = new Redis(fixture.url, { maxRetriesPerRequest: null });
    const names = [...Object.values(QUEUES), INBOX_QUEUE];
    const queues = names.map((name) => new Queue(name, { connection, prefix: queuePrefix(0) }));
    try {
      for (const { name, write } of field === 'data' ? takeShare(HOSTILE_TEXTS) : takeSample(HOSTILE_TEXTS, 4)) {
        for (const queue of queues) {
          const text = write(BYTES);
          const work = async (): Promise<void> => {
            const job = await queue.add('job', {}, { delay: HOUR_MS, removeOnComplete: true, removeOnFail: true });
            const key = queue.toKey(job.id ?? '');
            await connection.hset(key, field, text);
            await job.promote();
            await expect.poll(() => connection.exists(key), { timeout: 60_000 }).toBe(0);
          };
          await expectFrugal(`${name} in ${field} of a job of ${queue.name}`, text.length, work);
        }
      }
    } finally {
      for (const queue of queues) await queue.close();
      connection.disconnect();
    }
    await fixture.client.enqueueTurn({ conversation: 'neighbour', agent: 'talker', turn: field, input: 'hello' });
    expect(await fixture.client.result('neighbour', field, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  },
  TIMEOUT_MS,
);
