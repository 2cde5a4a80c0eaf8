import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import { CLOSING_RESULT } from '../../../src/domain/message.ts';
import { TURN_LIMITS, type Waiting, type WaitRequest } from '../../../src/domain/turn.ts';
import {
  acceptAndClaim,
  bring,
  callsStep,
  claimHead,
  newConversation,
  resultStep,
  textStep,
  toWaitFor,
  turnFor,
} from '../samples.ts';
import type { Given } from './fixture.ts';

const DAY_MS = 86_400_000;

function waitFor(kind: WaitRequest['for'], calls: string[] = [], step = 'step.1'): WaitRequest {
  return { for: kind, step, waitMs: DAY_MS, calls: toWaitFor(calls) };
}

export function describeWaits(given: Given): void {
  interface SuspendedTurn {
    readonly conversation: ConversationRef;
    readonly lease: TurnLease;
    readonly wait: WaitRequest;
    readonly waiting: Waiting;
  }

  /** Suspends a turn that called two tools and waits for both results. */
  async function waitForTools([first, second] = [DAY_MS, DAY_MS]): Promise<SuspendedTurn> {
    const { store } = given.harness();
    const conversation = newConversation();
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model.1', 1, 2));
    const calls = [...toWaitFor(['c2_0'], first), ...toWaitFor(['c2_1'], second)];
    const wait = { ...waitFor('tools'), calls };
    expect(await store.suspend(lease, wait)).toEqual({ status: 'suspended' });
    const { waiting } = (await store.readTurn(conversation, 't1')) ?? {};
    if (waiting === undefined) throw new Error('the turn does not wait');
    return { conversation, lease, wait, waiting };
  }

  test('suspend ends the worker’s lease, and the turn stays first in the mailbox and cannot be claimed before its deadline', async () => {
    const { store, observe } = given.harness();
    const { conversation, lease, waiting } = await waitForTools();
    await store.accept(turnFor(conversation, 't2'));
    const { shape, times } = await observe(conversation);
    expect([shape.owner, shape.attempts, shape.mailbox]).toEqual([undefined, 0, ['t1', 't2']]);
    expect(shape.turns['t1']).toMatchObject({ state: 'waiting', waiting: { for: 'tools', isFulfilled: false } });
    expect(times.ready['t'], 'accept does not move it: NX').toBe(waiting.until);
    expect(waiting).toMatchObject({ for: 'tools', step: 'step.1', calls: [{ id: 'c2_0' }, { id: 'c2_1' }] });
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'waiting', untilMs: waiting.until });
    expect(await store.heartbeat(lease), 'its owner has left').toEqual({ status: 'fenced' });
  });

  test('the deadline of a suspended turn is computed from the clock of the store', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const before = (await observe(conversation)).times.now;
    await store.suspend(lease, waitFor('retry'));
    const after = (await observe(conversation)).times.now;
    const { waiting } = (await store.readTurn(conversation, 't1')) ?? {};
    expect(waiting?.until).toBeGreaterThanOrEqual(before + DAY_MS);
    expect(waiting?.until).toBeLessThanOrEqual(after + DAY_MS);
  });

  test('a claim of a waiting turn before its deadline is refused and makes the turn due again at the deadline', async () => {
    const { store, observe, makeOverdue } = given.harness();
    const { conversation, waiting } = await waitForTools();
    await makeOverdue(conversation, 't', -60_000);
    expect((await observe(conversation)).times.ready['t']).not.toBe(waiting.until);
    await store.claim(conversation, 'o', 'w');
    expect((await observe(conversation)).times.ready['t']).toBe(waiting.until);
  });

  test('a turn keeps the ids of the last requests with answers, each id once, even after it has settled', async () => {
    const { store } = given.harness();
    const { conversation } = await waitForTools();
    const answerBy = async (request: string | undefined, call: string) =>
      await store.answerTurn({ conversation, turn: 't1', answers: bring([call]), wake: 'w', request });
    await answerBy(undefined, 'c2_0');
    expect(await store.readTurn(conversation, 't1')).not.toHaveProperty('requests');
    const ids = Array.from({ length: 17 }, (_, index) => `r${index}`);
    for (const id of ids) for (const call of ['c2_0', 'c2_1']) await answerBy(id, call);
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ requests: ids.slice(1) });
    await store.cancel(conversation, 't1', 'w');
    await answerBy('late', 'c2_0');
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ requests: [...ids.slice(2), 'late'] });
  });

  test('a turn that waits again starts the wait unfulfilled, although the turn’s earlier wait was fulfilled', async () => {
    const { store } = given.harness();
    const { conversation } = await waitForTools();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0', 'c2_1']), wake: 'w' });
    const { lease } = await claimHead(store, conversation);
    await store.suspend(lease, waitFor('retry', [], 'step.2'));
    expect(await store.claim(conversation, 'o', 'w')).toMatchObject({ status: 'waiting' });
  });

  test('a repeated suspend writes nothing, and is refused as fenced after the next claim of the turn', async () => {
    const { store, observe, passDeadline } = given.harness();
    const { conversation, lease, wait, waiting } = await waitForTools();
    const before = await observe(conversation);
    expect(await store.suspend(lease, wait)).toEqual({ status: 'suspended' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
    expect(await store.readTurn(conversation, 't1'), 'the deadline stands').toMatchObject({ waiting });
    await passDeadline(conversation, 't1');
    await claimHead(store, conversation);
    expect(await store.suspend(lease, wait)).toEqual({ status: 'fenced' });
  });

  test('a suspension of a turn does not count as an attempt, so a turn can be claimed after four rate limits', async () => {
    const { store, passDeadline, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    for (let count = 0; count < TURN_LIMITS.maxAttempts + 1; count += 1) {
      const { lease, attempt } = await claimHead(store, conversation);
      expect(attempt).toBe(1);
      await store.suspend(lease, waitFor('retry'));
      await passDeadline(conversation, 't1');
    }
  });

  test('suspend accepts 20 waits of the same step for compaction, and refuses the 21st wait', async () => {
    const { store, observe, passDeadline, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    for (let count = 0; count < TURN_LIMITS.maxSuspensions; count += 1) {
      const { lease } = await claimHead(store, conversation);
      expect(await store.suspend(lease, waitFor('compaction'))).toEqual({ status: 'suspended' });
      await passDeadline(conversation, 't1');
    }
    const { lease } = await claimHead(store, conversation);
    const before = await observe(conversation);
    expect(await store.suspend(lease, waitFor('compaction'))).toEqual({ status: 'exhausted' });
    expect(await store.suspend(lease, waitFor('compaction'))).toEqual({ status: 'exhausted' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
    expect(await store.suspend(lease, waitFor('compaction', [], 'step.2')), 'another step may').toEqual({
      status: 'suspended',
    });
  });

  test('a wait with a maximum time may be repeated any number of times within that time, and ends with it', async () => {
    const { store, passDeadline, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    for (let count = 0; count < TURN_LIMITS.maxSuspensions + 5; count += 1) {
      const { lease } = await claimHead(store, conversation);
      const wait = { ...waitFor('retry'), waitMs: 60_000, maxMs: DAY_MS, isHeld: true };
      expect(await store.suspend(lease, wait)).toEqual({ status: 'suspended' });
      await passDeadline(conversation, 't1');
    }
    const claimed = await claimHead(store, conversation);
    expect(claimed.waited).toMatchObject({ for: 'retry', isHeld: true });
    const short = { ...waitFor('retry', [], 'step.2'), waitMs: 60_000, maxMs: 2_000 };
    expect(await store.suspend(claimed.lease, short)).toEqual({ status: 'suspended' });
    await passDeadline(conversation, 't1');
    const { lease, waited } = await claimHead(store, conversation);
    expect(waited?.isHeld).toBeUndefined();
    expect((waited?.until ?? 0) - (waited?.since ?? 0)).toBeLessThanOrEqual(2_000);
    expect(await store.suspend(lease, { ...short, maxMs: 0 })).toEqual({ status: 'exhausted' });
    expect(await store.suspend(lease, { ...waitFor('compaction', [], 'step.2') })).toEqual({ status: 'suspended' });
  });

  test('only the first wait of a step at a rate-limit gate emits an event', async () => {
    const { store, observe, passDeadline, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const wait = async (step: string, isHeld?: true) => {
      const { lease } = await claimHead(store, conversation);
      await store.suspend(lease, {
        ...waitFor('retry', [], step),
        waitMs: 60_000,
        maxMs: DAY_MS,
        ...(isHeld && { isHeld }),
      });
      await passDeadline(conversation, 't1');
      const { events } = (await observe(conversation)).shape;
      return events.filter((event) => event.startsWith('turn_waiting')).length;
    };
    expect(await wait('step.1', true)).toBe(1);
    expect(await wait('step.1', true)).toBe(1);
    expect(await wait('step.1', true)).toBe(1);
    expect(await wait('step.1'), 'a retry that the gate did not choose').toBe(2);
    expect(await wait('step.1', true)).toBe(3);
    expect(await wait('step.2', true)).toBe(4);
    expect(await wait('step.2', true)).toBe(4);
  });

  /** Suspends a turn that waits a minute for its first tool call and a day for its second. */
  const waitForTwo = (): Promise<SuspendedTurn> => waitForTools([60_000, DAY_MS]);

  async function readWaiting(conversation: ConversationRef): Promise<Waiting> {
    const { waiting } = (await given.harness().store.readTurn(conversation, 't1')) ?? {};
    if (waiting === undefined) throw new Error('the turn does not wait');
    return waiting;
  }

  test('a waiting turn continues at the earliest deadline of the calls that it waits for', async () => {
    const { store, observe } = given.harness();
    const { conversation, waiting } = await waitForTwo();
    const { since, until } = waiting;
    expect(until).toBe(since + 60_000);
    expect(waiting.calls.map((call) => call.until - since)).toEqual([60_000, DAY_MS]);
    expect((await observe(conversation)).times.ready['t']).toBe(until);
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'waiting', untilMs: until });
  });

  test('an answer to the tool call with the earliest deadline makes the waiting turn due at the next call’s deadline', async () => {
    const { store, observe } = given.harness();
    const { conversation, waiting } = await waitForTwo();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w' });
    const next = waiting.since + DAY_MS;
    expect(await readWaiting(conversation)).toMatchObject({ until: next });
    expect((await observe(conversation)).times.ready['t']).toBe(next);
  });

  test('a tool call keeps its deadline if the turn is suspended for the same call again', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation, wait, waiting } = await waitForTwo();
    await passDeadline(conversation, 't1');
    const { lease, waited } = await claimHead(store, conversation);
    expect(waited?.calls.map(({ id }) => id)).toEqual(['c2_0', 'c2_1']);
    await store.recordStep(lease, resultStep('tool:c2_0', 'c2_0'));
    const later = toWaitFor(['c2_1'], 2 * DAY_MS);
    await store.suspend(lease, { ...wait, waitMs: 2 * DAY_MS, calls: later });
    const until = waiting.since + DAY_MS;
    expect(await readWaiting(conversation)).toMatchObject({ until, calls: [{ id: 'c2_1', until }] });
  });

  test('answerTurn accepts an answer to a tool call while a worker answers another call whose deadline has passed', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation, wait } = await waitForTwo();
    await passDeadline(conversation, 't1');
    const { lease } = await claimHead(store, conversation);
    const late = { conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w' };
    expect(await store.answerTurn(late)).toEqual({ status: 'not_waiting', call: 'c2_0' });
    const inTime = { ...late, answers: bring(['c2_1']) };
    expect(await store.answerTurn(inTime)).toEqual({ status: 'answered' });
    await store.recordStep(lease, resultStep('tool:c2_0', 'c2_0'));
    await store.suspend(lease, { ...wait, calls: toWaitFor(['c2_1']) });
    const { answers, waited } = await claimHead(store, conversation);
    expect(waited).toMatchObject({ isFulfilled: true });
    expect([...answers.keys()]).toEqual(['c2_1']);
  });

  test('answerTurn accepts an answer after another call’s deadline, even if a worker claimed and released the turn since', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation, wait } = await waitForTwo();
    await passDeadline(conversation, 't1');
    const { lease } = await claimHead(store, conversation);
    await store.release(lease, 'back');
    const answer = { conversation, turn: 't1', answers: bring(['c2_1']), wake: 'w' };
    expect(await store.answerTurn(answer)).toEqual({ status: 'answered' });
    const next = await claimHead(store, conversation);
    expect([...next.answers.keys()]).toEqual(['c2_1']);
    await store.recordStep(next.lease, resultStep('tool:c2_0', 'c2_0'));
    expect(await store.suspend(next.lease, { ...wait, calls: toWaitFor(['c2_1']) })).toEqual({ status: 'suspended' });
    expect((await claimHead(store, conversation)).waited).toMatchObject({ isFulfilled: true });
  });

  test('waits for tool results do not count against the limit of suspensions, so a turn can wait 25 times', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation, wait } = await waitForTwo();
    for (let count = 0; count < TURN_LIMITS.maxSuspensions + 5; count += 1) {
      await passDeadline(conversation, 't1');
      const { lease } = await claimHead(store, conversation);
      expect(await store.suspend(lease, wait)).toEqual({ status: 'suspended' });
    }
  });

  test('each wait of a turn for tool calls emits one event with these calls and their deadlines', async () => {
    const { store, observe, passDeadline } = given.harness();
    const { conversation, lease, wait } = await waitForTools([60_000, DAY_MS]);
    await store.suspend(lease, wait);
    const call = (id: string) => `{"id":"${id}","name":"read","arguments":"{\\"lines\\":[]}"}`;
    const told = (...ids: readonly string[]) =>
      `turn_waiting t1 tools <time> [${ids.map(call).join()}] ${ids.map(() => '<time>').join()}`;
    expect((await observe(conversation)).shape.events).toEqual([told('c2_0', 'c2_1')]);
    await passDeadline(conversation, 't1');
    const again = await claimHead(store, conversation);
    await store.suspend(again.lease, { ...wait, calls: toWaitFor(['c2_1']) });
    expect((await observe(conversation)).shape.events.slice(1)).toEqual([told('c2_1')]);
  });

  test('a turn’s wait emits no event if all its tool calls were answered before the wait began', async () => {
    const { store, observe, passDeadline } = given.harness();
    const { conversation, wait } = await waitForTools();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w' });
    await passDeadline(conversation, 't1');
    const { lease } = await claimHead(store, conversation);
    await store.suspend(lease, { ...wait, calls: toWaitFor(['c2_0']) });
    expect((await observe(conversation)).shape.events).toHaveLength(1);
  });

  test('a claim of a waiting turn after its deadline returns the wait as unfulfilled, also when the claim is repeated', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation } = await waitForTools();
    await passDeadline(conversation, 't1');
    const reply = await store.claim(conversation, 'o', 'w');
    expect(reply).toMatchObject({
      status: 'claimed',
      turn: {
        attempt: 1,
        waited: { for: 'tools', step: 'step.1', calls: [{ id: 'c2_0' }, { id: 'c2_1' }], isFulfilled: false },
      },
    });
    expect(await store.claim(conversation, 'o', 'w')).toEqual(reply);
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'running' });
    const late = { conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w2' };
    expect(await store.answerTurn(late), 'too late').toEqual({ status: 'not_waiting', call: 'c2_0' });
  });

  test('each claim of a turn returns its last wait until each awaited tool call has a result', async () => {
    const { store, passDeadline, lapseLease, conversation, claimed: first } = await given.running();
    await store.recordStep(first.lease, callsStep('model.1', 1, 2));
    await store.suspend(first.lease, waitFor('approval', ['c2_0', 'c2_1'], 'tool:c2_0'));
    await passDeadline(conversation, 't1');
    await claimHead(store, conversation);
    await lapseLease('turn', conversation);
    const second = await claimHead(store, conversation);
    expect(second.waited).toMatchObject({ for: 'approval' });
    await store.recordStep(second.lease, resultStep('tool:c2_0', 'c2_0'));
    await lapseLease('turn', conversation);
    const third = await claimHead(store, conversation);
    expect(third.waited, 'one of its calls is still open').toMatchObject({ for: 'approval' });
    await store.recordStep(third.lease, resultStep('tool:c2_1', 'c2_1'));
    await lapseLease('turn', conversation);
    expect((await claimHead(store, conversation)).waited).toBeUndefined();
  });

  test('the answer to the last awaited call fulfils the wait and wakes the turn', async () => {
    const { store, observe } = given.harness();
    const { conversation } = await waitForTools();
    const first = { conversation, turn: 't1', answers: bring(['c2_1']), wake: 'w1' };
    expect(await store.answerTurn(first)).toEqual({ status: 'still_waiting' });
    expect(await store.answerTurn(first)).toEqual({ status: 'still_waiting' });
    expect(await store.claim(conversation, 'o', 'w')).toMatchObject({ status: 'waiting' });
    const second = { conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w2' };
    expect(await store.answerTurn(second)).toEqual({ status: 'answered', wake: 'w2' });
    const before = await observe(conversation);
    expect(await store.answerTurn(second), 'sent again').toEqual({ status: 'answered', wake: 'w2' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
    expect(before.shape.wake).toBe('w2');
    expect(before.times.ready['t']).toBeLessThan(before.times.now + DAY_MS / 2);
    const { waited, answers } = await claimHead(store, conversation);
    expect(waited).toMatchObject({ for: 'tools', isFulfilled: true });
    expect(waited?.since).toBe((waited?.until ?? 0) - DAY_MS);
    expect(answers).toEqual(new Map(['c2_0', 'c2_1'].map((call) => [call, `{"output":"of ${call}","list":[]}`])));
    expect(await store.answerTurn(second), 'after the claim: no wake any more').toEqual({ status: 'answered' });
  });

  test('repeated answers get the same reply after the turn has continued, waits again or is settled', async () => {
    const { store, observe } = given.harness();
    const { conversation } = await waitForTools();
    const known = { conversation, turn: 't1', answers: bring(['c2_0', 'c2_1']), wake: 'w1' };
    const late = { ...known, answers: bring(['c2_0', 'c9_0']) };
    await store.answerTurn(known);
    const { lease } = await claimHead(store, conversation);
    await store.recordStep(lease, resultStep('step.1', 'c2_0'));
    await store.recordStep(lease, resultStep('tool:c2_1', 'c2_1'));
    const check = async (): Promise<void> => {
      const before = await observe(conversation);
      expect(await store.answerTurn(known)).toEqual({ status: 'answered' });
      expect(await store.answerTurn(late), 'one of them never came').toEqual({ status: 'not_waiting', call: 'c9_0' });
      expect((await observe(conversation)).shape).toEqual(before.shape);
    };
    await check();
    await store.recordStep(lease, callsStep('model.2', 4, 1));
    await store.suspend(lease, waitFor('tools', ['c5_0'], 'step.2'));
    await check();
    expect(await store.answerTurn({ ...known, answers: bring(['c5_0']) })).toMatchObject({
      status: 'answered',
    });
    const again = await claimHead(store, conversation);
    await store.recordStep(again.lease, resultStep('step.2', 'c5_0'));
    await store.recordStep(again.lease, textStep('model.3', 6));
    await store.settle(again.lease, { state: 'completed', answerSeq: 7 }, 'w2');
    await check();
  });

  test('a second answer to the same tool call does not replace the first answer', async () => {
    const { store } = given.harness();
    const { conversation } = await waitForTools();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0'], 'tools', () => '1'), wake: 'w' });
    await store.answerTurn({
      conversation,
      turn: 't1',
      answers: bring(['c2_0', 'c2_1'], 'tools', () => '2'),
      wake: 'w',
    });
    expect((await claimHead(store, conversation)).answers.get('c2_0')).toBe('1');
  });

  test('answerTurn refuses an answer to a call that the turn does not wait for', async () => {
    const { store, observe } = given.harness();
    const { conversation } = await waitForTools();
    const stranger = { conversation, turn: 't1', answers: bring(['c9_0']), wake: 'w' };
    expect(await store.answerTurn(stranger)).toEqual({ status: 'not_waiting', call: 'c9_0' });
    expect((await observe(conversation)).shape.turns['t1']?.answers).toEqual({});
  });

  test('answerTurn stores none of several answers if the turn does not wait for one of the calls', async () => {
    const { store, observe } = given.harness();
    const { conversation } = await waitForTools();
    const before = await observe(conversation);
    for (const calls of [
      ['c2_0', 'c2_1', 'c9_0'],
      ['c9_0', 'c2_0'],
    ]) {
      const mixed = { conversation, turn: 't1', answers: bring(calls), wake: 'w' };
      expect(await store.answerTurn(mixed)).toEqual({ status: 'not_waiting', call: 'c9_0' });
    }
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('answerTurn accepts a new answer together with a repeated answer of the turn’s earlier wait', async () => {
    const { store } = given.harness();
    const { conversation } = await waitForTools();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0', 'c2_1']), wake: 'w' });
    const { lease } = await claimHead(store, conversation);
    await store.recordStep(lease, resultStep('step.1', 'c2_0'));
    await store.recordStep(lease, resultStep('tool:c2_1', 'c2_1'));
    await store.recordStep(lease, callsStep('model.2', 4, 1));
    await store.suspend(lease, waitFor('approval', ['c5_0'], 'step.2'));
    const answers = new Map([...bring(['c2_1']), ...bring(['c5_0'], 'approval')]);
    expect(await store.answerTurn({ conversation, turn: 't1', answers, wake: 'w2' })).toMatchObject({
      status: 'answered',
    });
  });

  test.each(['tools', 'approval'] as const)(
    'answerTurn refuses answers of the wrong kind for a turn that waits for %s, and stores none of them',
    async (kind) => {
      const { store, observe, conversation, lease } = await given.running();
      await store.recordStep(lease, callsStep('model.1', 1, 2));
      await store.suspend(lease, waitFor(kind, ['c2_0', 'c2_1']));
      const before = await observe(conversation);
      const other = kind === 'tools' ? 'approval' : 'tools';
      const mixed = new Map([...bring(['c2_0'], kind), ...bring(['c2_1'], other)]);
      expect(await store.answerTurn({ conversation, turn: 't1', answers: mixed, wake: 'w' })).toEqual({
        status: 'other_kind',
        call: 'c2_1',
        for: kind,
      });
      expect((await observe(conversation)).shape).toEqual(before.shape);
      const right = { conversation, turn: 't1', answers: bring(['c2_0', 'c2_1'], kind), wake: 'w1' };
      expect(await store.answerTurn(right)).toEqual({ status: 'answered', wake: 'w1' });
      const wrong = { ...right, answers: bring(['c2_0'], other) };
      expect(await store.answerTurn(wrong), 'though the first one counts').toMatchObject({ status: 'other_kind' });
    },
  );

  test('answerTurn replies not_found for an unknown turn, and not_waiting for a turn that does not wait', async () => {
    const { store, conversation } = given.nothing();
    const request = { conversation, turn: 't1', answers: bring(['c1_0']), wake: 'w' };
    expect(await store.answerTurn(request)).toEqual({ status: 'not_found' });
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    expect(await store.answerTurn(request)).toEqual({ status: 'not_waiting', call: 'c1_0' });
    await store.suspend(lease, waitFor('retry'));
    expect(await store.answerTurn(request)).toEqual({ status: 'not_waiting', call: 'c1_0' });
  });

  test('a claim of a waiting turn returns its wait as fulfilled if all awaited tool calls were answered before the wait', async () => {
    const { store } = given.harness();
    const { conversation } = await waitForTools();
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0', 'c2_1']), wake: 'w' });
    const { lease } = await claimHead(store, conversation);
    await store.suspend(lease, waitFor('tools', ['c2_0'], 'step.2'));
    expect((await claimHead(store, conversation)).waited).toMatchObject({ step: 'step.2', isFulfilled: true });
  });

  type Ending = (suspended: SuspendedTurn) => Promise<unknown>;
  const ENDINGS: readonly (readonly [string, Ending])[] = [
    ['canceled', ({ conversation }) => given.harness().store.cancel(conversation, 't1', 'w9')],
    [
      'failed',
      async ({ conversation }) => {
        const { store, passDeadline } = given.harness();
        await passDeadline(conversation, 't1');
        const { lease } = await claimHead(store, conversation);
        await store.settle(lease, { state: 'failed', failure: { code: 'turn_timeout', message: 'm' } }, 'w9');
      },
    ],
    [
      'poison',
      async ({ conversation }) => {
        await given.harness().passDeadline(conversation, 't1');
        await given.killOwners(conversation);
        await given.harness().store.claim(conversation, 'o9', 'w9');
      },
    ],
  ];

  test.each(ENDINGS)(
    'if a turn ends as %s before it used an accepted answer, the log gets that answer, and an error result for the unanswered call',
    async (_, end) => {
      const { store, observe } = given.harness();
      const suspended = await waitForTools();
      const { conversation } = suspended;
      const json = '{"content":"the \\"list\\" is [] and {}\\n"}';
      const answer = { for: 'tools' as const, json, unused: { tokens: 31, bytes: 27 }, verdict: 'r1' };
      const answers = new Map([['c2_1', answer]]);
      expect(await store.answerTurn({ conversation, turn: 't1', answers, wake: 'w' })).toEqual({
        status: 'still_waiting',
      });
      await end(suspended);
      const { shape } = await observe(conversation);
      expect(shape.turns['t1']?.state).toMatch(/canceled|failed/);
      expect(shape.log.slice(2)).toMatchObject([
        { toolCallId: 'c2_0', content: CLOSING_RESULT.content },
        { toolCallId: 'c2_1', content: 'the "list" is [] and {}\n' },
      ]);
      const [error, result] = shape.log.slice(2);
      expect((result?.totalTokens ?? 0) - (error?.totalTokens ?? 0)).toBe(31);
      expect((result?.totalBytes ?? 0) - (error?.totalBytes ?? 0)).toBe(27);
    },
  );

  test('if a turn is canceled before it used an accepted approval decision, the log has that decision', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 1));
    await store.suspend(lease, waitFor('approval', ['c2_0']));
    const unused = { tokens: 3, bytes: 12, json: '{"content":"denied: no","isError":true}' };
    const decided = { for: 'approval' as const, json: '{"approved":false,"why":"no"}', unused, verdict: 'denied' };
    const resumed = await store.answerTurn({
      conversation,
      turn: 't1',
      answers: new Map([['c2_0', decided]]),
      wake: 'w',
    });
    expect(resumed).toMatchObject({ status: 'answered' });
    await store.cancel(conversation, 't1', 'w9');
    expect((await observe(conversation)).shape.log.at(-1)).toMatchObject({
      toolCallId: 'c2_0',
      content: 'denied: no',
    });
  });
}
