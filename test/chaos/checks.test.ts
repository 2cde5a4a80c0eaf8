import { expect, test } from 'vitest';
import type { LogEntry, Message } from '../../src/domain/message.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import type { Version } from '../../src/domain/version.ts';
import { CHECKS } from './checks.ts';
import type { StoredConversation } from './read-database.ts';
import { WorkerReports } from './worker-reports.ts';

const accepted = ['t1', 't2'].map((turn) => ({ conversation: 'c1', turn, isDelayed: false, isBusy: false }));
const call = { id: 'x', name: 'look', arguments: '{}' };

function entry(seq: number, turn: string, message: Message): LogEntry {
  return { seq, turn, at: seq, tokens: 10, bytes: 1, total: { tokens: 10 * seq, bytes: seq }, message };
}

/** Two settled turns, and a version with a summary of the first. */
const log = [
  entry(1, 't1', { role: 'user', content: 'one', pinned: true }),
  entry(2, 't1', { role: 'assistant', content: '', toolCalls: [call] }),
  entry(3, 't1', { role: 'tool', content: 'seen', toolCallId: 'x' }),
  entry(4, 't1', { role: 'assistant', content: 'done' }),
  entry(5, 't2', { role: 'user', content: 'two' }),
  entry(6, 't2', { role: 'assistant', content: 'done' }),
];
const version = {
  number: 1,
  parent: 0,
  cause: 'pass',
  base: 4,
  tokensBefore: 60,
  tokensAfter: 30,
  segments: [
    { kind: 'raw', from: 1, to: 1 },
    { kind: 'summary', from: 2, to: 4, summaryKey: 'h1' },
  ],
} as unknown as Version;
const healthy: StoredConversation = {
  id: 'c1',
  fields: { head: '6', version: '1' },
  log,
  versions: [version],
  texts: new Set(['k:h1']),
  mailbox: [],
  pass: {},
  events: [
    { type: 'turn_settled', turn: 't1', state: 'completed' },
    { type: 'version_committed', version: '1' },
    { type: 'turn_settled', turn: 't2', state: 'completed' },
  ],
  turns: new Map(accepted.map(({ turn }) => [turn, { state: 'completed' }])),
};

function listBroken(stored: StoredConversation): string[] {
  return Object.entries(CHECKS).flatMap(([rule, check]) => ([...check(stored, accepted)].length > 0 ? [rule] : []));
}

test('the final checks of the chaos test accept a conversation with two settled turns and a version', () => {
  expect(listBroken(healthy)).toEqual([]);
});

test.each<readonly [defect: string, rule: string, change: Partial<StoredConversation>]>([
  ['an accepted turn that is missing', 'every accepted turn is settled, once', { turns: new Map() }],
  [
    'a turn that was settled twice',
    'every accepted turn is settled, once',
    { events: [...healthy.events, ...healthy.events.slice(2)] },
  ],
  [
    'turns that were settled out of order',
    'turns are answered in the order in which they were accepted',
    { events: healthy.events.toReversed() },
  ],
  ['a gap in the log', 'the log has no gap, and its sums are right', { log: log.toSpliced(4, 1) }],
  ['a call without a result', 'every call is answered once', { log: log.toSpliced(2, 1) }],
  [
    'a version that is larger than its parent',
    'versions follow each other, and those of passes are smaller',
    { versions: [{ ...version, tokensAfter: 61 }] },
  ],
  ['a summary without its text', 'every message is covered once, and every summary has its text', { texts: new Set() }],
  [
    'a pinned message inside a summary',
    'pinned messages are shown whole',
    {
      versions: [
        { ...version, segments: [{ kind: 'summary', from: 1, to: 4, summaryKey: 'h1' }] } as unknown as Version,
      ],
    },
  ],
  ['a turn in the mailbox', 'no work is left', { mailbox: ['t2'] }],
])('the final checks of the chaos test report %s', (_, rule, change) => {
  expect(listBroken({ ...healthy, ...change })).toContain(rule);
});

test('the final checks of the chaos test report a worker that lost its lease although only this worker settled the turn', () => {
  const reports = new WorkerReports();
  reports.add(1, { type: 'turn_claimed', at: 1, key: 'c1/t1' });
  reports.add(1, { type: 'lease_lost', at: 2, key: 'c1/t1', why: 'fenced' });
  expect([...reports.findFalseLosses(new Set(['c1/t1']))]).toMatchObject([{ conversation: 'c1' }]);
  expect([...reports.findFalseLosses(new Set())]).toEqual([]);
  reports.add(1, { type: 'lease_lost', at: 1 + TURN_LIMITS.leaseMs, key: 'c1/t1', why: 'fenced' });
  expect([...reports.findFalseLosses(new Set(['c1/t1']))], 'the next turn may be settled').toEqual([]);
});
