import { expect, it } from 'vitest';
import { type Model, ModelError, type ModelErrorOptions, type ModelRequest } from '../../../src/domain/model.ts';
import { modelChain } from '../../../src/providers/chain.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { openWorld, RECORD, type WorldOptions } from './fixture.ts';

const profile = { abilities: { structured: true } };

function refusing(kind: 'invalid' | 'fatal', options: ModelErrorOptions = {}): NonNullable<WorldOptions['decide']> {
  return ({ answerSchema }) =>
    answerSchema === undefined ? { content: RECORD } : new ModelError(kind, 'no schemas', options);
}

const withSchema = ({ answerSchema }: ModelRequest): boolean => answerSchema !== undefined;

it.each([
  ['the form of the request', refusing('invalid')],
  ['a setting of the request', refusing('fatal', { refusesSettings: true })],
])('a model that refuses a schema as %s is asked without a schema, at once in each later call', async (_, decide) => {
  const world = await openWorld({ profile, decide });
  for (let summary = 1; summary <= 2; summary += 1)
    expect(await world.summarize()).toMatchObject({ status: 'written' });
  expect(world.requests.map(withSchema)).toEqual([true, false, false]);
  expect(new Set(world.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
});

it('a model that refuses a request with and without a schema gets a schema in the next call', async () => {
  const world = await openWorld({ profile, decide: () => new ModelError('invalid', 'not like this') });
  for (let summary = 1; summary <= 2; summary += 1) expect(await world.summarize()).toMatchObject({ status: 'failed' });
  expect(world.requests.map(withSchema)).toEqual([true, false, true, false]);
});

it.each<[string, ModelErrorOptions]>([
  ['an API key', {}],
  ['what the messages hold', { refusesContents: true }],
])('a model that refuses %s is not asked again without a schema', async (_, options) => {
  const world = await openWorld({ profile, decide: refusing('fatal', options) });
  expect(await world.summarize()).toMatchObject({ status: 'failed', why: 'fatal: no schemas' });
  expect(world.requests).toHaveLength(1);
});

it('a chain reports each model that it passes over once, also if it is asked again without a schema', async () => {
  const passed: string[] = [];
  const keyless = scriptedModel({ profile: { id: 'keyless' }, decide: () => new ModelError('fatal', 'no key') });
  const world = await openWorld({
    profile,
    decide: refusing('fatal', { refusesSettings: true }),
    wrap: (model: Model) => modelChain([keyless, model]),
  });
  expect(await world.summarize({ onPassedOver: (model) => passed.push(model) })).toMatchObject({ status: 'written' });
  expect(passed).toEqual(['keyless']);
  expect(keyless.callCount).toBe(2);
});
