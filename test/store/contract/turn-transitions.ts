import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import { TURN_STATES, type TurnState, type WaitRequest } from '../../../src/domain/turn.ts';
import { acceptAndClaim, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const EVENTS = ['accept', 'schedule', 'claim', 'release', 'suspend', 'complete', 'fail', 'cancel'] as const;
type Event = (typeof EVENTS)[number];

/** The state machine of a turn. Stores refuse every other pair of state and event. A settled turn allows no event. */
const TRANSITIONS: Readonly<Record<TurnState | 'none', Partial<Record<Event, TurnState>>>> = {
  none: { accept: 'queued', schedule: 'scheduled' },
  scheduled: { cancel: 'canceled' },
  queued: { claim: 'running', cancel: 'canceled' },
  running: {
    claim: 'running',
    release: 'queued',
    suspend: 'waiting',
    complete: 'completed',
    fail: 'failed',
    cancel: 'canceled',
  },
  waiting: { claim: 'running', cancel: 'canceled' },
  completed: {},
  failed: {},
  canceled: {},
};

const FAILURE = { code: 'model_failed', message: 'it broke' } as const;

function later(): { delayMs: number } {
  return { delayMs: 60_000 };
}

export function describeTransitions(given: Given): void {
  async function bring(conversation: ConversationRef, state: TurnState | 'none'): Promise<TurnLease> {
    const { store } = given.harness();
    const none = { conversation, turn: 't1', owner: 'nobody', epoch: 1 };
    if (state === 'none') return none;
    if (state === 'scheduled' || state === 'queued') {
      await store.accept(turnFor(conversation, 't1', state === 'scheduled' ? later() : {}));
      return none;
    }
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    if (state === 'waiting') await act(conversation, lease, 'suspend');
    if (state === 'completed') await act(conversation, lease, 'complete');
    if (state === 'failed') await act(conversation, lease, 'fail');
    if (state === 'canceled') await act(conversation, lease, 'cancel');
    return lease;
  }

  async function act(conversation: ConversationRef, lease: TurnLease, event: Event): Promise<unknown> {
    const { store } = given.harness();
    const wait: WaitRequest = { for: 'compaction', step: 's', waitMs: 60_000, calls: [] };
    switch (event) {
      case 'accept':
        return store.accept(turnFor(conversation, 't1'));
      case 'schedule':
        return store.accept(turnFor(conversation, 't1', later()));
      case 'claim':
        return store.claim(conversation, 'another', 'w');
      case 'release':
        return store.release(lease, 'w');
      case 'suspend':
        return store.suspend(lease, wait);
      case 'complete':
        return store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
      case 'fail':
        return store.settle(lease, { state: 'failed', failure: FAILURE }, 'w');
      case 'cancel':
        return store.cancel(conversation, 't1', 'w');
    }
  }

  for (const state of ['none', ...TURN_STATES] as const) {
    for (const event of EVENTS) {
      const expected = TRANSITIONS[state][event] ?? state;
      test(`the event ${event} leaves a turn in state ${expected} if its state was ${state}`, async () => {
        const { store, conversation } = given.nothing();
        const lease = await bring(conversation, state);
        await act(conversation, lease, event);
        expect((await store.readTurn(conversation, 't1'))?.state ?? 'none').toBe(expected);
      });
    }
  }
}
