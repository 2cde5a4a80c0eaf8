import { describe, expect, it } from 'vitest';
import type { EventLoop } from '../../../src/domain/event-loop.ts';
import type { Lost, TurnLease } from '../../../src/domain/lease.ts';
import { StoppedWork } from '../../../src/workers/shutdown.ts';
import {
  LostTurn,
  StepTimeout,
  TurnGuard,
  type TurnGuardOptions,
  TurnTimeout,
} from '../../../src/workers/turn/turn-guard.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

const lease: TurnLease = { conversation: { tenant: '_', id: 'c' }, turn: 't', owner: 'o', epoch: 1 };

type Heartbeat = { readonly status: 'renewed' } | Lost | Error;

function options(timers: ManualTimers, heartbeat: TurnGuardOptions['turns']['heartbeat']): TurnGuardOptions {
  const never = { callsEnd: new AbortController().signal };
  const times = { heartbeatMs: 2_000, leaseMs: 8_000 };
  return { turns: { heartbeat }, timers, clock: timers, onEvent: () => undefined, shutdown: never, ...times };
}

function open(heartbeats: readonly Heartbeat[] = [], loop?: EventLoop) {
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
  const stop = new AbortController();
  const guard = new TurnGuard(lease, {
    ...options(timers, (given) => turns.heartbeat(given)),
    loop,
    shutdown: { callsEnd: stop.signal },
  });
  return { timers, guard, stop, heartbeatCount: () => count };
}

it('a worker renews a turn’s lease every 2 s, so that the lease never lapses during its work', async () => {
  const { timers, guard, heartbeatCount } = open([]);
  await timers.advance(60_000);
  expect(heartbeatCount()).toBe(30);
  expect(guard.signal.aborted).toBe(false);
});

it.each(['fenced', 'gone', 'canceled'] as const)(
  'a worker aborts a turn’s work when the store answers the lease’s heartbeat with the status %s',
  async (status) => {
    const { timers, guard, heartbeatCount } = open([{ status: 'renewed' }, { status }]);
    await timers.advance(3_999);
    expect(guard.signal.aborted).toBe(false);
    await timers.advance(1);
    expect(guard.signal.reason).toEqual(new LostTurn(status));
    await timers.advance(60_000);
    expect(heartbeatCount()).toBe(2);
    expect(timers.pending).toBe(0);
  },
);

it('a worker keeps working after unanswered heartbeats until the turn’s lease has lapsed', async () => {
  const away = new Error('redis is away');
  const survived = open([{ status: 'renewed' }, away, away, { status: 'renewed' }]);
  await survived.timers.advance(12_000);
  expect(survived.guard.signal.aborted).toBe(false);
  const expired = open([{ status: 'renewed' }, away, away, away, away]);
  await expired.timers.advance(9_999);
  expect(expired.guard.signal.aborted).toBe(false);
  await expired.timers.advance(1);
  expect(expired.guard.signal.reason).toEqual(new LostTurn('expired'));
});

it('a worker that gave a turn’s lease back does not report the lease as lost when a late heartbeat is answered', async () => {
  const answer = Promise.withResolvers<Lost>();
  const timers = new ManualTimers();
  const guard = new TurnGuard(
    lease,
    options(timers, () => answer.promise),
  );
  await timers.advance(2_000);
  guard.stop();
  answer.resolve({ status: 'fenced' });
  await settleTasks();
  expect(guard.signal.aborted).toBe(false);
  expect(timers.pending).toBe(0);
});

it('the signal of work that is aborted for two reasons keeps the first reason', () => {
  const { guard } = open([]);
  guard.abort(new LostTurn('gone'));
  guard.abort(new Error('later'));
  expect(guard.signal.reason).toEqual(new LostTurn('gone'));
});

describe('after a block of the event loop', () => {
  const loop: EventLoop = {
    runTool: async (_, call) => await call(),
    longestWithin: () => ({ ms: 12_000, cause: 'by the tool "scan"' }),
  };
  const away = new Error('redis is away');

  it('after a block of the event loop, a worker sends one more heartbeat, and continues if no other worker began the turn', async () => {
    const { timers, guard } = open([away, away, away, { status: 'renewed' }], loop);
    await timers.advance(60_000);
    expect(guard.signal.aborted).toBe(false);
  });

  it('after a block of the event loop, a worker abandons a turn that another worker began meanwhile', async () => {
    const { timers, guard } = open([away, away, away, { status: 'fenced' }], loop);
    await timers.advance(8_000);
    expect(guard.signal.reason).toEqual(new LostTurn('fenced'));
  });

  it('after a block of the event loop, a worker abandons a turn if its next heartbeats get no answer', async () => {
    const { timers, guard } = open(
      Array.from({ length: 9 }, () => away),
      loop,
    );
    await timers.advance(9_999);
    expect(guard.signal.aborted).toBe(false);
    await timers.advance(1);
    expect(guard.signal.reason).toEqual(new LostTurn('expired'));
  });

  it('the error of a timeout during a block of the event loop names the block', async () => {
    const { timers, guard } = open([], loop);
    const call = guard.call(10, () => new Promise(() => {}));
    await Promise.all([
      expect(call).rejects.toThrow(
        'the call did not end within its timeout of 10 ms: the event loop was blocked for 12 s by the tool "scan"',
      ),
      timers.advance(10),
    ]);
  });
});

it('a call of a model or tool within its timeout returns its outcome and leaves no timer', async () => {
  const { timers, guard } = open();
  const before = timers.pending;
  expect(await guard.call(10, async () => 'done')).toBe('done');
  await expect(guard.call(10, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(timers.pending).toBe(before);
  guard.stop();
  expect(timers.pending).toBe(0);
});

it('a call of a model or tool ends at its timeout, even if it ignores its signal', async () => {
  const { timers, guard } = open();
  const failure = guard.call(10, () => new Promise(() => {})).catch((error: unknown) => error);
  await timers.advance(10);
  expect(await failure).toEqual(new StepTimeout(10));
  expect(guard.signal.aborted).toBe(false);
});

it('a call of a model or tool rejects with the cause that ended the turn, even if the call throws after that', async () => {
  const { timers, guard } = open();
  const call = guard.call(10, async (signal) => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    throw new Error('of its own making');
  });
  const lost = new LostTurn('fenced');
  guard.abort(lost);
  await expect(call).rejects.toBe(lost);
  await expect(guard.call(10, async () => 'not called')).rejects.toBe(lost);
  expect(() => guard.throwIfEnded()).toThrow(lost);
  expect(timers.pending).toBe(0);
});

it('a stopping worker aborts the signal of a model or tool call, and still returns an answer that the call gives', async () => {
  const { guard, stop } = open();
  const call = guard.call(10, async (signal) => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    return 'done all the same';
  });
  guard.throwIfEnded();
  stop.abort(new StoppedWork());
  expect(await call).toBe('done all the same');
  await expect(guard.call(10, async () => 'not called')).rejects.toThrow(StoppedWork);
  expect(() => guard.throwIfEnded()).toThrow(StoppedWork);
  expect(guard.signal.aborted).toBe(false);
});

it('the time limit of a turn ends its work, unless the work ends first', async () => {
  const late = open();
  late.guard.limit(1_000);
  await late.timers.advance(1_000);
  expect(late.guard.signal.reason).toEqual(new TurnTimeout(1_000));
  expect(late.timers.pending).toBe(0);
  const early = open();
  early.guard.limit(1_000);
  early.guard.unlimit();
  await early.timers.advance(1_000);
  expect(early.guard.signal.aborted).toBe(false);
});
