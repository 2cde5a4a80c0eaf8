import { expect, test } from 'vitest';
import type { TurnHandler } from '../../src/domain/ports/queue.ts';
import { UlidSource } from '../../src/domain/ulid.ts';
import type { OpenWakeQueue } from '../../src/queue/wake-queue.ts';
import { conversation, countAll, type Fixture, turnRole, useFixture } from './fixture.ts';

const SOON = { timeout: 60_000, interval: 20 };
/** Number of waiting jobs from which a wake gets no job. */
const CROWD = 8;

/** Adds one wake after the other, because a process looks at the queue with each job that it adds. */
async function addWakes(wakes: OpenWakeQueue, names: readonly string[]): Promise<void> {
  for (const name of names) await wakes.wake('turn', conversation(name), `wake-${name}`);
}

function namesOf(count: number, prefix = 'c'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);
}

function countDue(fixture: Fixture): Promise<number> {
  return fixture.connect().zcard(fixture.openRaw('turn').toKey('due:wakes'));
}

test('while eight jobs wait, further wakes wait without a job, and all are delivered once and in order', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const names = namesOf(60);
  await addWakes(wakes, names);
  await addWakes(wakes, names.slice(40)); // a repeated wake
  const due = await countDue(fixture);
  expect(due).toBeGreaterThan(40);
  expect(await fixture.openRaw('turn').getPrioritizedCount()).toBe(60 - due);
  expect(await countAll(wakes)).toBe(60);

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await expect.poll(() => seen.length, SOON).toBe(60);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(seen).toEqual(names);
});

test('jobs with a better priority, and jobs of dead workers, run before due wakes', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const names = namesOf(12);
  await addWakes(wakes, names);
  expect(await countDue(fixture)).toBeGreaterThan(0);
  await wakes.wake('turn', conversation('urgent'), 'wake-urgent', { priority: 1 });
  await wakes.wake('turn', conversation('late'), 'wake-late', { priority: 11 });
  // A job without a priority stands in the list `wait`, as the job of a dead worker does.
  await fixture.openRaw('turn').add('turn', { v: 1, tenant: '_', id: 'reclaimed' });

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await expect.poll(() => seen.length, SOON).toBe(15);
  expect(seen).toEqual(['reclaimed', 'urgent', ...names, 'late']);
});

test('a wake of a compaction pass, or with its own priority, always gets a job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  for (const name of namesOf(12, 'p')) await wakes.wake('pass', conversation(name), `pass-${name}`);
  for (const name of namesOf(5, 'q')) await wakes.wake('turn', conversation(name), `own-${name}`, { priority: 20 });

  expect(await fixture.openRaw('compaction').getPrioritizedCount()).toBe(12);
  expect(await fixture.openRaw('turn').getCountsPerPriority([20])).toEqual({ 20: 5 });
});

/** A handler that holds each conversation until the gate opens. */
function holdAll(): { handler: TurnHandler; held: string[]; open(): void } {
  const gate = Promise.withResolvers<void>();
  const held: string[] = [];
  const handler: TurnHandler = async ({ id }) => {
    held.push(id);
    await gate.promise;
    return { status: 'done' };
  };
  return { handler, held, open: gate.resolve };
}

test('a worker with room takes due wakes at once, although other workers are full', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const [full, free] = [holdAll(), holdAll()];
  await addWakes(wakes, ['first']);
  await fixture.openWorkers({ turn: { handler: full.handler, concurrency: 1 } }).start();
  await expect.poll(() => full.held, SOON).toEqual(['first']);
  await addWakes(wakes, namesOf(50));
  expect(await countDue(fixture)).toBeGreaterThan(30);

  await fixture.openWorkers({ turn: { handler: free.handler, concurrency: 60 } }).start();
  await expect.poll(() => free.held.length, SOON).toBe(50);
  expect([...free.held].sort()).toEqual(namesOf(50));
  full.open();
  free.open();
});

test('workers with room for some of the due wakes share them, and no wake waits for a busy worker', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(60));
  const roles = [holdAll(), holdAll(), holdAll()];
  for (const { handler } of roles) await fixture.openWorkers({ turn: { handler, concurrency: 20 } }).start();

  await expect.poll(() => roles.flatMap(({ held }) => held).sort(), SOON).toEqual(namesOf(60));
  for (const role of roles) role.open();
});

test('a paused queue gives no due wakes, and gives them after it was resumed', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  await addWakes(wakes, namesOf(40));
  const role = turnRole(async ({ id }) => {
    seen.push(id);
    if (seen.length === 1) await raw.pause();
    if (seen.length === 1) first.resolve();
  });
  await fixture.openWorkers(role).start();
  await first.promise;
  await expect.poll(() => raw.getActiveCount(), SOON).toBe(0);
  expect(seen).toEqual(['c000']);
  expect(await countAll(wakes)).toBe(39);

  await raw.resume();
  await expect.poll(() => seen.length, SOON).toBe(40);
  expect(seen).toEqual(namesOf(40));
});

test('a due wake is pending while a job waits. Without such a job it is removed, so that the sweeper adds a job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const isPending = (name: string) => wakes.isPending('turn', conversation(name), `wake-${name}`);
  await addWakes(wakes, namesOf(30));
  expect(await isPending('c029')).toBe(true);
  expect(await isPending('c030')).toBe(false);
  expect(await wakes.isPending('turn', conversation('c028'), 'wake-c029')).toBe(false);

  const due = await countDue(fixture);
  await raw.drain();
  expect(await isPending('c029')).toBe(false);
  expect(await countDue(fixture)).toBe(due - 1);
});

test('a due wake that the worker postpones is delivered again', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(20));
  const seen: string[] = [];
  const handler: TurnHandler = ({ id }) => {
    seen.push(id);
    const isFirst = seen.indexOf(id) === seen.length - 1;
    return Promise.resolve(id === 'c015' && isFirst ? { status: 'postponed', delayMs: 5 } : { status: 'done' });
  };
  await fixture.openWorkers({ turn: { handler, concurrency: 1 } }).start();

  await expect.poll(() => seen.length, SOON).toBe(21);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect([...seen].sort()).toEqual([...namesOf(20), 'c015'].sort());
});

test('an error of one due wake stops no other', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  const seen: string[] = [];
  const role = turnRole(({ id }) => {
    seen.push(id);
    if (id === 'c020') throw new Error('broken delivery');
  });
  await fixture.openWorkers(role).start();

  await expect.poll(() => seen, SOON).toEqual(namesOf(30));
  expect(fixture.errors.map(({ error }) => (error as Error).message)).toEqual(['broken delivery']);
});

test('a worker that closes takes no more due wakes, and another worker gets them', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  const { handler, held, open } = holdAll();
  const closing = fixture.openWorkers({ turn: { handler, concurrency: 1 } });
  await closing.start();
  await expect.poll(() => held, SOON).toEqual(['c000']);
  const closed = closing.close();
  open();
  expect(await closed).toBe('closed');
  expect(held).toEqual(['c000']);

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id), 4)).start();
  await expect.poll(() => [...seen].sort(), SOON).toEqual(namesOf(30).slice(1));
});

test('due wakes count as waiting jobs, as jobs that ended, and by the time of their ids', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(CROWD + 1));
  const minuteAgo = new UlidSource({ now: () => Date.now() - 60_000 }, (bytes) => bytes.fill(7));
  await wakes.wake('turn', conversation('old'), minuteAgo.next());
  expect(await countDue(fixture)).toBeGreaterThan(0);

  const counts = await wakes.countJobs();
  const waiting = counts.filter(({ queue, state }) => queue === 'turn' && ['waiting', 'prioritized'].includes(state));
  expect(waiting.reduce((sum, { count }) => sum + count, 0)).toBe(CROWD + 2);
});

test('a member that another program wrote is removed, and stops no wake', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  await fixture.connect().zadd(fixture.openRaw('turn').toKey('due:wakes'), 1, 'no wake', 2, 'w|_|a:b', 3, '||');
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();

  await expect.poll(() => seen.length, SOON).toBe(30);
  await expect.poll(() => countDue(fixture), SOON).toBe(0);
});
