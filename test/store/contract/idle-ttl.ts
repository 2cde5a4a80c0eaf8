import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import type { DueEntry } from '../../../src/store/due-work.ts';
import type { ExpireResult } from '../../../src/store/erase.ts';
import { appendOf, claimPass, commitOf, endOf, makeConversation, proposalOf, waitForPass } from '../pass-samples.ts';
import { acceptAndClaim, claimHead, newConversation, textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const HOUR_MS = 3_600_000;
/** Milliseconds that may pass between a write and the test's reading of it. */
const SLACK_MS = 2_000;
const BUSY_MS = 60_000;

/** Contract tests of conversations with an idle TTL, which are erased after that time without activity. */
export function describeIdleTtl(given: Given): void {
  async function sweep(limit = 100): Promise<readonly DueEntry[]> {
    const { store, shards, allowSweep } = given.harness();
    await allowSweep();
    return (await store.sweepShards(shards, limit)).due;
  }

  /** Expires a conversation by a new call. With `owner`, repeats an earlier call. */
  function expire(conversation: ConversationRef, owner: string = randomUUID()): Promise<ExpireResult> {
    return given.harness().store.expire(conversation, owner);
  }

  async function expectIdleTtl(conversation: ConversationRef, ms: number): Promise<void> {
    const due = (await given.harness().dueIn(conversation, 'r')) ?? 0;
    expect(due).toBeGreaterThan(ms - SLACK_MS);
    expect(due).toBeLessThanOrEqual(ms);
  }

  /** Runs one turn to its answer. @param conversationTtl as the worker's policy has it */
  async function answerTurn(conversation: ConversationRef, turn: string, conversationTtl?: number): Promise<void> {
    const { store } = given.harness();
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, turn);
    await store.recordStep(lease, textStep('model-1', state.head));
    const answerSeq = state.head + 1;
    await store.settle(lease, { state: 'completed', answerSeq, conversationTtl }, 'w');
  }

  /** Creates a conversation whose idle TTL has just passed. */
  async function makeRested(): Promise<ConversationRef> {
    const conversation = newConversation();
    await answerTurn(conversation, 't1', HOUR_MS);
    await given.harness().endIdleTtl(conversation);
    return conversation;
  }

  test('the idle TTL of a conversation starts when its turn is settled, and restarts at every later write', async () => {
    const { store, makeOverdue, conversation } = given.nothing();
    await answerTurn(conversation, 't1', HOUR_MS);
    await expectIdleTtl(conversation, HOUR_MS);
    expect(await store.readConversation(conversation)).toMatchObject({ conversationTtl: HOUR_MS });

    const events: Readonly<Record<string, () => Promise<unknown>>> = {
      append: () => store.append(appendOf(conversation, 2, 6)),
      commit: async () => store.commitVersion((await claimPass(store, conversation)).lease, commitOf(0, 2)),
      'end of a pass': async () => store.endPass((await claimPass(store, conversation)).lease, endOf()),
      restore: () =>
        store.replaceVersion({
          conversation,
          operation: 'restore',
          expectedVersion: 1,
          expectedHead: 8,
          version: { ...START_VERSION, number: 2, parent: 1, cause: 'restore' },
          backoff: endOf().backoff,
          keepsNewer: false,
          wakeTurn: 'w',
          keepVersions: 200,
        }),
      cancel: async () => {
        await store.accept(turnFor(conversation, 't2'));
        await store.cancel(conversation, 't2', 'w');
      },
      'failure of an agent that nobody knows': async () => {
        const { lease } = await acceptAndClaim(store, conversation, 't3');
        const failure = { code: 'unknown_agent', message: 'no agent' } as const;
        await store.settle(lease, { state: 'failed', failure }, 'w');
      },
    };
    for (const [name, happen] of Object.entries(events)) {
      await makeOverdue(conversation, 'r', 10_000);
      await happen();
      expect(await given.harness().dueIn(conversation, 'r'), name).toBeGreaterThan(HOUR_MS - SLACK_MS);
    }
  });

  test('a conversation is never due for expiry if its policy has no idle TTL', async () => {
    const { store, dueIn, conversation } = await given.log();
    await store.commitVersion((await claimPass(store, conversation)).lease, commitOf(0, 2, { conversationTtl: 0 }));
    await answerTurn(conversation, 't1', 0);
    await answerTurn(conversation, 't2');
    expect(await dueIn(conversation, 'r')).toBeUndefined();
    expect(await store.readConversation(conversation)).not.toHaveProperty('conversationTtl');
  });

  test('each write sets a conversation’s idle TTL to that of the writer’s policy, and 0 removes the idle TTL', async () => {
    const { store, dueIn, conversation, lease } = await given.pass();
    await store.commitVersion(lease, commitOf(0, 2, { conversationTtl: HOUR_MS }));
    await expectIdleTtl(conversation, HOUR_MS);
    await answerTurn(conversation, 't1', 2 * HOUR_MS);
    await expectIdleTtl(conversation, 2 * HOUR_MS);
    await store.endPass((await claimPass(store, conversation)).lease, endOf({ conversationTtl: 0 }));
    expect(await dueIn(conversation, 'r')).toBeUndefined();
    expect(await store.readConversation(conversation)).not.toHaveProperty('conversationTtl');
  });

  test('startIdleTtl restarts an existing idle TTL, but neither starts a new one nor creates a conversation', async () => {
    const { store, makeOverdue, endIdleTtl, dueIn } = given.harness();
    const [conversation, other] = [newConversation(), await makeConversation(store)];
    await answerTurn(conversation, 't1', HOUR_MS);
    await makeOverdue(conversation, 'r', 1);
    await store.startIdleTtl(conversation);
    await expectIdleTtl(conversation, HOUR_MS);
    await store.startIdleTtl(other);
    expect(await dueIn(other, 'r')).toBeUndefined();
    await endIdleTtl(conversation);
    expect(await expire(conversation)).toMatchObject({ status: 'expired' });
    await store.startIdleTtl(conversation);
    expect(await dueIn(conversation, 'r'), 'it is gone').toBeUndefined();
    expect(await store.readConversation(conversation)).toBeUndefined();
  });

  test('the idle TTL of a fork starts when the copy is complete or abandoned, and not while the copy runs', async () => {
    const { store, endIdleTtl, makeOverdue, abandonFork } = given.harness();
    const plan = { source: await makeConversation(store, 2), version: 0, head: 0 };
    const begin = async (): Promise<ConversationRef> => {
      const conversation = newConversation();
      await store.beginFork({ conversation, operation: 'op', agent: 'agent', plan, conversationTtl: HOUR_MS });
      return conversation;
    };
    const conversation = await begin();
    await makeOverdue(conversation, 'r', 1);
    const version = { ...START_VERSION, number: 1, parent: 0, cause: 'fork' } as const;
    expect(await store.endFork(conversation, 'op', version)).toEqual({ status: 'done' });
    await expectIdleTtl(conversation, HOUR_MS);

    const open = await begin();
    await endIdleTtl(open);
    expect(await expire(open), 'it is being copied').toEqual({ status: 'kept' });
    await abandonFork(open);
    expect(await expire(open), 'nobody goes on with it').toMatchObject({ status: 'expired' });
  });

  test('expire erases a conversation whose idle TTL has ended, and a second sweeper’s call erases nothing', async () => {
    const { store, dueIn, events } = given.harness();
    const [conversation, other] = [await makeRested(), newConversation()];
    await answerTurn(other, 't1', HOUR_MS);
    expect(await expire(conversation)).toMatchObject({ status: 'expired' });
    expect(await store.readConversation(conversation)).toBeUndefined();
    expect(await store.readTurn(conversation, 't1')).toBeUndefined();
    expect(await events(conversation)).toEqual([]);
    expect(await dueIn(conversation, 'r')).toBeUndefined();
    expect(await expire(conversation), 'a second sweeper').toEqual({ status: 'kept' });
    expect(await store.readConversation(other)).toMatchObject({ head: 2 });
  });

  test('expire removes as many keys of a conversation as erase does, and both remove the sweeper’s entry for it', async () => {
    const { store } = given.harness();
    const [one, other] = [await makeRested(), await makeRested()];
    const { removedKeys } = await store.erase(one);
    expect(await expire(other)).toEqual({ status: 'expired', removedKeys });
    for (const erased of [one, other]) expect(await given.harness().dueIn(erased, 'r')).toBeUndefined();
    expect(await store.requestPass({ conversation: other, reasons: [], passId: 'p', wake: 'w' })).toEqual({
      status: 'gone',
    });
  });

  test('a repeated expire call gets the same reply expired, and another caller’s later call gets the reply kept', async () => {
    const conversation = await makeRested();
    const told = await expire(conversation, 'one');
    expect(told).toMatchObject({ status: 'expired' });
    expect(await expire(conversation, 'one'), 'its reply was lost').toEqual(told);
    expect(await expire(conversation, 'another')).toEqual({ status: 'kept' });
    await answerTurn(conversation, 't1');
    expect(await expire(conversation, 'one'), 'made anew').toEqual({ status: 'kept' });
    await given.harness().store.erase(conversation);
    expect(await expire(conversation, 'one'), 'somebody asked for that').toEqual({ status: 'kept' });
  });

  test('expire keeps a conversation whose idle TTL has not ended, and schedules the next check at the end of the TTL', async () => {
    const { store, makeOverdue, conversation } = given.nothing();
    await answerTurn(conversation, 't1', HOUR_MS);
    await makeOverdue(conversation, 'r', 1);
    expect(await sweep()).toEqual([{ kind: 'idle', conversation }]);
    expect(await expire(conversation)).toEqual({ status: 'kept' });
    await expectIdleTtl(conversation, HOUR_MS);
    expect(await store.readConversation(conversation)).toMatchObject({ head: 2 });
  });

  test.each<readonly [string, (conversation: ConversationRef) => Promise<unknown>]>([
    ['a turn was queued', (ref) => given.harness().store.accept(turnFor(ref, 't2'))],
    ['a turn was claimed', (ref) => acceptAndClaim(given.harness().store, ref, 't2')],
    ['a turn was suspended', (ref) => waitForPass(given.harness().store, ref, 't2')],
    ['a turn was scheduled', (ref) => given.harness().store.accept(turnFor(ref, 't2', { delayMs: HOUR_MS }))],
    [
      'a pass was requested',
      (ref) => given.harness().store.requestPass({ conversation: ref, reasons: ['ratio'], passId: 'p', wake: 'w' }),
    ],
    ['a pass was claimed', (ref) => claimPass(given.harness().store, ref)],
    [
      'a version was proposed',
      async (ref) => {
        const { lease } = await claimPass(given.harness().store, ref);
        const waits = { proposal: proposalOf(0, 2), seenReasons: ['ratio'] as const, reviewMs: HOUR_MS };
        expect(await given.harness().store.proposeVersion(lease, waits)).toEqual({ status: 'proposed' });
      },
    ],
  ])('expire keeps an idle conversation if, after the sweep found it, %s', async (_, happen) => {
    const { store, dueIn } = given.harness();
    const conversation = await makeRested();
    expect(await sweep()).toEqual([{ kind: 'idle', conversation }]);
    await happen(conversation);
    expect(await expire(conversation)).toEqual({ status: 'kept' });
    expect(await store.readConversation(conversation)).toBeDefined();
    expect(await dueIn(conversation, 'r')).toBeGreaterThan(BUSY_MS - SLACK_MS);
  });

  test('expire keeps a conversation with a scheduled turn until that turn is settled', async () => {
    const { store, endIdleTtl, passDueTime, dueIn } = given.harness();
    const conversation = await makeRested();
    await store.accept(turnFor(conversation, 't2', { delayMs: HOUR_MS }));
    await passDueTime(conversation, 't2');
    expect(await expire(conversation), 'nobody has moved it yet').toEqual({ status: 'kept' });
    await store.promoteScheduled(conversation, 't2', 'w');
    expect(await expire(conversation)).toEqual({ status: 'kept' });
    const { lease, conversation: state } = await claimHead(store, conversation);
    await store.recordStep(lease, textStep('model-1', state.head));
    await store.settle(lease, { state: 'completed', answerSeq: state.head + 1, conversationTtl: HOUR_MS }, 'w');
    await expectIdleTtl(conversation, HOUR_MS);
    await endIdleTtl(conversation);
    expect(await expire(conversation)).toMatchObject({ status: 'expired' });
    expect(await dueIn(conversation, 'r')).toBeUndefined();
  });

  test('a write after an expiry creates the conversation again, and accepts the ids of earlier operations as new', async () => {
    const { store, dueIn, makeOverdue } = given.harness();
    const conversation = await makeConversation(store, 1);
    await answerTurn(conversation, 't1', HOUR_MS);
    const request = appendOf(conversation, 3, 1);
    await store.append(request);
    await given.harness().endIdleTtl(conversation);
    await expire(conversation);
    expect(await store.append(request), 'the head is another').toEqual({ status: 'conflict', head: 0 });
    const claim = await acceptAndClaim(store, conversation, 't1');
    expect(claim.conversation, 'the same id is a new turn').toMatchObject({ head: 1 });
    expect(await dueIn(conversation, 'r'), 'nobody has given the new one a time').toBeUndefined();
    await makeOverdue(conversation, 'r', 1);
    expect(await expire(conversation), 'a sweeper that froze').toEqual({ status: 'kept' });
    expect(await dueIn(conversation, 'r')).toBeUndefined();
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'running' });
  });

  test('expire keeps a conversation if one of its turns was settled after the sweep found it idle', async () => {
    const conversation = await makeRested();
    expect(await sweep()).toEqual([{ kind: 'idle', conversation }]);
    await answerTurn(conversation, 't2', HOUR_MS);
    expect(await expire(conversation)).toEqual({ status: 'kept' });
    await expectIdleTtl(conversation, HOUR_MS);
  });

  test('expire writes nothing for a conversation that does not exist', async () => {
    const { store, makeOverdue, dueIn, conversation } = given.nothing();
    await makeOverdue(conversation, 'r', 1);
    expect(await expire(conversation)).toEqual({ status: 'kept' });
    expect(await dueIn(conversation, 'r')).toBeUndefined();
    expect(await store.append(appendOf(conversation, 0, 1)), 'not marked as erased').toMatchObject({ from: 1 });
  });

  test('a sweep returns due turns and at most 10 idle conversations a shard, and makes these conversations due again after 5 s', async () => {
    const { store, shards, makeOverdue, dueIn, allowSweep } = given.harness();
    const rested = await makeRested();
    const conversation = newConversation();
    await store.accept(turnFor(conversation, 't1'));
    await makeOverdue(conversation, 't', 1);
    const due = await sweep();
    expect(due).toHaveLength(2);
    expect(due).toContainEqual({ kind: 'idle', conversation: rested });
    await expectIdleTtl(rested, 5_000);
    expect(await dueIn(conversation, 't')).toBeLessThanOrEqual(1_000);

    const many = Array.from({ length: 20 * shards.length }, () => newConversation());
    for (const one of many) await makeOverdue(one, 'r', 1);
    await allowSweep();
    const { due: next } = await store.sweepShards(shards, 100);
    expect(next.filter(({ kind }) => kind === 'idle').length).toBeLessThanOrEqual(10 * shards.length);
  });

  test('measureShards counts idle conversations separately from turns', async () => {
    const { store, makeOverdue, conversation } = given.nothing();
    await answerTurn(conversation, 't1', HOUR_MS);
    expect(await store.measureShards()).toMatchObject({ overdue: { idle: 0 }, oldestIdleMs: 0 });
    await makeOverdue(conversation, 'r', 60_000);
    const { overdue, oldestOverdueMs, oldestIdleMs } = await store.measureShards();
    expect(overdue).toEqual({ turn: 0, pass: 0, scheduled: 0, idle: 1 });
    expect(oldestOverdueMs).toBe(0);
    expect(oldestIdleMs).toBeGreaterThanOrEqual(60_000);
  });
}
