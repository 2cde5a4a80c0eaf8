import { expect, test } from 'vitest';
import { CLOSING_RESULT } from '../../../src/domain/message.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import type { StepOutcome } from '../../../src/store/turn-steps.ts';
import { appendOf, commitOf } from '../pass-samples.ts';
import {
  acceptAndClaim,
  callsStep,
  claimHead,
  newConversation,
  resultStep,
  textStep,
  turnFor,
  weigh,
} from '../samples.ts';
import type { Given } from './fixture.ts';

function manyMessages(count: number): StepOutcome {
  const messages = Array.from({ length: count }, (_, at) => weigh({ role: 'assistant', content: `part ${at}` }));
  return { ...textStep('model.1', 1), messages };
}

export function describeClaim(given: Given): void {
  test('a claim in a conversation with an empty mailbox replies empty and removes the sweeper’s entry for its turns', async () => {
    const { store, observe, conversation } = given.nothing();
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'empty' });
    expect((await observe(conversation)).shape.ready).toEqual([]);
  });

  test('a claim of a turn in an erased conversation replies gone', async () => {
    const { store, markGone, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await markGone(conversation);
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'gone' });
  });

  test('a claim by a worker without the agent of the turn writes nothing, and a worker with the agent claims the turn', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const { shape } = await observe(conversation);
    for (const agents of [[], ['other', 'agent-2', 'age']]) {
      expect(await store.claim(conversation, 'o', 'w', agents)).toEqual({ status: 'unserved', agent: 'agent' });
    }
    expect((await observe(conversation)).shape).toEqual(shape);
    expect(await store.claim(conversation, 'o', 'w', ['other', 'agent'])).toMatchObject({ status: 'claimed' });
  });

  test('a claim returns the first turn of the mailbox and appends its user message to the log once', async () => {
    const { store, observe, lapseLease, conversation } = given.nothing();
    const request = turnFor(conversation, 't1');
    const claimed = await acceptAndClaim(store, conversation, 't1');
    expect(claimed).toMatchObject({ agent: 'agent', attempt: 1, inputSeq: 1, conversation: { head: 1, turns: 1 } });
    expect(claimed.lease).toMatchObject({ conversation, turn: 't1' });
    expect(claimed.waited).toBeUndefined();
    const { shape, times } = await observe(conversation);
    expect(shape.log).toEqual([
      {
        role: 'user',
        content: request.input.message.content,
        turn: 't1',
        totalTokens: request.input.tokens,
        totalBytes: request.input.bytes,
      },
    ]);
    expect(shape.turns['t1']).toMatchObject({ state: 'running', hasInput: false });
    expect(times.lease).toBeGreaterThan(times.now);
    expect(claimed.claimedAt).toBeGreaterThanOrEqual(claimed.acceptedAt);
    expect(claimed.claimedAt).toBeLessThanOrEqual(times.now);
    expect(times.ready['t'], 'looked at again when the lease ends').toBe(times.lease);
    await lapseLease('turn', conversation);
    const second = await claimHead(store, conversation);
    expect(second).toMatchObject({ attempt: 2, inputSeq: 1, conversation: { head: 1 } });
  });

  test('a claim returns the earlier messages of a short context, and none in a new conversation', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const first = await claimHead(store, conversation);
    expect(first.earlier).toEqual([]);
    await store.recordStep(first.lease, callsStep('model.1', 1, 1));
    await store.recordStep(first.lease, resultStep('tool:c2_0', 'c2_0'));
    await store.release(first.lease, 'w');
    const again = await claimHead(store, conversation);
    expect([again.input, again.earlier?.map(({ role }) => role)]).toEqual([undefined, ['user', 'assistant', 'tool']]);
    await store.settle(again.lease, { state: 'completed', answerSeq: 4, step: textStep('model.2', 3) }, 'w');
    await store.accept(turnFor(conversation, 't2'));
    const { earlier, input } = await claimHead(store, conversation);
    const log = await store.readLog(conversation, [{ from: 1, to: 5 }]);
    expect([...(earlier ?? []), input]).toEqual(log.map(({ message }) => message));
  });

  test('a claim returns no earlier messages if they are more than its limit of messages or of bytes', async () => {
    const { store, conversation, lease } = await given.running();
    await store.settle(
      lease,
      { state: 'completed', answerSeq: 2, step: manyMessages(TURN_LIMITS.claimedMessages) },
      'w',
    );
    await store.accept(turnFor(conversation, 't2'));
    expect((await claimHead(store, conversation)).earlier).toBeUndefined();
    const long = newConversation();
    const { lease: other } = await acceptAndClaim(store, long, 't1');
    const step = textStep('model.1', 1, 'ü'.repeat(TURN_LIMITS.claimedBytes / 2));
    await store.settle(other, { state: 'completed', answerSeq: 2, step }, 'w');
    await store.accept(turnFor(long, 't2'));
    expect((await claimHead(store, long)).earlier).toBeUndefined();
  });

  test('a claim returns no earlier messages after compaction has changed the context', async () => {
    const { store, conversation, lease } = await given.pass();
    await store.commitVersion(lease, commitOf(0, 4));
    await store.accept(turnFor(conversation, 't9'));
    expect((await claimHead(store, conversation)).earlier).toBeUndefined();
  });

  test('isFirstClaim is true only for the first claim after a turn was accepted or last suspended', async () => {
    const {
      store,
      conversation,
      lease,
      claimed: { isFirstClaim },
    } = await given.running();
    expect(isFirstClaim).toBe(true);
    const again = await store.claim(conversation, lease.owner, 'w');
    expect(again, 'I5').toMatchObject({ turn: { isFirstClaim: true } });
    await store.release(lease, 'back');
    const second = await claimHead(store, conversation);
    expect(second).toMatchObject({ attempt: 1, isFirstClaim: false });
    await store.recordStep(second.lease, textStep('model-1', 1));
    await store.suspend(second.lease, { for: 'retry', step: 'model-2', waitMs: 0, calls: [] });
    const third = await claimHead(store, conversation);
    expect(third).toMatchObject({ isFirstClaim: true, waited: { steps: 1 } });
    await store.accept(turnFor(conversation, 't2'));
    const settled = await store.settle(third.lease, { state: 'completed', answerSeq: 2 }, undefined);
    expect(settled).toMatchObject({ next: { isFirstClaim: true } });
  });

  test('a claim of a turn is refused while another worker has the turn’s lease', async () => {
    const { store, observe, conversation } = given.nothing();
    await acceptAndClaim(store, conversation, 't1');
    const before = await observe(conversation);
    const reply = await store.claim(conversation, 'other', 'w');
    expect(reply).toEqual({ status: 'leased', untilMs: before.times.lease });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('a repeated claim by the same owner gets the same turn and the same epoch (the number that fences former owners)', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const first = await store.claim(conversation, 'o', 'w');
    expect(await store.claim(conversation, 'o', 'w')).toEqual(first);
  });

  test('a claim of a turn whose lease has lapsed raises the epoch, so that writes of the former owner are refused', async () => {
    const { store, lapseLease, conversation, claimed: first } = await given.running();
    await lapseLease('turn', conversation);
    const second = await claimHead(store, conversation);
    expect(second.lease.epoch).toBeGreaterThan(first.lease.epoch);
    const fenced = { status: 'fenced' };
    expect(await store.heartbeat(first.lease)).toEqual(fenced);
    expect(await store.startSteps(first.lease, ['s'])).toEqual(fenced);
    expect(await store.recordStep(first.lease, textStep('s', 1))).toEqual(fenced);
    expect(await store.suspend(first.lease, { for: 'retry', step: 's', waitMs: 1_000, calls: [] })).toEqual(fenced);
    expect(await store.settle(first.lease, { state: 'completed', answerSeq: 1 }, 'w')).toEqual(fenced);
  });

  test('if a worker claims a turn again after the turn’s suspension, writes under that worker’s former lease are refused', async () => {
    const { store, passDeadline, conversation, lease } = await given.running();
    await store.suspend(lease, { for: 'retry', step: 's', waitMs: 60_000, calls: [] });
    await passDeadline(conversation, 't1');
    expect(await store.claim(conversation, lease.owner, 'w')).toMatchObject({ status: 'claimed' });
    expect(await store.heartbeat(lease)).toEqual({ status: 'fenced' });
  });

  test('a worker with the lease of the first turn in the mailbox cannot write for the next turn', async () => {
    const { store, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    const other = { ...lease, turn: 't2' };
    expect(await store.heartbeat(other)).toEqual({ status: 'fenced' });
    expect(await store.settle(other, { state: 'completed', answerSeq: 1 }, 'w')).toEqual({ status: 'fenced' });
  });

  test('the next claim of a turn returns its recorded steps and its tool calls without results', async () => {
    const { store, lapseLease, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 1));
    await store.startSteps(lease, ['tool:c2_0']);
    await lapseLease('turn', conversation);
    const { steps, conversation: state } = await claimHead(store, conversation);
    expect(steps.get('model.1')).toMatchObject({ status: 'done', seqs: { from: 2, to: 2 } });
    expect(steps.get('tool:c2_0')).toMatchObject({ status: 'started' });
    expect(state.openCalls).toEqual([{ id: 'c2_0', providerId: 'call_c2_0' }]);
  });

  test('a claim appends results for tool calls that the caller’s own model loop left unanswered, before the user message of the turn', async () => {
    const { store, observe, conversation } = given.nothing();
    const { messages, opens } = callsStep('', 0, 1);
    await store.append({ ...appendOf(conversation, 0, 0), messages, opens });
    await acceptAndClaim(store, conversation, 't1');
    const { log, openCalls } = (await observe(conversation)).shape;
    expect(log.map(({ role, toolCallId }) => [role, toolCallId])).toEqual([
      ['assistant', undefined],
      ['tool', 'c1_0'],
      ['user', undefined],
    ]);
    expect(openCalls).toEqual({});
  });

  test('a turn whose workers died in three claims is settled as failed (poison), and the next turn can be claimed', async () => {
    const { store, observe, lapseLease, conversation } = given.nothing();
    for (const turn of ['bad', 'good']) await store.accept(turnFor(conversation, turn));
    const first = await claimHead(store, conversation);
    await store.startSteps(first.lease, ['s']);
    for (let attempt = 2; attempt <= TURN_LIMITS.maxAttempts; attempt += 1) {
      await lapseLease('turn', conversation);
      const { lease, attempt: counted } = await claimHead(store, conversation);
      expect(counted).toBe(attempt);
      await store.startAlone(lease);
    }
    await lapseLease('turn', conversation);
    const before = await observe(conversation);
    const poison = await store.claim(conversation, 'last', 'next');
    expect(poison).toEqual({ status: 'poison', turn: 'bad', wake: 'next' });
    expect(await store.claim(conversation, 'last', 'next'), 'sent again').toEqual(poison);
    expect(await store.readTurn(conversation, 'bad')).toMatchObject({ state: 'failed', failure: { code: 'poison' } });
    const after = await observe(conversation);
    expect(after.times.epoch, 'I4').toBeGreaterThan(before.times.epoch);
    expect(after.shape.wake).toBe('next');
    expect(await claimHead(store, conversation)).toMatchObject({ lease: { turn: 'good' }, attempt: 1 });
  });

  test('settling a turn whose workers kept dying (poison) asks for no queue job if the mailbox has no other turn', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'bad'));
    await given.killOwners(conversation);
    const poison = { status: 'poison', turn: 'bad' };
    expect(await store.claim(conversation, 'o', 'w')).toEqual(poison);
    expect(await store.claim(conversation, 'o', 'w')).toEqual(poison);
    expect(await store.claim(conversation, 'o', 'other')).toEqual({ status: 'empty' });
    expect((await observe(conversation)).shape.ready).toEqual([]);
  });

  test('when a turn fails because its workers kept dying (poison), its tool calls without results get error results', async () => {
    const { store, observe, conversation } = given.nothing();
    const { lease } = await acceptAndClaim(store, conversation, 'bad');
    await store.recordStep(lease, callsStep('model.1', 1, 2));
    await store.recordStep(lease, resultStep('tool:c2_0', 'c2_0'));
    await given.killOwners(conversation);
    expect(await store.claim(conversation, 'o', 'w')).toMatchObject({ status: 'poison' });
    const { log, openCalls } = (await observe(conversation)).shape;
    expect(log.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'c2_1', content: CLOSING_RESULT.content });
    expect(openCalls).toEqual({});
  });

  test('recording a step sets the attempts of a turn back to 1, which counts the attempt that is still running', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const { lease: first } = await claimHead(store, conversation);
    await store.recordStep(first, { key: 'step', messages: [], opens: [], closes: [] });
    for (let round = 0; round < 3; round += 1) {
      await lapseLease('turn', conversation);
      const { lease, attempt } = await claimHead(store, conversation);
      expect(attempt).toBe(2);
      await store.recordStep(lease, { key: `step.${round}`, messages: [], opens: [], closes: [] });
    }
  });
}
