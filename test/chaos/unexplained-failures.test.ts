import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../src/domain/message.ts';
import type { TurnFailure } from '../../src/domain/turn.ts';
import { Tellings } from './tellings.ts';
import { findUnexplained, UNEXPLAINED } from './unexplained-failures.ts';

const PARTS = { fixed: 60, pinned: 20, usable: 2_800, upperBoundFactor: 1.1 };

function find(failure: TurnFailure, { tokens = 100, tellings = new Tellings() } = {}) {
  const message = { role: 'user' as const, content: '' };
  const entry: LogEntry = { seq: 1, turn: 't1', at: 1, tokens, bytes: 1, total: { tokens, bytes: 1 }, message };
  const turns = new Map([['t1', { failure: JSON.stringify(failure) }]]);
  return findUnexplained([{ id: 'c1', log: [entry], turns }], tellings);
}

/** As a run hears it: three claims by three workers, of which the last `killed` are killed. */
function claimThrice(killed: number): Tellings {
  const tellings = new Tellings();
  for (const worker of [1, 2, 3]) {
    tellings.hear(worker, { type: 'turn_claimed', at: worker, key: 'c1/t1' });
    if (worker > 3 - killed) tellings.noteDeath(worker, worker);
  }
  return tellings;
}

describe('chaos finds a turn that failed', () => {
  test('as poison although one of its three workers was not harmed', () => {
    const failure: TurnFailure = { code: 'poison', message: '' };
    expect(find(failure, { tellings: claimThrice(2) })).toMatchObject([{ rule: UNEXPLAINED, conversation: 'c1' }]);
    expect(find(failure, { tellings: claimThrice(3) }), 'all three were killed').toEqual([]);
  });

  test('as budget_infeasible although the protected messages fit, or without arithmetic', () => {
    const failure = (details: TurnFailure['details']): TurnFailure => ({
      code: 'budget_infeasible',
      message: '',
      details: { ...PARTS, ...details },
    });
    expect(find(failure({ open: 400, floor: 0 }))).toMatchObject([{ rule: UNEXPLAINED }]);
    expect(find(failure({})), 'no arithmetic').toMatchObject([{ rule: UNEXPLAINED }]);
    expect(find(failure({ open: 3_000, floor: 0 })), 'arithmetic that the log does not bear out').toHaveLength(1);
    expect(find(failure({ open: 3_000, floor: 0 }), { tokens: 2_800 })).toEqual([]);
  });

  test('but not one that its provider failed', () => {
    expect(find({ code: 'model_failed', message: '' })).toEqual([]);
  });
});
