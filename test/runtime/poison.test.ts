import { expect, it, onTestFinished } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { Keyspace, readyMember } from '../../src/store/keys.ts';
import { createMortalAgent } from './agents.ts';
import { eventsOf, type Fixture, openFixture, SHARDS, settled, untilDead } from './fixture.ts';

const REF: ConversationRef = { tenant: '_', id: 'c1' };

/** As if the dead worker's lease had run out: its 8 s need not pass. */
async function lapseLease({ redis }: Fixture): Promise<void> {
  const keyspace = new Keyspace(SHARDS);
  await redis.hset(keyspace.key(REF, 'c'), 'lease', 1);
  await redis.zadd(keyspace.ready(keyspace.shardOf(REF)), 1, readyMember('t', REF));
}

it('a turn that kills its process at the same step every time fails as poison; the next one runs', async () => {
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
}, 60_000);
