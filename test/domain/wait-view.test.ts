import { expect, test } from 'vitest';
import { describeLoss } from '../../src/domain/database-loss.ts';
import { describeDecision, viewWait, type Waiting } from '../../src/domain/turn.ts';

const call = { id: 'c1', name: 'pay', arguments: '{}', until: 9 };
const waitFor = (kind: Waiting['for'], ...calls: Waiting['calls']): Waiting => ({
  for: kind,
  step: 'tools',
  since: 1,
  until: 9,
  calls,
});
const decided = { ...call, decision: describeDecision('approved', 5, 'ann') };

test('viewWait shows a turn as queued once all its calls are answered, because it waits for a worker and not for a person', () => {
  expect(viewWait('waiting', waitFor('approval', decided))).toEqual({ state: 'queued' });
  expect(viewWait('waiting', waitFor('approval', decided, { ...call, id: 'c2' }))).toMatchObject({ state: 'waiting' });
});

test('viewWait shows every other wait of a turn unchanged', () => {
  expect(viewWait('waiting', waitFor('retry'))).toMatchObject({ state: 'waiting', waiting: { for: 'retry' } });
  expect(viewWait('running', waitFor('approval', decided))).toEqual({ state: 'running' });
  expect(viewWait('waiting', undefined)).toEqual({ state: 'waiting' });
});

test('describeDecision includes a verdict only for an approval, and an author only if one is known', () => {
  expect(describeDecision('approved', 5, 'ann')).toEqual({ approved: true, at: 5, by: 'ann' });
  expect(describeDecision('denied', 5)).toEqual({ approved: false, at: 5 });
  expect(describeDecision('result', 5)).toEqual({ at: 5 });
});

test('describeLoss describes a loss of data by what Redis contains now', () => {
  const loss = { at: 1, formerId: 'a' };
  expect(describeLoss({ ...loss, found: 'empty' })).toMatch(/^the database is empty/);
  expect(describeLoss({ ...loss, found: 'another' })).toMatch(/^the database is another one/);
  expect(describeLoss({ ...loss, found: 'older', behindMs: 1_500 })).toMatch(/the last 2 s of its writes/);
});
