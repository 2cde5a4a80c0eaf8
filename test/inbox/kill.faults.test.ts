import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Queue, QueueEvents } from 'bullmq';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { INBOX_QUEUE, queuePrefix } from '../../src/jobs/queues.ts';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';

let fixture: Fixture;
let queue: Queue;
let events: QueueEvents;
beforeAll(async () => {
  fixture = await openFixture();
  const { hostname: host, port } = new URL(fixture.url);
  const options = { connection: { host, port: Number(port) }, prefix: queuePrefix(0) };
  queue = new Queue(INBOX_QUEUE, options);
  events = new QueueEvents(INBOX_QUEUE, options);
  await events.waitUntilReady();
});
afterAll(async () => {
  await events.close();
  await queue.close();
  await fixture.close();
});

/** Starts a worker that takes one job of the inbox, and kills the worker once it has reached this point of the job. */
async function takeAndDie(until: 'read' | 'accepted'): Promise<void> {
  const script = fileURLToPath(new URL('./dying-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, [script, fixture.url, String(SHARDS), until], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void worker.kill('SIGKILL'));
  await once(createInterface(worker.stdout), 'line');
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

test('the turn of an inbox job is accepted once if workers are killed before and after they accept it', async () => {
  const job = await queue.add('turn', { conversation: 'killed', agent: 'talker', input: 'hello' });
  // Two deaths at each point, because BullMQ's own limit is one: the job would fail for good at the second death.
  for (const until of ['read', 'read', 'accepted', 'accepted'] as const) await takeAndDie(until);
  await fixture.startWorkers(undefined, { inbox: true });
  const accepted: unknown = await job.waitUntilFinished(events, 60_000);
  const turn = `inbox-${job.id}-${job.timestamp}`;
  expect(accepted).toMatchObject({ conversation: 'killed', turn, isNew: false });
  expect(await fixture.client.result('killed', turn, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  expect((await fixture.client.log('killed')).map(({ message }) => message.content)).toEqual(['hello', 'heard hello']);
  expect(await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')).toEqual({
    waiting: 0,
    active: 0,
    delayed: 0,
    failed: 0,
  });
});
