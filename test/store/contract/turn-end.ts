import { expect, test, vi } from 'vitest';
import { CLOSING_RESULT } from '../../../src/domain/message.ts';
import { TURN_STATES, type TurnFailure } from '../../../src/domain/turn.ts';
import { bring, callsStep, claimHead, newConversation, resultStep, textStep, toWaitFor, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const FAILURE: TurnFailure = { code: 'model_failed', message: 'it broke: "[]"', details: { list: [] } };

const COUNTED = {
  usage: { inputTokens: 5, outputTokens: 2 },
  answeredVersion: 0,
  requestTokens: 6,
  anchor: { tokens: 9, version: 0, fingerprint: 'a1b2' },
} as const;

export function describeEnd(given: Given): void {
  test('readTurn returns the answers of completed turns, and each completed turn wakes the next one', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2', 't3']) await store.accept(turnFor(conversation, turn));
    const order: string[] = [];
    for (const wake of ['w1', 'w2', 'w3']) {
      const { lease, conversation: state } = await claimHead(store, conversation);
      order.push(lease.turn);
      await store.recordStep(lease, textStep('s', state.head, `answer of ${lease.turn}`));
      const hasNext = wake !== 'w3';
      expect(await store.settle(lease, { state: 'completed', answerSeq: state.head + 1 }, wake)).toEqual({
        status: 'settled',
        hasNext,
        ...(hasNext && { wake }),
      });
    }
    expect(order).toEqual(['t1', 't2', 't3']);
    expect(await store.readTurn(conversation, 't2')).toMatchObject({
      state: 'completed',
      inputSeq: 3,
      answer: { seq: 4, content: 'answer of t2' },
    });
    const { shape } = await observe(conversation);
    expect([shape.ready, shape.owner, shape.mailbox]).toEqual([[], undefined, []]);
    expect(shape.events).toEqual(['t1', 't2', 't3'].map((turn) => `turn_settled ${turn} completed`));
    expect(shape.log).toHaveLength(6);
  });

  test('readTurn returns the JSON value of an answer that was settled as structured', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const { lease, conversation: state } = await claimHead(store, conversation);
    await store.recordStep(lease, textStep('s', state.head, '{"city":"Oslo"}'));
    const answerSeq = state.head + 1;
    await store.settle(lease, { state: 'completed', answerSeq, isStructured: true }, 'w1');
    const { answer } = (await store.readTurn(conversation, 't1')) ?? {};
    expect(answer).toEqual({ seq: answerSeq, content: '{"city":"Oslo"}', value: { city: 'Oslo' } });
  });

  test('the settledAt of a turn is never before the turn’s acceptance or before the previous settlement in its conversation', async () => {
    const { store, turnClockBack, conversation } = given.nothing();
    const settled = { state: 'completed', answerSeq: 1 } as const;
    for (const turn of ['t1', 't2', 't3']) await store.accept(turnFor(conversation, turn));
    await store.settle((await claimHead(store, conversation)).lease, settled, 'w1');
    await turnClockBack(conversation, 60_000);
    const { lease } = await claimHead(store, conversation);
    await store.settle(lease, { state: 'failed', failure: FAILURE }, 'w2');
    await store.cancel(conversation, 't3', 'w3');
    const views = await Promise.all(['t1', 't2', 't3'].map((turn) => store.readTurn(conversation, turn)));
    const times = views.map((view) => view?.settledAt ?? 0);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const view of views) expect(view?.settledAt).toBeGreaterThanOrEqual(view?.acceptedAt ?? Infinity);
  });

  test('a repeated settle of a turn gets the same reply as the first call, even after the next turn was claimed', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    const settlement = { state: 'completed', answerSeq: 1 } as const;
    await store.settle(lease, settlement, 'w1');
    expect(await store.settle(lease, settlement, 'w1')).toEqual({ status: 'known', hasNext: true, wake: 'w1' });
    await claimHead(store, conversation);
    const before = await observe(conversation);
    expect(await store.settle(lease, settlement, 'w1')).toMatchObject({ status: 'known', hasNext: true });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('settle without a queue job id (wake) also claims the next queued turn, and a repeated call returns the same claim', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    const settlement = { state: 'completed', answerSeq: 1 } as const;
    const reply = await store.settle(lease, settlement, undefined);
    const next = { lease: { turn: 't2', owner: lease.owner }, attempt: 1, inputSeq: 2, input: { role: 'user' } };
    expect(reply).toMatchObject({ status: 'settled', hasNext: true, next });
    const { shape, times } = await observe(conversation);
    expect(shape.wake, 'that of the accept').toBe('wake-t1');
    expect(times.ready['t'], 'looked after once its lease lapses').toBe(times.lease);
    expect(await store.heartbeat(lease)).toEqual({ status: 'fenced' });
    const again = await store.settle(lease, settlement, undefined);
    expect(again).toMatchObject({ status: 'known', hasNext: true, next: { lease: { turn: 't2' }, inputSeq: 2 } });
    expect((await observe(conversation)).shape).toEqual(shape);
  });

  test('settle without a queue job id (wake) claims nothing if no turn is queued', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const settlement = { state: 'completed', answerSeq: 1 } as const;
    expect(await store.settle(lease, settlement, undefined)).toEqual({ status: 'settled', hasNext: false });
    expect(await store.settle(lease, settlement, undefined)).toEqual({ status: 'known', hasNext: false });
    expect((await observe(conversation)).shape.owner).toBeUndefined();
  });

  test('settle with the last step leaves the same as recordStep and then settle, and returns the state before the next message', async () => {
    const { store, observe } = given.nothing();
    const seen = await Promise.all(
      ['apart', 'together'].map(async (how) => {
        const conversation = newConversation();
        for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
        const { lease } = await claimHead(store, conversation);
        const step = { ...textStep('model.1', 1), ...COUNTED, fullTexts: new Map([['hash', 'whole text']]) };
        const recorded = how === 'apart' ? await store.recordStep(lease, step) : undefined;
        const settlement = { state: 'completed', answerSeq: 2, ...(recorded === undefined && { step }) } as const;
        const settled = await store.settle(lease, settlement, undefined);
        const state = recorded === undefined ? settled : recorded;
        if (!('conversation' in state)) throw new Error(state.status);
        const { log, events, texts, turns } = (await observe(conversation)).shape;
        return { state: state.conversation, log, events, texts, turns };
      }),
    );
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[1]?.state).toMatchObject({ head: 2, turns: 1, answeredVersion: 0 });
  });

  test('a repeated settle with the last step gets the same reply as the first call, and appends nothing again', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    const settlement = { state: 'completed', answerSeq: 2, step: textStep('model.1', 1) } as const;
    const reply = await store.settle(lease, settlement, undefined);
    expect(reply).toMatchObject({ status: 'settled', conversation: { head: 2 }, next: { inputSeq: 3 } });
    const { shape } = await observe(conversation);
    expect(await store.settle(lease, settlement, undefined)).toEqual({ ...reply, status: 'known' });
    expect((await observe(conversation)).shape).toEqual(shape);
    expect(shape.log).toHaveLength(3);
  });

  test('settle with the last step writes nothing if the owner is fenced, or if the log has grown since the step began', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const before = await observe(conversation);
    const settlement = { state: 'completed', answerSeq: 2, step: textStep('model.1', 1) } as const;
    const late = { ...settlement, step: textStep('model.1', 0) };
    const fenced = { status: 'fenced' };
    expect(await store.settle({ ...lease, epoch: lease.epoch - 1 }, settlement, 'w')).toEqual(fenced);
    expect(await store.settle({ ...lease, owner: 'other' }, settlement, undefined)).toEqual(fenced);
    expect(await store.settle({ ...lease, turn: 'other' }, settlement, 'w')).toEqual(fenced);
    expect(await store.settle(lease, late, 'w')).toEqual(fenced);
    expect((await observe(conversation)).shape).toEqual(before.shape);
    expect(await store.settle(lease, settlement, 'w')).toMatchObject({ status: 'settled', hasNext: false });
  });

  test('settle of an owner is fenced if another owner has settled a turn under the same id after an erase', async () => {
    const { store, conversation, lease } = await given.running();
    await store.erase(conversation);
    // Epochs are times, so the next claim must come at least a millisecond later.
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(lease.epoch));
    await store.accept(turnFor(conversation, 't1'));
    const { lease: present } = await claimHead(store, conversation);
    const settlement = { state: 'completed', answerSeq: 2, step: textStep('model.1', 1) } as const;
    await store.settle(present, settlement, undefined);
    for (const wake of ['w', undefined]) {
      expect(await store.settle(lease, settlement, wake)).toEqual({ status: 'fenced' });
    }
    expect(await store.settle(present, settlement, undefined)).toMatchObject({ status: 'known', hasNext: false });
  });

  test('settle with a last step that is recorded already settles the turn, and appends nothing', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const step = textStep('model.1', 1);
    await store.recordStep(lease, step);
    const settled = await store.settle(lease, { state: 'completed', answerSeq: 2, step }, 'w');
    expect(settled).toMatchObject({ status: 'settled', conversation: { head: 2 } });
    expect((await observe(conversation)).shape.log).toHaveLength(2);
  });

  test('settle as failed with the last step keeps the message of the step, and the epoch rises', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const settlement = { state: 'failed', failure: FAILURE, step: textStep('model.1', 1, 'not as asked') } as const;
    expect(await store.settle(lease, settlement, 'w')).toMatchObject({ status: 'settled', conversation: { head: 2 } });
    const { shape, times } = await observe(conversation);
    expect(shape.log.map(({ content }) => content).at(-1)).toBe('not as asked');
    expect(shape.turns['t1']?.steps).toMatchObject({ 'model.1': { status: 'done' } });
    expect(times.epoch).toBeGreaterThan(lease.epoch);
  });

  test('when a turn fails, readTurn returns its failure, its unanswered tool calls get error results, and the epoch rises', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 12));
    await store.recordStep(lease, resultStep('tool:c2_1', 'c2_1'));
    expect(await store.settle(lease, { state: 'failed', failure: FAILURE }, 'w')).toEqual({
      status: 'settled',
      hasNext: false,
    });
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'failed', failure: FAILURE });
    const { shape, times } = await observe(conversation);
    const closing = shape.log.slice(3);
    const left = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((index) => `c2_${index}`);
    expect(closing.map(({ toolCallId }) => toolCallId)).toEqual(left);
    expect(closing.every(({ content, turn }) => content === CLOSING_RESULT.content && turn === 't1')).toBe(true);
    expect(shape.openCalls).toEqual({});
    expect(times.epoch).toBeGreaterThan(lease.epoch);
  });

  test('settling a turn removes the contents of its tool answers, its suspension counts and its wait, and keeps its steps', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 1));
    await store.suspend(lease, { for: 'tools', step: 's', waitMs: 60_000, calls: toWaitFor(['c2_0']) });
    await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0']), wake: 'w' });
    const again = await claimHead(store, conversation);
    await store.settle(again.lease, { state: 'failed', failure: FAILURE }, 'w');
    const turn = (await observe(conversation)).shape.turns['t1'];
    expect(turn, 'of answers it stays known that they came').toMatchObject({ answers: { c2_0: '' } });
    expect([turn?.suspensions, turn?.waiting, turn?.hasInput]).toEqual([{}, undefined, false]);
    expect(turn?.steps).toMatchObject({ 'model.1': { status: 'done' } });
  });

  test('cancel of a scheduled turn settles the turn as canceled before it is due', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    expect(await store.cancel(conversation, 'later', 'w')).toEqual({ status: 'canceled' });
    expect((await observe(conversation)).shape.ready).toEqual([]);
    expect(await store.readTurn(conversation, 'later')).toMatchObject({ state: 'canceled' });
  });

  test('cancel of a queued turn removes the turn from the mailbox, and the running turn continues', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2', 't3']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    expect(await store.cancel(conversation, 't2', 'w')).toEqual({ status: 'canceled' });
    expect((await observe(conversation)).shape.mailbox).toEqual(['t1', 't3']);
    expect(await store.heartbeat(lease)).toEqual({ status: 'renewed' });
  });

  test('cancel of the first queued turn wakes the next turn in the mailbox', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    expect(await store.cancel(conversation, 't1', 'w')).toEqual({ status: 'canceled', wake: 'w' });
    const { shape } = await observe(conversation);
    expect([shape.mailbox, shape.wake, shape.log]).toEqual([['t2'], 'w', []]);
  });

  test('cancel of a running turn gives its unanswered tool calls error results, fences its worker and wakes the next turn', async () => {
    const { store, observe, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    await store.recordStep(lease, callsStep('model.1', 1, 2));
    const canceled = { status: 'canceled', wake: 'w' };
    expect(await store.cancel(conversation, 't1', 'w')).toEqual(canceled);
    const after = await observe(conversation);
    expect(await store.cancel(conversation, 't1', 'w'), 'sent again').toEqual(canceled);
    expect((await observe(conversation)).shape).toEqual(after.shape);
    expect(after.times.epoch).toBeGreaterThan(lease.epoch);
    expect(after.shape.log.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    const lost = { status: 'canceled' };
    expect(await store.heartbeat(lease)).toEqual(lost);
    expect(await store.startSteps(lease, ['tool:c2_0'])).toEqual(lost);
    expect(await store.recordStep(lease, resultStep('tool:c2_0', 'c2_0'))).toEqual(lost);
    expect(await store.suspend(lease, { for: 'retry', step: 's', waitMs: 1_000, calls: [] })).toEqual(lost);
    for (const wake of ['x', undefined]) {
      expect(await store.settle(lease, { state: 'completed', answerSeq: 2 }, wake)).toEqual(lost);
    }
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'canceled' });
  });

  test('cancel of a waiting turn ends the turn’s wait and settles the turn as canceled', async () => {
    const { store, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const { lease } = await claimHead(store, conversation);
    await store.suspend(lease, { for: 'retry', step: 's', waitMs: 60_000, calls: [] });
    expect(await store.cancel(conversation, 't1', 'w')).toEqual({ status: 'canceled', wake: 'w' });
    expect((await claimHead(store, conversation)).lease.turn).toBe('t2');
  });

  test('cancel reports the state of a settled turn, and not_found for an unknown turn', async () => {
    const { store, conversation, lease } = await given.running();
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    expect(await store.cancel(conversation, 't1', 'w')).toEqual({ status: 'settled', state: 'completed' });
    expect(await store.cancel(conversation, 't2', 'w')).toEqual({ status: 'not_found' });
  });

  test('readTurn returns every state of a turn, and undefined for an unknown turn', async () => {
    const { store, conversation } = given.nothing();
    const seen = new Set<string>();
    const look = async (turn: string): Promise<void> => {
      seen.add((await store.readTurn(conversation, turn))?.state ?? 'none');
    };
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    await look('later');
    await look('t1');
    const first = await claimHead(store, conversation);
    await look('t1');
    await store.suspend(first.lease, { for: 'compaction', step: 's', waitMs: 60_000, calls: [] });
    await look('t1');
    const second = await claimHead(store, conversation);
    await store.settle(second.lease, { state: 'completed', answerSeq: 1 }, 'w');
    await look('t1');
    const { lease } = await claimHead(store, conversation);
    await store.settle(lease, { state: 'failed', failure: FAILURE }, 'w');
    await look('t2');
    await store.cancel(conversation, 'later', 'w');
    await look('later');
    expect([...seen].toSorted()).toEqual([...TURN_STATES].toSorted());
    expect(await store.readTurn(conversation, 'nobody')).toBeUndefined();
    expect(await store.readTurn(newConversation(), 't1')).toBeUndefined();
  });

  test('readTurn returns the token usage and the settlement time of a turn', async () => {
    const { store, conversation, lease } = await given.running();
    await store.recordStep(lease, { ...textStep('s', 1), usage: { inputTokens: 9, outputTokens: 0 } });
    await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'w');
    const view = await store.readTurn(conversation, 't1');
    expect(view?.usage).toEqual({ inputTokens: 9, outputTokens: 0 });
    expect(view?.settledAt).toBeGreaterThanOrEqual(view?.acceptedAt ?? Number.POSITIVE_INFINITY);
  });
}
