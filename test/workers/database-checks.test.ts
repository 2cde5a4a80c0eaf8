import { expect, it } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { DatabaseChecks } from '../../src/workers/database-checks.ts';

type Answer = Awaited<ReturnType<ConstructorParameters<typeof DatabaseChecks>[0]['watch']['check']>> | Error;

const LOSS = { found: 'other' } as unknown as Answer;
const INCOMPATIBLE = new TurnfoldError('incompatible_store', 'schema 9 is too new');

/** Checks whose watch gives these answers in turn, and then no loss. */
function openChecks(...answers: readonly Answer[]) {
  const events: WorkerEvent[] = [];
  const left = [...answers];
  let refusals = 0;
  const answer = async () => {
    const next = left.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const checks = new DatabaseChecks({
    watch: { check: answer, tick: answer, readLoss: async () => undefined },
    timers: { every: () => ({ stop: () => undefined }) } as never,
    onEvent: (event) => events.push(event),
    onIncompatible: () => (refusals += 1),
  });
  return { checks, types: () => events.map(({ type }) => type), refusals: () => refusals };
}

it('the loss of a database is reported by the check that finds the loss', async () => {
  const { checks, types } = openChecks(undefined, LOSS, undefined, LOSS);
  await checks.checkNow();
  await checks.checkNow();
  await checks.checkNow();
  await checks.tick();
  expect(types()).toEqual(['database_lost', 'database_lost']);
});

it('a database that this program cannot use is reported once, and ends the worker once', async () => {
  const { checks, types, refusals } = openChecks(INCOMPATIBLE, INCOMPATIBLE, INCOMPATIBLE);
  await checks.checkNow();
  await checks.tick();
  await expect(checks.look()).rejects.toBe(INCOMPATIBLE);
  expect(types()).toEqual(['worker_failed']);
  expect(refusals()).toBe(1);
});

it('each failed check of a database is reported, and the worker continues', async () => {
  const away = new TurnfoldError('redis_unavailable', 'Redis does not answer');
  const { checks, types, refusals } = openChecks(away, away);
  await checks.checkNow();
  await checks.checkNow();
  expect(types()).toEqual(['worker_failed', 'worker_failed']);
  expect(refusals()).toBe(0);
});
