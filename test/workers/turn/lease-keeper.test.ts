import { describe, expect, it } from 'vitest';
import type { EventLoop } from '../../../src/domain/event-loop.ts';
import type { Lost, TurnLease } from '../../../src/domain/lease.ts';
import { StoppedWork } from '../../../src/workers/shutdown.ts';
import { LeaseKeeper } from '../../../src/workers/turn/lease-keeper.ts';
import { callWithin, StepTimeout } from '../../../src/workers/turn/step-deadline.ts';
import { LostTurn } from '../../../src/workers/turn/turn-errors.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

const lease: TurnLease = { conversation: { tenant: '_', id: 'c' }, turn: 't', owner: 'o', epoch: 1 };

type Heartbeat = { readonly status: 'renewed' } | Lost | Error;

function keep(heartbeats: readonly Heartbeat[], loop?: EventLoop) {
  const timers = new ManualTimers();
  let count = 0;
  const turns = {
    async heartbeat(given: TurnLease) {
      expect(given).toBe(lease);
      const heartbeat = heartbeats[count] ?? { status: 'renewed' };
      count += 1;
      if (heartbeat instanceof Error) throw heartbeat;
      return heartbeat;
    },
  };
  const keeper = new LeaseKeeper(lease, { turns, timers, loop, heartbeatMs: 2_000, leaseMs: 8_000 });
  return { timers, keeper, heartbeatCount: () => count };
}

it('a worker renews a turn’s lease every 2 s, so that the lease never lapses during its work', async () => {
  const { timers, keeper, heartbeatCount } = keep([]);
  await timers.advance(60_000);
  expect(heartbeatCount()).toBe(30);
  expect(keeper.signal.aborted).toBe(false);
});

it.each(['fenced', 'gone', 'canceled'] as const)(
  'a worker aborts a turn’s work when the store answers the lease’s heartbeat with the status %s',
  async (status) => {
    const { timers, keeper, heartbeatCount } = keep([{ status: 'renewed' }, { status }]);
    await timers.advance(3_999);
    expect(keeper.signal.aborted).toBe(false);
    await timers.advance(1);
    expect(keeper.signal.reason).toEqual(new LostTurn(status));
    await timers.advance(60_000);
    expect(heartbeatCount()).toBe(2);
    expect(timers.pending).toBe(0);
  },
);

it('a worker keeps working after unanswered heartbeats until the turn’s lease has lapsed', async () => {
  const away = new Error('redis is away');
  const survived = keep([{ status: 'renewed' }, away, away, { status: 'renewed' }]);
  await survived.timers.advance(12_000);
  expect(survived.keeper.signal.aborted).toBe(false);
  const expired = keep([{ status: 'renewed' }, away, away, away, away]);
  await expired.timers.advance(9_999);
  expect(expired.keeper.signal.aborted).toBe(false);
  await expired.timers.advance(1);
  expect(expired.keeper.signal.reason).toEqual(new LostTurn('expired'));
});

it('a worker that gave a turn’s lease back does not report the lease as lost when a late heartbeat is answered', async () => {
  const answer = Promise.withResolvers<Lost>();
  const timers = new ManualTimers();
  const keeper = new LeaseKeeper(lease, {
    turns: { heartbeat: () => answer.promise },
    timers,
    heartbeatMs: 2_000,
    leaseMs: 8_000,
  });
  await timers.advance(2_000);
  keeper.stop();
  answer.resolve({ status: 'fenced' });
  await settleTasks();
  expect(keeper.signal.aborted).toBe(false);
  expect(timers.pending).toBe(0);
});

it('work that is aborted for two reasons, one after the other, has the first as the reason of its abort signal', () => {
  const { keeper } = keep([]);
  keeper.abort(new LostTurn('gone'));
  keeper.abort(new Error('later'));
  expect(keeper.signal.reason).toEqual(new LostTurn('gone'));
});

const NEVER = new AbortController().signal;

describe('after a block of the event loop', () => {
  const loop: EventLoop = {
    runTool: async (_, call) => await call(),
    longestWithin: () => ({ ms: 12_000, cause: 'by the tool "scan"' }),
  };
  const away = new Error('redis is away');

  it('a worker asks once more before it abandons a turn, and continues if no other worker began the turn', async () => {
    const { timers, keeper } = keep([away, away, away, { status: 'renewed' }], loop);
    await timers.advance(60_000);
    expect(keeper.signal.aborted).toBe(false);
  });

  it('a worker abandons a turn that another worker began meanwhile', async () => {
    const { timers, keeper } = keep([away, away, away, { status: 'fenced' }], loop);
    await timers.advance(8_000);
    expect(keeper.signal.reason).toEqual(new LostTurn('fenced'));
  });

  it('a worker that gets no answer for another heartbeat abandons the turn', async () => {
    const { timers, keeper } = keep(
      Array.from({ length: 9 }, () => away),
      loop,
    );
    await timers.advance(9_999);
    expect(keeper.signal.aborted).toBe(false);
    await timers.advance(1);
    expect(keeper.signal.reason).toEqual(new LostTurn('expired'));
  });

  it('a timeout names the block', async () => {
    const timers = new ManualTimers();
    const { signal } = new AbortController();
    const call = callWithin({ timers, loop, timeoutMs: 10, signal, stop: NEVER }, () => new Promise(() => {}));
    await Promise.all([
      expect(call).rejects.toThrow(
        'the call did not end within its timeout of 10 ms: the event loop was blocked for 12 s by the tool "scan"',
      ),
      timers.advance(10),
    ]);
  });
});

it('callWithin returns the outcome of a call within its deadline and leaves no timer', async () => {
  const timers = new ManualTimers();
  const { signal } = new AbortController();
  expect(await callWithin({ timers, timeoutMs: 10, signal, stop: NEVER }, async () => 'done')).toBe('done');
  await expect(
    callWithin({ timers, timeoutMs: 10, signal, stop: NEVER }, () => Promise.reject(new Error('no'))),
  ).rejects.toThrow('no');
  expect(timers.pending).toBe(0);
});

it('callWithin ends a call at its deadline, even if the call ignores its signal', async () => {
  const timers = new ManualTimers();
  const { signal } = new AbortController();
  const call = callWithin({ timers, timeoutMs: 10, signal, stop: NEVER }, () => new Promise(() => {}));
  const failure = call.catch((error: unknown) => error);
  await timers.advance(10);
  expect(await failure).toEqual(new StepTimeout(10));
});

it('callWithin rejects with the reason that ended the turn, even if the call throws after that', async () => {
  const timers = new ManualTimers();
  const work = new AbortController();
  const call = callWithin({ timers, timeoutMs: 10, signal: work.signal, stop: NEVER }, async (signal) => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    throw new Error('of its own making');
  });
  const lost = new LostTurn('fenced');
  work.abort(lost);
  await expect(call).rejects.toBe(lost);
  const late = callWithin({ timers, timeoutMs: 10, signal: work.signal, stop: NEVER }, async () => 'not called');
  await expect(late).rejects.toBe(lost);
  expect(timers.pending).toBe(0);
});

it('callWithin aborts the signal of a call when its worker stops, and still returns an answer that the call gives', async () => {
  const timers = new ManualTimers();
  const stop = new AbortController();
  const deadline = { timers, timeoutMs: 10, signal: NEVER, stop: stop.signal };
  const call = callWithin(deadline, async (signal) => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    return 'done all the same';
  });
  stop.abort(new StoppedWork());
  expect(await call).toBe('done all the same');
  await expect(callWithin(deadline, async () => 'not called')).rejects.toThrow(StoppedWork);
  expect(timers.pending).toBe(0);
});
