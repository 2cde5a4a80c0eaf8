import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isModelError, type Model, ModelError, type ModelErrorKind } from '../../src/domain/model.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../src/providers/scripted.ts';
import { openWorld } from '../models/summarizer/fixture.ts';
import { Fixture } from './turn/fixture.ts';

// Loads the package a second time. In practice a command runs from `src`, and its agents import the package from
// `dist`.
vi.resetModules();
const other = { ...(await import('../../src/domain/errors.ts')), ...(await import('../../src/domain/model.ts')) };

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const RETRY_AT = 1_700_000_042_000;

function failing(kind: ModelErrorKind, id = 'away'): Model {
  const error = new other.ModelError(kind, 'limit', { retryAt: RETRY_AT, code: 'busy', form: '{}' });
  return { profile: { ...SCRIPTED_PROFILE, id }, generate: () => Promise.reject(error) };
}

it('the package recognizes errors of a second loaded copy of itself by a property that marks its error classes', () => {
  const error = new other.ModelError('retry', 'limit');
  expect(error).not.toBeInstanceOf(ModelError);
  expect([isModelError(error), isModelError(error, 'retry'), isModelError(error, 'fatal')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(isTurnfoldError(new other.TurnfoldError('gone', 'erased'), 'gone')).toBe(true);
  expect([isModelError(new other.TurnfoldError('gone', 'erased')), isTurnfoldError(error)]).toEqual([false, false]);
  expect([undefined, null, 'retry', {}, new Error('retry')].filter((none) => isModelError(none))).toEqual([]);
});

it('a retry error thrown by a second loaded copy of the package makes the turn wait until the time in the error', async () => {
  const world = await Fixture.open({ model: failing('retry') });
  await world.accept('t1', 'Hi');
  await world.deliver();
  const { waiting } = (await world.view('t1')) ?? {};
  expect(waiting).toMatchObject({ for: 'retry' });
  expect(waiting?.until).toBeGreaterThanOrEqual(RETRY_AT);
  const [called] = world.eventsOf('model_called');
  expect(called).toMatchObject({ outcome: 'retry', retryAfterMs: expect.any(Number) });
});

it('an overflow error thrown by a second loaded copy of the package makes the turn request a compaction pass', async () => {
  const world = await Fixture.open({ model: failing('overflow') });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
});

it('a fatal error thrown by a second loaded copy of the package fails the turn with the error’s message and code', async () => {
  const world = await Fixture.open({ model: failing('fatal') });
  await world.accept('t1', 'Hi');
  await world.deliver();
  const failure = {
    code: 'model_failed',
    message: 'the call of model away failed: limit',
    details: { code: 'busy', form: '{}' },
  };
  expect(await world.view('t1')).toMatchObject({ state: 'failed', failure });
});

it('a model chain skips a model that throws an error of a second loaded copy of the package', async () => {
  const world = await Fixture.open({
    model: modelChain([failing('retry'), scriptedModel({ decide: () => ({ content: 'there' }) })]),
  });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'there' } });
});

it('a retry error thrown by a second loaded copy of the package delays a summary until the time in the error', async () => {
  const retryAt = 42_000;
  const limit = new other.ModelError('retry', 'limit', { retryAt });
  const world = await openWorld({ decide: () => limit });
  await expect(world.summarize()).rejects.toMatchObject({ name: 'ModelError', kind: 'retry', retryAt });
  expect(world.calls).toMatchObject([{ outcome: 'retry', retryAfterMs: retryAt }]);
  expect(isModelError(limit, 'retry') && limit.retryAt).toBe(retryAt);
});

it('no source file recognizes the package’s own errors by instanceof, which would fail for a second loaded copy', () => {
  const byClass = globSync('**/*.ts', { cwd: SRC }).filter((file) =>
    /instanceof (?:ModelError|TurnfoldError)\b/.test(readFileSync(`${SRC}/${file}`, 'utf8')),
  );
  expect(byClass).toEqual([]);
});
