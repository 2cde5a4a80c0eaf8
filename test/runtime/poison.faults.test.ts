import { expect, it, onTestFinished } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { type ConversationRef, nameConversation } from '../../src/domain/ids.ts';
import type { ModelProfile } from '../../src/domain/model.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { Keyspace, readyMember } from '../../src/store/keys.ts';
import { agentOf, createMortalAgent } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, SHARDS, settled, untilDead } from './fixture.ts';

const REF: ConversationRef = { tenant: '_', id: 'c1' };

/** As if the dead worker's lease had run out: its 8 s need not pass. */
async function lapseLease({ redis }: Fixture): Promise<void> {
  const keyspace = new Keyspace(SHARDS);
  await redis.hset(keyspace.key(REF, 'c'), 'lease', 1);
  await redis.zadd(keyspace.ready(keyspace.shardOf(REF)), 1, readyMember('t', REF));
}

it('a turn that kills its process at the same step fails as poison, and the next turn runs', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  for (const turn of ['t1', 't2', 't3']) {
    await fixture.client.enqueueTurn({ conversation: REF.id, agent: 'guide', turn, input: turn });
  }
  for (let death = 0; death < TURN_LIMITS.maxAttempts; death += 1) {
    // The model has answered, and its answer is not recorded.
    await untilDead(await fixture.spawnMortal(['turn'], 'model_called'));
    await lapseLease(fixture);
  }
  const living = await fixture.startWorkers(createMortalAgent());
  expect(await settled(fixture, REF.id, 't1')).toMatchObject({ state: 'failed', failure: { code: 'poison' } });
  for (const turn of ['t2', 't3']) {
    expect(await settled(fixture, REF.id, turn)).toMatchObject({ state: 'completed', answer: { content: 'done' } });
  }
  const roles = (await fixture.client.log(REF.id)).map(({ message }) => message.role);
  const ANSWERED = ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'];
  expect(roles).toEqual(['user', ...ANSWERED, ...ANSWERED]);
  expect(eventsOf(living, 'turn_claimed').map(({ turn }) => turn)).toEqual(['t2', 't3']);
});

it('a turn whose work throws an unexpected error fails with internal_error at once, and the error is reported with its ids', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const agent = agentOf();
  const error = new Error('nobody foresaw this');
  const broken = breakable(agent.model.profile, error);
  const workers = await fixture.startWorkers({ ...agent, model: { ...agent.model, profile: broken.profile } });
  broken.break();
  await fixture.client.enqueueTurn({ conversation: REF.id, agent: 'guide', turn: 't1', input: 'hello' });
  const { failure } = await settled(fixture, REF.id, 't1');
  expect(failure).toMatchObject({ code: 'internal_error', details: { error: 'Error' } });
  expect(eventsOf(workers, 'turn_claimed')).toHaveLength(1);
  const told = { type: 'worker_failed', where: 'turn', ...nameConversation(REF), turn: 't1', error };
  await eventually(
    () => eventsOf(workers, 'worker_failed'),
    (seen) => expect(seen).toEqual([told]),
  );
});

it('a turn that loses Redis in the middle is given back, and the claim does not count as an attempt', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const outage = new TurnfoldError('redis_unavailable', 'Redis does not answer: the test says so');
  const agent = agentOf();
  const broken = breakable(agent.model.profile, outage);
  const workers = await fixture.startWorkers({ ...agent, model: { ...agent.model, profile: broken.profile } });
  broken.break();
  await fixture.client.enqueueTurn({ conversation: REF.id, agent: 'guide', turn: 't1', input: 'hello' });
  await eventually(
    () => eventsOf(workers, 'turn_claimed').length,
    (seen) => expect(seen).toBeGreaterThan(TURN_LIMITS.maxAttempts),
  );
  broken.mend();
  expect(await settled(fixture, REF.id, 't1')).toMatchObject({ state: 'completed' });
  expect(new Set(eventsOf(workers, 'turn_claimed').map(({ attempt }) => attempt))).toEqual(new Set([1]));
});

/** A model profile that throws the error at each read while it is broken. */
function breakable(profile: ModelProfile, error: Error) {
  let isBroken = false;
  return {
    break: () => {
      isBroken = true;
    },
    mend: () => {
      isBroken = false;
    },
    profile: new Proxy(profile, {
      get(target, key): unknown {
        if (isBroken) throw error;
        return Reflect.get(target, key);
      },
    }),
  };
}
