import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import { ModelError, type ModelRequest } from '../../../src/domain/model.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture, type FixtureOptions, ref } from './fixture.ts';

/** The usable window is 2,000 tokens: a soft compaction pass is due from 1,700, a hard one from 1,840. */
const profile = { windowTokens: 2_500, outputCapTokens: 500 };

/** A text of about this many tokens: each word is one token. */
function words(count: number): string {
  return ' word'.repeat(count);
}

function deciding(decide: (request: ModelRequest) => ScriptedOutcome = () => ({ content: 'ok' })) {
  return scriptedModel({ profile, decide });
}

async function openWith(model: FixtureOptions['model'], options: Partial<FixtureOptions> = {}): Promise<Fixture> {
  return Fixture.open({ model, ...options });
}

/** Settles the first turn without a model, so that its message is old when the next turn comes. */
async function settleUnanswered(world: Fixture): Promise<void> {
  const claim = await world.store.claim(ref, 'o', 'w');
  if (claim.status !== 'claimed') throw new Error(claim.status);
  await world.store.settle(claim.turn.lease, { state: 'completed', answerSeq: 1 }, undefined);
}

/** Delivers a turn whose input has this many tokens, before and after a compaction pass that changes nothing. */
async function deliverAroundPass(model: FixtureOptions['model'], tokens: number): Promise<Fixture> {
  const world = await openWith(model);
  await world.accept('t1', words(tokens));
  await world.deliver();
  await world.endPass();
  await world.deliver();
  return world;
}

function overflow(): ModelError {
  return new ModelError('overflow', 'prompt is too long', { code: 'context_length_exceeded' });
}

it('a turn over a soft threshold requests one compaction pass and continues without waiting for it', async () => {
  const call = { toolCalls: [{ name: 'nothing', arguments: {} }] };
  const model = deciding(({ messages }) => (messages.length < 7 ? call : { content: 'done' }));
  const world = await openWith(model);
  await world.accept('t1', words(1_700));
  await world.deliver();
  expect(model.callCount).toBe(4);
  expect(world.passRequests).toMatchObject([{ reasons: ['ratio'] }]);
  const { pass } = (await world.db.find(ref)) ?? {};
  expect(world.wakes).toEqual([{ kind: 'pass', wake: pass?.wake }]);
  expect(world.eventsOf('pass_requested')).toMatchObject([
    { passId: pass?.passId, reasons: ['ratio'], isJoined: false },
  ]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.events.map(({ type }) => type).slice(0, 3)).toEqual(['turn_claimed', 'pass_requested', 'model_called']);
});

it('a turn whose model thinks between tool calls requests no soft compaction pass until the turn ends', async () => {
  const raw = { format: 'anthropic', model: 'm', items: [{ type: 'thinking', thinking: 'hm' }] };
  const call = { toolCalls: [{ name: 'nothing', arguments: {} }], raw };
  const model = deciding(({ messages }) => (messages.length < 8 ? call : { content: 'done' }));
  const world = await openWith(model);
  await world.accept('t0', words(1_000));
  await settleUnanswered(world);
  await world.accept('t1', words(670));
  await world.deliver();
  expect(model.callCount).toBe(4);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  const kinds = ['pass_requested', 'pass_backed_off', 'model_called', 'turn_settled'];
  const held = ['pass_backed_off', 'model_called'];
  const told = ['model_called', ...held, ...held, ...held, 'turn_settled', 'pass_requested'];
  expect(world.events.map(({ type }) => type).filter((type) => kinds.includes(type))).toEqual(told);
  expect(world.eventsOf('pass_backed_off')[0]).toMatchObject({ why: 'thinking' });
});

it('a turn over a soft threshold requests a compaction pass at its end, after it is settled', async () => {
  const world = await openWith(deciding(), { policy: { onTurnEnd: true, turnThreshold: 2 } });
  await world.accept('t1', 'one');
  await world.accept('t2', 'two');
  await world.deliver();
  const kinds = world.events.map(({ type }) => type);
  const turn = ['turn_claimed', 'model_called', 'turn_settled'];
  expect(kinds).toEqual([...turn, 'pass_requested', ...turn]);
  expect(world.passRequests).toMatchObject([{ reasons: ['turn_end'] }]);
});

it('a turn stays completed if no compaction pass can be requested at its end, and its delivery answers the next turn', async () => {
  const error = new Error('no pass');
  const wrap: FixtureOptions['wrap'] = (ports) => ({ ...ports, passes: { requestPass: () => Promise.reject(error) } });
  const world = await openWith(deciding(), { policy: { onTurnEnd: true }, wrap });
  await world.accept('t1', 'one');
  await world.accept('t2', 'two');
  expect(await world.deliver()).toBe('done');
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(await world.view('t2')).toMatchObject({ state: 'completed' });
  const failed = { where: 'turn end', tenant: '_', conversation: 'talk', error };
  expect(world.eventsOf('worker_failed')).toMatchObject([failed, failed]);
  expect(world.eventsOf('lease_lost')).toEqual([]);
});

it('after a soft compaction pass, the next request of the same turn has a smaller context', async () => {
  const sizes: number[] = [];
  const model = deciding(({ messages, tokens }) => {
    sizes.push(tokens);
    if (sizes.length === 2) return { content: messages.map(({ role }) => role).join(' ') };
    return { toolCalls: [{ name: 'compact', arguments: {} }] };
  });
  const compact = defineTool({
    name: 'compact',
    description: '',
    input: z.object({}),
    run: async () => {
      await world.endPass(2);
      return 'done';
    },
  });
  const world: Fixture = await openWith(model, { tools: [compact] as Tool[] });
  await world.accept('t0', words(1_720));
  await settleUnanswered(world);
  await world.accept('t1', 'And now?');
  await world.deliver();
  expect(sizes[0]).toBeGreaterThan(1_700);
  expect(sizes[1]).toBeLessThan(100);
  expect(await world.view('t1')).toMatchObject({ answer: { content: 'user assistant tool' } });
});

it('a turn over the hard limit waits for a compaction pass without a lease, until the end of the pass wakes the turn', async () => {
  const model = deciding(({ messages }) => ({ content: `saw ${messages.length}` }));
  const world = await openWith(model);
  await world.accept('t1', words(1_000));
  await world.deliver();
  await world.accept('t2', words(1_000));
  await world.deliver();
  const until = world.timers.now() + 20_000;
  expect(await world.view('t2')).toMatchObject({
    state: 'waiting',
    waiting: { for: 'compaction', step: 'model-1', until, calls: [] },
  });
  expect(world.passRequests).toMatchObject([{ reasons: ['ratio', 'hard_limit'] }]);
  expect(model.callCount).toBe(1);
  await world.deliver();
  expect(model.callCount, 'left alone while it waits').toBe(1);
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t2')).toMatchObject({ state: 'completed', answer: { content: 'saw 1' } });
  expect(world.eventsOf('turn_claimed').at(-1)).toMatchObject({ suspended: { for: 'compaction', ms: 0 } });
  expect(world.takeovers).toBe(0);
});

it('a turn over the hard limit waits once for a compaction pass that changes nothing, and then sends a request within the window', async () => {
  const world = await deliverAroundPass(deciding(), 1_900);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.eventsOf('turn_suspended')).toHaveLength(1);
  expect(world.eventsOf('model_called')).toMatchObject([{ isOverLimit: false }]);
});

it('a turn fails with the sizes of its request if a compaction pass changed nothing and the request exceeds the window', async () => {
  const model = deciding();
  const world = await deliverAroundPass(model, 2_100);
  const { failure } = (await world.view('t1')) ?? {};
  expect(failure).toMatchObject({ code: 'budget_infeasible', details: { usable: 2_000, upperBoundFactor: 1 } });
  expect(failure?.message).toMatch(
    /system and tools \d+ \+ messages \d+ = \d+ tokens, upper bound \d+ .*usable window of the model 2000/,
  );
  expect(model.callCount).toBe(0);
  expect(world.passRequests).toHaveLength(1);
});

it('a turn whose wait for a compaction pass reached its deadline takes over that pass', async () => {
  const world = await openWith(deciding());
  await world.accept('t1', words(1_900));
  await world.deliver();
  await world.timers.advance(19_999);
  await world.deliver();
  expect(world.takeovers).toBe(0);
  await world.timers.advance(1);
  const passId = (await world.db.find(ref))?.pass?.passId;
  await world.deliver();
  expect(world.takeovers).toBe(1);
  expect((await world.db.find(ref))?.pass?.passId).not.toBe(passId);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.eventsOf('turn_claimed').map(({ suspended }) => suspended)).toEqual([
    undefined,
    { for: 'compaction', ms: 20_000 },
  ]);
  expect(await world.countTimers()).toBe(0);
});

it('a turn that takes over a compaction pass continues with the smaller context', async () => {
  const model = deciding(({ messages }) => ({ content: `saw ${messages.length}` }));
  const world = await openWith(model, { takeoverKeeps: 1 });
  await world.accept('t0', words(2_000));
  await settleUnanswered(world);
  await world.accept('t1', words(100));
  await world.deliver();
  await world.timers.advance(20_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'saw 1' } });
});

it('a turn over the hard limit adds its reason to the open soft compaction pass and continues when that pass ends', async () => {
  const world = await openWith(deciding(), { policy: { messageThreshold: 1 } });
  await world.accept('t1', 'short');
  await world.deliver();
  await world.accept('t2', words(1_900));
  await world.deliver();
  expect(world.eventsOf('pass_requested')).toMatchObject([{ isJoined: false }, { isJoined: true }]);
  expect((await world.db.find(ref))?.pass?.reasons).toContain('hard_limit');
  expect(world.wakes).toHaveLength(1);
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t2')).toMatchObject({ state: 'completed' });
});

it('a turn does not wait for a compaction pass that ended before the turn was suspended', async () => {
  const world = await openWith(deciding(), {
    wrap: (ports) => ({
      ...ports,
      turns: {
        ...ports.turns,
        suspend: async (lease, wait) => {
          await world.endPass();
          return ports.turns.suspend(lease, wait);
        },
      },
    }),
  });
  await world.accept('t1', words(1_900));
  await world.deliver();
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn does not wait again for a compaction pass after a retry of the same step', async () => {
  let calls = 0;
  const model = deciding(() => {
    calls += 1;
    return calls === 1 ? new ModelError('retry', 'busy') : { content: 'there' };
  });
  const world = await deliverAroundPass(model, 1_900);
  expect(await world.view('t1')).toMatchObject({ waiting: { for: 'retry' } });
  await world.timers.advance(1_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.eventsOf('turn_suspended').map((event) => event.for)).toEqual(['compaction', 'retry']);
});

/** An old message and a current one. Together they exceed the window, but a compaction pass can remove the old one. */
async function openFeasible(options: Partial<FixtureOptions> = {}): Promise<Fixture> {
  const world = await openWith(deciding(), options);
  await world.accept('t0', words(2_000));
  await settleUnanswered(world);
  await world.accept('t1', words(100));
  await world.deliver();
  return world;
}

it('a turn requests another compaction pass if the pass that it waited for ended without deciding whether the context can be smaller', async () => {
  const world = await openFeasible();
  await world.failPass();
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  expect(world.passRequests).toHaveLength(2);
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.takeovers, 'nobody else’s pass was open').toBe(1);
});

it('a turn takes over the open compaction pass if the pass that it waited for ended without deciding whether the context can be smaller', async () => {
  const world = await openFeasible({ takeoverKeeps: 1 });
  await world.failPass();
  await world.ports.passes.requestPass({ conversation: ref, reasons: ['ratio'], passId: 'another', wake: 'w' });
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect((await world.db.find(ref))?.pass).toBeUndefined();
});

it('a turn waits for three compaction passes that end undecided about the context’s size, and then compacts the context itself', async () => {
  const world = await openFeasible({ takeoverKeeps: 1 });
  for (let pass = 0; pass < 3; pass += 1) {
    expect(await world.view('t1'), `wait ${pass + 1}`).toMatchObject({ state: 'waiting' });
    await world.failPass();
    await world.deliver();
  }
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.eventsOf('turn_suspended')).toHaveLength(3);
});

it('after its provider refused a request as too long, a turn waits for at most three compaction passes that do not decide on the size', async () => {
  const model = deciding(({ messages }) => (messages.length > 1 ? overflow() : { content: 'fits' }));
  const world = await openWith(model);
  await world.accept('t0', 'before');
  await settleUnanswered(world);
  await world.accept('t1', 'now');
  await world.deliver();
  await world.failPass();
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'fits' } });
});

it('a turn compacts its context instead of failing as budget_infeasible, if the context can become small enough', async () => {
  const world = await openWith(deciding(), { takeoverKeeps: 1 });
  await world.accept('t0', words(2_000));
  await settleUnanswered(world);
  await world.accept('t1', words(100));
  await world.deliver();
  // A compaction pass that found nothing to remove, because its reasons were soft or its worker had another policy.
  await world.endPass();
  await world.deliver();
  expect(world.recounts).toBe(1);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn does not fail as budget_infeasible if another compaction pass has made its context smaller meanwhile', async () => {
  let shrink = async (): Promise<void> => undefined;
  const world = await openWith(deciding(), {
    wrap: (ports) => ({
      ...ports,
      turns: {
        ...ports.turns,
        startSteps: async (lease, keys) => {
          const started = await ports.turns.startSteps(lease, keys);
          await shrink();
          return started;
        },
      },
    }),
  });
  await world.accept('t0', words(2_000));
  await settleUnanswered(world);
  await world.accept('t1', words(100));
  await world.deliver();
  await world.endPass();
  // Another compaction pass commits after the turn has read the state, and before the turn decides to fail.
  shrink = async () => {
    shrink = async () => undefined;
    await world.ports.passes.requestPass({ conversation: ref, reasons: ['manual'], passId: 'p9', wake: 'w' });
    await world.endPass(1);
  };
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.recounts).toBe(0);
});

it('the error budget_infeasible lists the sizes of the parts that compaction must keep, whose sum exceeds the budget', async () => {
  const world = await openWith(deciding());
  await world.accept('t1', words(2_100));
  await world.deliver();
  await world.endPass();
  await world.deliver();
  const { failure } = (await world.view('t1')) ?? {};
  const { fixed, pinned, open, floor, max } = failure?.details ?? {};
  const parts = [fixed, pinned, open, floor].map(Number);
  expect(parts.reduce((sum, part) => sum + part, 0)).toBeGreaterThan(Number(max));
  expect(open).toBe(2_104);
  expect(failure?.message).toMatch(
    /system and tools \d+ \+ pinned 0 \+ .* open calls 2104 \+ .* 0 tokens, but maxTokens is 1000/,
  );
});

it('a turn fails as retries_exhausted, not as budget_infeasible, if another owner takes over each of its compaction passes', async () => {
  const world = await openWith(deciding());
  await world.accept('t0', words(2_000));
  await settleUnanswered(world);
  await world.accept('t1', words(100));
  await world.deliver();
  await world.endPass();
  for (let delivery = 0; (await world.view('t1'))?.state !== 'failed'; delivery += 1) {
    if (delivery === 30) throw new Error('30 deliveries did not settle the turn');
    await world.deliver();
    await world.timers.advance(60_000);
  }
  expect(await world.view('t1')).toMatchObject({ failure: { code: 'retries_exhausted' } });
});

it('after a provider refuses a request as too long, the turn sends the request again after a compaction pass', async () => {
  const model = deciding(({ messages }) => (messages.length > 1 ? overflow() : { content: 'fits' }));
  const world = await openWith(model);
  await world.accept('t0', 'before');
  await settleUnanswered(world);
  await world.accept('t1', 'now');
  await world.deliver();
  const refused = world.eventsOf('model_called').map(({ tokens }) => tokens);
  expect(world.passRequests).toEqual([expect.objectContaining({ reasons: ['overflow'], refusedTokens: refused[0] })]);
  expect(await world.view('t1')).toMatchObject({ waiting: { for: 'compaction', step: 'model-1' } });
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'fits' } });
  expect(world.eventsOf('model_called').map(({ outcome }) => outcome)).toEqual(['overflow', 'answered']);
});

it('a turn fails if the provider refuses its request as too long for the second time', async () => {
  const world = await openWith(deciding(overflow));
  await world.accept('t1', 'now');
  await world.deliver();
  await world.endPass();
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ failure: { code: 'budget_infeasible' } });
  expect(world.passRequests).toHaveLength(1);
});

it('a model step may wait for a compaction pass at a threshold, and once more after the provider refused the request as too long', async () => {
  const model = deciding(({ messages }) => (messages.length > 1 ? overflow() : { content: 'fits' }));
  const world = await openWith(model);
  await world.accept('t0', words(1_500));
  await settleUnanswered(world);
  await world.accept('t1', words(400));
  await world.deliver();
  await world.endPass();
  await world.deliver();
  expect(await world.view('t1'), 'refused').toMatchObject({ waiting: { for: 'compaction', step: 'model-1' } });
  expect(world.passRequests.map(({ reasons }) => reasons.at(-1))).toEqual(['hard_limit', 'overflow']);
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'fits' } });
});

it('a model step waits at most once at a threshold and once after the provider refused the request as too long', async () => {
  const world = await openWith(deciding(overflow));
  await world.accept('t1', words(1_900));
  for (let pass = 0; pass < 3; pass += 1) {
    await world.deliver();
    await world.endPass();
  }
  const { failure } = (await world.view('t1')) ?? {};
  expect(failure).toMatchObject({ code: 'budget_infeasible', details: { code: 'context_length_exceeded' } });
  expect(failure?.message).toMatch(
    /= \d+ tokens, .*\. The provider refused the request as too long \(context_length_exceeded\)/,
  );
  expect(world.passRequests).toHaveLength(2);
});

it('a turn that is claimed again before its suspension counts its waits at a threshold and after a refused size separately', async () => {
  let isDown = true;
  const outage = new TurnfoldError('redis_unavailable', 'Redis does not answer');
  const model = deciding(({ messages }) => (messages.length > 1 ? overflow() : { content: 'fits' }));
  const world = await openWith(model, {
    wrap: (ports) => ({
      ...ports,
      turns: {
        ...ports.turns,
        suspend: async (lease, wait) => {
          if (isDown) throw outage;
          return ports.turns.suspend(lease, wait);
        },
      },
    }),
  });
  await world.accept('t0', 'before');
  await settleUnanswered(world);
  await world.accept('t1', 'now');
  await expect(world.deliver()).rejects.toBe(outage);
  isDown = false;
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ waiting: { for: 'compaction' } });
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'fits' } });
});

it('a turn of an agent with compaction switched off sends a request that fits, and never requests a compaction pass', async () => {
  const world = await openWith(deciding(), { policy: { enabled: false } });
  await world.accept('t1', words(1_900));
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.passRequests).toEqual([]);
});

it('a turn of an agent with compaction switched off fails as context_overflow if its request is too long for the window or the provider', async () => {
  const model = deciding(overflow);
  const world = await openWith(model, { policy: { enabled: false } });
  await world.accept('t1', 'small');
  await world.accept('t2', words(2_100));
  await world.deliver();
  expect(model.callCount).toBe(1);
  for (const turn of ['t1', 't2']) {
    expect(await world.view(turn)).toMatchObject({ failure: { code: 'context_overflow' } });
  }
  expect(world.passRequests).toEqual([]);
});
