import { describe, expect, test } from 'vitest';
import { findWriteRefusal, TurnfoldError } from '../../src/domain/errors.ts';
import {
  decisionEvent,
  decodeEvent,
  encodeWaitingCalls,
  proposalEvent,
  versionEvent,
} from '../../src/domain/event-record.ts';
import type { Proposal } from '../../src/domain/proposal.ts';
import { checkHead, checkNumber, START_VERSION, shownKeys, type Version } from '../../src/domain/version.ts';
import { errorOf } from './error-of.ts';

const ID = '1795380000000-3';
const at = 1_795_380_000_000;
const version: Version = {
  ...START_VERSION,
  number: 4,
  cause: 'pass',
  reasons: ['token_threshold', 'ratio'],
  strategy: 'summarize',
  base: 3,
  segments: [
    { kind: 'summary', from: 1, to: 2, version: 4, weight: { tokens: 5, bytes: 20 }, summaryKey: 'k1', depth: 1 },
    { kind: 'raw', from: 3, to: 3, weight: { tokens: 1, bytes: 4 } },
  ],
  archived: 7,
  tokensBefore: 900,
  tokensAfter: 300,
  durationMs: 12,
  model: 'structural',
};

describe('event records', () => {
  test('decodeEvent reads the usage of a settled turn, and leaves absent counts out', () => {
    const settled = { type: 'turn_settled', turn: 't1', state: 'completed' };
    const counts = { inputTokens: '900', outputTokens: '30', cachedTokens: '600', costMicros: '412' };
    expect(decodeEvent(ID, { ...settled, ...counts })).toMatchObject({
      usage: { inputTokens: 900, outputTokens: 30, cachedTokens: 600, costMicros: 412 },
    });
    expect(decodeEvent(ID, { ...settled, outputTokens: '30' })).toEqual({
      id: ID,
      at,
      ...settled,
      usage: { inputTokens: 0, outputTokens: 30 },
    });
    expect(decodeEvent(ID, settled)).toEqual({ id: ID, at, ...settled });
  });

  test('decodeEvent reads a stored version_committed event with its sizes and its model', () => {
    const { type, ...report } = { type: 'version_committed', ...versionEvent(version) };
    expect(decodeEvent(ID, { type, ...report })).toEqual({
      id: ID,
      at,
      type,
      version: 4,
      cause: 'pass',
      reasons: ['token_threshold', 'ratio'],
      strategy: 'summarize',
      archived: 7,
      tokensBefore: 900,
      tokensAfter: 300,
      durationMs: 12,
      model: 'structural',
    });
    const restored = versionEvent({ ...version, reasons: [], model: null });
    expect(decodeEvent(ID, { type, ...restored })).not.toHaveProperty('model');
    expect(decodeEvent(ID, { type, ...restored })).toMatchObject({ reasons: [] });
  });

  test('decodeEvent reads the stored events of a proposal and its decision', () => {
    const proposal: Proposal = { id: 'q1', version, summaries: {} };
    const proposed = decodeEvent(ID, { type: 'version_proposed', ...proposalEvent('p1', proposal) });
    expect(proposed).toMatchObject({ passId: 'p1', proposal: 'q1', tokensBefore: 900, tokensAfter: 300 });
    const reject = decisionEvent('q1', { kind: 'reject', reason: 'too short' });
    expect(decodeEvent(ID, { type: 'proposal_decided', ...reject })).toMatchObject({ reason: 'too short' });
    const silent = decisionEvent('q1', { kind: 'reject' });
    expect(decodeEvent(ID, { type: 'proposal_decided', ...silent })).not.toHaveProperty('reason');
    const approve = decisionEvent('q1', { kind: 'approve', edits: {} });
    expect(decodeEvent(ID, { type: 'proposal_decided', ...approve })).toMatchObject({ verdict: 'approve' });
  });

  test('decodeEvent reads the waiting calls of a turn with their deadlines, and marks arguments that the event contains only in part', () => {
    const text = 'x'.repeat(5_000);
    const calls = encodeWaitingCalls([
      { id: 'c1_0', name: 'refund', arguments: '{}', waitMs: 5 },
      { id: 'c1_1', name: 'note', arguments: text, waitMs: 9 },
    ]);
    const kept = { type: 'turn_waiting', turn: 't1', for: 'approval', until: '5', calls, deadlines: '5' };
    expect(decodeEvent(ID, kept)).toMatchObject({
      calls: [
        { id: 'c1_0', until: 5 },
        { id: 'c1_1', until: 5, isCut: true, arguments: text.slice(0, 2_000) },
      ],
    });
    expect(decodeEvent(ID, { ...kept, calls: '[' })).toMatchObject({ type: 'unknown', name: 'turn_waiting' });
  });

  test('decodeEvent returns an event of an unknown type as unknown, with its fields', () => {
    expect(decodeEvent(ID, { type: 'later', a: 'b' })).toEqual({
      id: ID,
      at,
      type: 'unknown',
      name: 'later',
      fields: { a: 'b' },
    });
    expect(decodeEvent(ID, {})).toMatchObject({ type: 'unknown', name: '' });
  });
});

describe('a context version', () => {
  test('shownKeys lists the keys under which the summaries of a context version are stored', () => {
    expect(shownKeys(version)).toEqual(['k1']);
  });

  test('checkHead accepts a log position between the last message that a context version covers and the end of the log', () => {
    expect(() => checkHead(3, { head: 9, version })).not.toThrow();
    for (const head of [2, 10, 3.5]) {
      expect(errorOf(() => checkHead(head, { head: 9, version }))).toMatchObject({
        code: 'invalid_input',
        field: 'head',
      });
    }
  });

  test('checkNumber refuses a context version whose number is not the next one', () => {
    expect(() => checkNumber({ expectedVersion: 3, version })).not.toThrow();
    expect(errorOf(() => checkNumber({ expectedVersion: 4, version }))).toMatchObject({ code: 'conflict' });
  });
});

describe('an error of the store', () => {
  test('the reason of a TurnfoldError is its message without the field name at the start', () => {
    expect(new TurnfoldError('invalid_input', 'a.b: too long', { field: 'a.b' }).reason).toBe('too long');
    expect(new TurnfoldError('gone', 'erased').reason).toBe('erased');
  });

  test('findWriteRefusal recognizes errors of a Redis that is full or accepts no writes', () => {
    const unavailable = (details?: Record<string, unknown>) =>
      new TurnfoldError('redis_unavailable', 'x', details === undefined ? {} : { details });
    expect(findWriteRefusal(new TurnfoldError('redis_full', 'x'))).toBe('redis_full');
    expect(findWriteRefusal(unavailable({ takesNoWrites: true }))).toBe('redis_unavailable');
    expect([unavailable(), unavailable({}), new Error('x')].map(findWriteRefusal)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
