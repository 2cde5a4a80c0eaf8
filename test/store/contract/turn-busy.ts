import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import type { TurnUndo } from '../../../src/store/turn-changes.ts';
import { claimPass, commitOf } from '../pass-samples.ts';
import { callsStep, claimHead, resultStep, textStep, turnFor, weigh } from '../samples.ts';
import type { Given } from './fixture.ts';
import { replacementOver } from './version-replacement.ts';

/** A version over version `live` that evicts the last messages of a log, up to seq `head`. */
function undoOver(conversation: ConversationRef, live: number, head: number): TurnUndo {
  const { version, backoff, keepVersions } = replacementOver(conversation, live, head);
  return { expectedVersion: live, version: { ...version, cause: 'rollback' }, backoff, keepVersions };
}

export function describeBusyTurns(given: Given): void {
  const contentsOf = async (conversation: ConversationRef): Promise<string[]> =>
    (await given.harness().observe(conversation)).shape.log.map(({ role, turn }) => `${role} of ${turn}`);

  test('a turn with onBusy is queued like a turn without onBusy if no other turn is open', async () => {
    for (const onBusy of ['reject', 'interrupt', 'rollback', 'steer'] as const) {
      const { store, observe, conversation } = given.nothing();
      const reply = await store.accept(turnFor(conversation, 't1', { onBusy }));
      expect(reply).toEqual({ status: 'accepted', state: 'queued', needsWake: true });
      expect((await observe(conversation)).shape.mailbox).toEqual(['t1']);
      expect((await claimHead(store, conversation)).lease.turn).toBe('t1');
    }
  });

  test('onBusy reject refuses a turn while another turn is queued, and changes nothing', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const before = await observe(conversation);
    const request = turnFor(conversation, 't2', { onBusy: 'reject' });
    expect(await store.accept(request)).toEqual({ status: 'busy', queued: 1 });
    expect((await observe(conversation)).shape).toEqual(before.shape);
    await store.cancel(conversation, 't1', 'w');
    expect(await store.accept(request)).toMatchObject({ status: 'accepted' });
    expect(await store.accept(request), 'repeated').toMatchObject({ status: 'known', needsWake: true });
  });

  test('onBusy interrupt cancels the running turn, keeps its messages, and runs the new turn before queued turns', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 't2'));
    await store.recordStep(lease, callsStep('m1', 1, 1));
    const request = turnFor(conversation, 't3', { onBusy: 'interrupt' });
    expect(await store.accept(request)).toEqual({ status: 'accepted', state: 'queued', needsWake: true });
    const { shape } = await observe(conversation);
    expect([shape.mailbox, shape.wake, shape.openCalls]).toEqual([['t3', 't2'], 'wake-t3', {}]);
    expect(await contentsOf(conversation)).toEqual(['user of t1', 'assistant of t1', 'tool of t1']);
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'canceled' });
    expect(await store.heartbeat(lease)).toEqual({ status: 'canceled' });
    expect(await store.accept(request)).toEqual({ status: 'known', state: 'queued', needsWake: true });
    expect((await observe(conversation)).shape).toEqual(shape);
    expect((await claimHead(store, conversation)).lease.turn).toBe('t3');
  });

  test('onBusy interrupt of a turn that no worker has claimed puts its user message into the log', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await store.accept(turnFor(conversation, 't2', { onBusy: 'interrupt' }));
    await claimHead(store, conversation);
    expect(await contentsOf(conversation)).toEqual(['user of t1', 'user of t2']);
    expect((await observe(conversation)).shape.turns['t1']).toMatchObject({ state: 'canceled', hasInput: false });
  });

  test('onBusy interrupt needs no free place in the mailbox, and onBusy steer needs one', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const full = { maxQueuedTurns: 1 };
    expect(await store.accept(turnFor(conversation, 't2', { ...full, onBusy: 'steer' }))).toMatchObject({
      status: 'full',
    });
    expect(await store.accept(turnFor(conversation, 't3', { ...full, onBusy: 'interrupt' }))).toMatchObject({
      status: 'accepted',
    });
  });

  test('onBusy rollback cancels the running turn and lists its messages for the next turn to remove', async () => {
    const { store, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('m1', 1, 1));
    await store.accept(turnFor(conversation, 't2', { onBusy: 'rollback' }));
    const claimed = await claimHead(store, conversation);
    expect([claimed.lease.turn, claimed.conversation.undo]).toEqual(['t2', [{ from: 1, to: 3 }]]);
    const undo = undoOver(conversation, 0, 3);
    expect(await store.undoTurns(claimed.lease, undoOver(conversation, 7, 3))).toEqual({
      status: 'version_changed',
      version: 0,
    });
    const undone = await store.undoTurns(claimed.lease, undo);
    expect(undone).toMatchObject({ status: 'undone', conversation: { size: { version: 1 } } });
    expect(undone).not.toHaveProperty('conversation.undo');
    expect(await store.undoTurns(claimed.lease, undo)).toMatchObject({ status: 'known' });
    expect(await store.readVersion(conversation, 1)).toMatchObject({ cause: 'rollback', base: 3 });
    expect(await store.undoTurns(lease, undo), 'the former owner').toEqual({ status: 'canceled' });
  });

  test.each([
    ['turn_rolled_back', [1, 4, 5]],
    ['turn_interrupted', [4, 5]],
  ])(
    'after an undo with the cause %s, the versions %j are kept, because readers hide only messages of a rollback',
    async (cause, kept) => {
      const { store, conversation, lease } = await given.running();
      await store.recordStep(lease, callsStep('m1', 1, 1));
      await store.accept(turnFor(conversation, 't2', { onBusy: 'rollback' }));
      const { lease: next } = await claimHead(store, conversation);
      const undo = undoOver(conversation, 0, 3);
      await store.undoTurns(next, { ...undo, version: { ...undo.version, explained: [cause] } });
      for (let live = 1; live <= 4; live += 1) {
        const { lease: pass } = await claimPass(store, conversation);
        await store.commitVersion(pass, commitOf(live, 4, { keepVersions: 2 }));
      }
      expect((await store.listVersions(conversation)).map(({ number }) => number)).toEqual(kept);
    },
  );

  test('the end of a turn that leaves the context records its messages for the next turn to remove, and why they left', async () => {
    const { store, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 't2'));
    await store.recordStep(lease, textStep('m1', 1, 'half'));
    const failure = { code: 'model_failed', message: 'declined' } as const;
    const settled = await store.settle(
      lease,
      { state: 'failed', failure, leaves: { from: 1, why: 'refused' } },
      undefined,
    );
    expect(settled).toMatchObject({ next: { lease: { turn: 't2' }, conversation: { undo: [{ from: 1, to: 2 }] } } });
    const left = [{ from: 1, to: 2, why: 'refused' }];
    expect(await store.readConversation(conversation)).toMatchObject({ undo: [{ from: 1, to: 2 }], left });
    const [next] = 'next' in settled && settled.next ? [settled.next.lease] : [];
    if (next === undefined) throw new Error('the next turn was not claimed');
    expect(await store.undoTurns(lease, undoOver(conversation, 0, 2)), 'a turn is open').toEqual({ status: 'fenced' });
    expect(await store.undoTurns(next, undoOver(conversation, 0, 2))).toMatchObject({ status: 'undone' });
    expect(await store.readConversation(conversation)).toMatchObject({ size: { version: 1 }, left });
  });

  test('the worker that settled the last turn of a conversation may still remove its messages from the context', async () => {
    const { store, conversation, lease } = await given.running();
    const step = textStep('m1', 1, '(empty)');
    await store.settle(
      lease,
      { state: 'completed', answerSeq: 2, end: 'refusal', leaves: { from: 1, why: 'refused' }, step },
      undefined,
    );
    const undo = undoOver(conversation, 0, 2);
    expect(await store.undoTurns({ ...lease, epoch: lease.epoch - 1 }, undo), 'another epoch').toEqual({
      status: 'fenced',
    });
    const undone = await store.undoTurns(lease, undo);
    expect(undone).toMatchObject({ status: 'undone', conversation: { size: { version: 1 } } });
    expect(undone).not.toHaveProperty('conversation.undo');
    expect(await store.undoTurns(lease, undo)).toMatchObject({ status: 'known' });
    await store.erase(conversation);
    expect(await store.undoTurns(lease, undo)).toEqual({ status: 'gone' });
  });

  test('the conversation remembers why the messages of its last 64 turns left the context', async () => {
    const { store, conversation } = given.nothing();
    for (let turn = 1; turn <= 66; turn += 1) {
      await store.accept(turnFor(conversation, `t${turn}`));
      const { lease } = await claimHead(store, conversation);
      const failure = { code: 'model_failed', message: 'declined' } as const;
      await store.settle(lease, { state: 'failed', failure, leaves: { from: turn, why: 'too_large' } }, undefined);
    }
    const { left = [], undo = [] } = (await store.readConversation(conversation)) ?? {};
    expect([left.length, left[0], left.at(-1)]).toEqual([
      64,
      { from: 3, to: 3, why: 'too_large' },
      { from: 66, to: 66, why: 'too_large' },
    ]);
    expect(undo).toHaveLength(66);
  });

  test('a second onBusy rollback also removes the messages of the turn that had begun, and of no turn that never began', async () => {
    const { store, conversation } = await given.running();
    await store.accept(turnFor(conversation, 't2', { onBusy: 'rollback' }));
    await store.accept(turnFor(conversation, 't3', { onBusy: 'rollback' }));
    await claimHead(store, conversation);
    await store.accept(turnFor(conversation, 't4', { onBusy: 'rollback' }));
    const { conversation: state } = await claimHead(store, conversation);
    expect(await contentsOf(conversation)).toEqual(['user of t1', 'user of t3', 'user of t4']);
    expect(state.undo).toEqual([
      { from: 1, to: 1 },
      { from: 2, to: 2 },
    ]);
  });

  test('undoTurns ends the compaction pass in progress, and replaceVersion clears the list of messages to remove', async () => {
    const { store, observe, conversation } = await given.running();
    await store.accept(turnFor(conversation, 't2', { onBusy: 'rollback' }));
    await store.requestPass({ conversation, passId: 'p1', reasons: ['ratio'], wake: 'w1' });
    const { lease } = await claimHead(store, conversation);
    await store.undoTurns(lease, undoOver(conversation, 0, 1));
    expect((await observe(conversation)).shape.passId).toBeUndefined();

    await store.accept(turnFor(conversation, 't3', { onBusy: 'rollback' }));
    expect((await store.readConversation(conversation))?.undo).toEqual([{ from: 2, to: 2 }]);
    expect(await store.replaceVersion(replacementOver(conversation, 1, 2))).toMatchObject({ status: 'replaced' });
    expect((await claimHead(store, conversation)).conversation.undo).toBeUndefined();
  });

  test('onBusy steer puts a message into the running turn once, before its next model call', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 't2'));
    for (const turn of ['s1', 's2']) {
      const reply = await store.accept(turnFor(conversation, turn, { onBusy: 'steer' }));
      expect(reply).toEqual({ status: 'accepted', state: 'queued', needsWake: false });
    }
    expect((await observe(conversation)).shape.mailbox).toEqual(['t1', 's1', 's2', 't2']);
    const recorded = await store.recordStep(lease, callsStep('m1', 1, 1));
    expect(recorded).toMatchObject({ conversation: { isSteered: true } });
    expect(await store.takeSteering(lease), 'a call is open').toMatchObject({ conversation: { head: 2 } });
    await store.recordStep(lease, resultStep('r1', 'c2_0'));
    const taken = await store.takeSteering(lease);
    expect(taken).toMatchObject({ status: 'taken', conversation: { head: 5, turns: 3 } });
    expect(taken).not.toHaveProperty('conversation.isSteered');
    expect(await store.takeSteering(lease)).toEqual(taken);
    expect(await contentsOf(conversation)).toEqual([
      'user of t1',
      'assistant of t1',
      'tool of t1',
      'user of s1',
      'user of s2',
    ]);
    expect(await store.readTurn(conversation, 's1')).toMatchObject({ state: 'running', steeredInto: 't1' });
    await store.accept(turnFor(conversation, 's3', { onBusy: 'steer' }));
    expect((await observe(conversation)).shape.mailbox).toEqual(['t1', 's1', 's2', 's3', 't2']);
  });

  test('a steering message with images is not taken for an agent that accepts none, and its turn runs next', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const parts = [{ type: 'image', url: 'https://example.com/a.png' }];
    const seen = weigh({ role: 'user', content: 'see', parts });
    await store.accept(turnFor(conversation, 't2'));
    await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
    await store.accept(turnFor(conversation, 's2', { onBusy: 'steer', input: seen }));
    await store.accept(turnFor(conversation, 's3', { onBusy: 'steer' }));
    const taken = await store.takeSteering(lease, 'parts');
    expect(taken).toMatchObject({ status: 'taken', conversation: { head: 3, turns: 3 } });
    expect(await store.takeSteering(lease, 'parts')).toEqual(taken);
    expect((await observe(conversation)).shape.mailbox).toEqual(['t1', 's1', 's3', 's2', 't2']);
    expect(await store.readTurn(conversation, 's2')).toMatchObject({ state: 'queued' });
    await store.recordStep(lease, textStep('m1', 3));
    await store.settle(lease, { state: 'completed', answerSeq: 4 }, 'w');
    expect((await claimHead(store, conversation)).lease.turn).toBe('s2');
    const answered = ['user of t1', 'user of s1', 'user of s3', 'assistant of t1'];
    expect(await contentsOf(conversation)).toEqual([...answered, 'user of s2']);
  });

  test('readContext names the messages of the running turn and of the turns steered into it, until the turn ends', async () => {
    const { store, conversation } = given.nothing();
    const inputs = async (): Promise<readonly number[] | undefined> => (await store.readContext(conversation))?.inputs;
    await store.accept(turnFor(conversation, 't1'));
    expect(await inputs(), 'no worker has claimed the turn').toBeUndefined();
    const { lease } = await claimHead(store, conversation);
    await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
    await store.accept(turnFor(conversation, 't2'));
    expect(await inputs(), 'the steering message is not in the log yet').toEqual([1]);
    await store.recordStep(lease, callsStep('m1', 1, 1));
    await store.recordStep(lease, resultStep('r1', 'c2_0'));
    await store.takeSteering(lease);
    expect(await inputs()).toEqual([1, 4]);
    await store.recordStep(lease, textStep('m2', 4));
    await store.settle(lease, { state: 'completed', answerSeq: 5 }, undefined);
    expect(await inputs()).toEqual([6]);
    await store.cancel(conversation, 't2', 'w');
    expect(await inputs()).toBeUndefined();
  });

  test('readStream returns a steering message among the messages of its running turn, and an event names its number', async () => {
    const { store, events, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
    await store.accept(turnFor(conversation, 't2'));
    await store.takeSteering(lease);
    await store.recordStep(lease, textStep('m1', 2));
    await store.settle(lease, { state: 'completed', answerSeq: 3 }, undefined);
    const page = await store.readStream({ conversation, turn: 't1', after: '0-0', afterSeq: 0 });
    expect(page?.log.map(({ seq, turn }) => [seq, turn])).toEqual([
      [2, 's1'],
      [3, 't1'],
    ]);
    expect(await events(conversation)).toContainEqual({ type: 'turn_steered', turn: 's1', into: 't1', seq: '2' });
  });

  test('a settled turn also settles the turns that were steered into it, and the turn behind them is next', async () => {
    const { store, observe, conversation, lease } = await given.running();
    for (const turn of ['s1', 's2']) await store.accept(turnFor(conversation, turn, { onBusy: 'steer' }));
    await store.accept(turnFor(conversation, 't2'));
    await store.takeSteering(lease);
    await store.recordStep(lease, textStep('m1', 3));
    const settled = await store.settle(lease, { state: 'completed', answerSeq: 4 }, undefined);
    expect(settled).toMatchObject({ status: 'settled', hasNext: true, next: { lease: { turn: 't2' } } });
    expect((await observe(conversation)).shape.mailbox).toEqual(['t2']);
    const answer = { seq: 4, content: 'answer' };
    expect(await store.readTurn(conversation, 's1')).toMatchObject({ state: 'completed', steeredInto: 't1', answer });
    expect(await store.readTurn(conversation, 's2')).toMatchObject({ state: 'completed', answer });
  });

  test('a cancel, an interrupt and a failure as poison end a running turn and the turns steered into it with the same state', async () => {
    const ends = {
      canceled: async (conversation: ConversationRef) => {
        await given.harness().store.cancel(conversation, 't1', 'w');
      },
      'canceled by a turn that steered it': async (conversation: ConversationRef) => {
        expect(await given.harness().store.cancel(conversation, 's1', 'w')).toEqual({ status: 'canceled', wake: 'w' });
        expect(await given.harness().store.cancel(conversation, 's1', 'w'), 'repeated').toMatchObject({ wake: 'w' });
      },
      interrupted: async (conversation: ConversationRef) => {
        await given.harness().store.accept(turnFor(conversation, 't3', { onBusy: 'interrupt' }));
      },
      poison: async (conversation: ConversationRef) => {
        await given.killOwners(conversation);
        await given.harness().store.claim(conversation, 'owner', 'wake');
      },
    };
    for (const [end, bring] of Object.entries(ends)) {
      const { store, observe, conversation, lease } = await given.running();
      await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
      await store.takeSteering(lease);
      await store.accept(turnFor(conversation, 't2'));
      await bring(conversation);
      const state = end === 'poison' ? 'failed' : 'canceled';
      expect(await store.readTurn(conversation, 's1')).toMatchObject({ state });
      expect(await store.readTurn(conversation, 't1')).toMatchObject({ state });
      expect((await observe(conversation)).shape.mailbox).toEqual(end === 'interrupted' ? ['t3', 't2'] : ['t2']);
    }
  });

  test('onBusy with a busyTurn that is not the running turn only enqueues the new turn, and cancels nothing', async () => {
    for (const onBusy of ['interrupt', 'rollback', 'steer'] as const) {
      const { store, observe, conversation } = await given.running();
      await store.accept(turnFor(conversation, 't2'));
      for (const busyTurn of ['t0', 't2']) {
        const turn = `late-${busyTurn}`;
        const request = turnFor(conversation, turn, { onBusy, busyTurn });
        expect(await store.accept(request)).toEqual({ status: 'accepted', state: 'queued', needsWake: false });
        expect(await store.accept(request), 'repeated').toMatchObject({ status: 'known' });
      }
      const { shape } = await observe(conversation);
      expect([shape.mailbox, shape.isSteered]).toEqual([['t1', 't2', 'late-t0', 'late-t2'], false]);
      const full = turnFor(conversation, 't3', { onBusy, busyTurn: 't2', maxQueuedTurns: 4 });
      expect(await store.accept(full)).toEqual({ status: 'full', queued: 4 });
    }
  });

  test('onBusy with a busyTurn acts if that turn is first in the mailbox, or was steered into the first turn', async () => {
    for (const busyTurn of ['t1', 's1']) {
      const { store, observe, conversation, lease } = await given.running();
      await store.accept(turnFor(conversation, 's1', { onBusy: 'steer', busyTurn: 't1' }));
      await store.takeSteering(lease);
      expect(await store.readTurn(conversation, 's1')).toMatchObject({ steeredInto: 't1' });
      await store.accept(turnFor(conversation, 't2', { onBusy: 'interrupt', busyTurn }));
      expect((await observe(conversation)).shape.mailbox).toEqual(['t2']);
      expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'canceled' });
    }
  });

  test('a steering turn runs as its own turn if the running turn settles before it takes the message', async () => {
    const { store, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 't2'));
    await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
    await store.recordStep(lease, textStep('m1', 1));
    const settled = await store.settle(lease, { state: 'completed', answerSeq: 2 }, undefined);
    expect(settled).toMatchObject({ next: { lease: { turn: 's1' }, inputSeq: 3 } });
    expect(await store.readTurn(conversation, 's1')).not.toHaveProperty('steeredInto');
  });

  test('takeSteering and undoTurns change nothing when called by a worker that lost the turn', async () => {
    const { store, observe, lapseLease, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 's1', { onBusy: 'steer' }));
    await lapseLease('turn', conversation);
    await claimHead(store, conversation);
    const before = await observe(conversation);
    expect(await store.takeSteering(lease)).toEqual({ status: 'fenced' });
    expect(await store.undoTurns(lease, undoOver(conversation, START_VERSION.number, 1))).toEqual({ status: 'fenced' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });
}
