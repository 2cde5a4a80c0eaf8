import { expect, test } from 'vitest';
import { modelChain } from '../../src/providers/chain.ts';
import { describeRetirement, findRetirements, listNamedProfiles } from '../../src/providers/retirements.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';

const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);
const model = { id: 'old', retiresOn: '2026-12-11' };

test.each([
  ['2026-10-11', undefined],
  ['2026-10-12', 60],
  ['2026-12-10', 1],
  ['2026-12-11', 0],
  ['2026-12-13', -2],
])('findRetirements on %s reports a model that retires on 2026-12-11 with %s days left', (day, daysLeft) => {
  const found = findRetirements([model, model, { id: 'new' }], at(day));
  expect(found).toEqual(daysLeft === undefined ? [] : [{ model: 'old', retiresOn: '2026-12-11', daysLeft }]);
});

test('the report about a model’s retirement names the model, the day and what to do', () => {
  const [soon] = findRetirements([model], at('2026-12-01'));
  expect(soon && describeRetirement(soon)).toBe(
    'model old will be retired on 2026-12-11, in 10 days: its provider then refuses all requests. Use another model',
  );
  const [gone] = findRetirements([model], at('2026-12-20'));
  expect(gone && describeRetirement(gone)).toContain('was retired on 2026-12-11');
});

test('listNamedProfiles finds the models that a policy names, with or without options', () => {
  const models = ['anthropic/claude-sonnet-4-5', { model: 'openai-chat/gpt-4o', effort: 'low' as const }, 'own'];
  const named = listNamedProfiles({ summarizer: { models } });
  expect(named.map(({ id, retiresOn }) => [id, retiresOn])).toEqual([
    ['anthropic/claude-sonnet-4-5', '2026-11-30'],
    ['openai-chat/gpt-4o', '2027-01-14'],
  ]);
});

test('a model chain retires on the earliest retirement date of its models', () => {
  const part = (retiresOn: string) => {
    const scripted = scriptedModel({ steps: [] });
    return { ...scripted, profile: { ...scripted.profile, retiresOn } };
  };
  expect(modelChain([part('2027-01-14'), part('2026-12-11')]).profile.retiresOn).toBe('2026-12-11');
});
