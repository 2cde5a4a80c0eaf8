import { describe, it, type TestContext } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { WorkerRole } from '../../src/host/start-workers.ts';
import { createMortalAgent, words } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, settled, untilDead } from './fixture.ts';

interface Death {
  readonly who: string;
  readonly roles: readonly WorkerRole[];
  readonly dieAt: WorkerEvent['type'];
}

const ALL: readonly WorkerRole[] = ['turn', 'compaction', 'summarization'];

/** Each test in a fixture of its own, all at once: every one waits out a lease or a lock of ten seconds. */
async function useFixture({ onTestFinished }: TestContext): Promise<Fixture> {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  return fixture;
}

async function enqueueTurns({ client }: Fixture, turns: readonly string[]): Promise<void> {
  for (const turn of turns) await client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn, input: turn });
}

/** Log of a turn of the mortal agent. */
const TURN = ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'];

describe('a worker process that is killed', () => {
  const deathsInTurns: readonly Death[] = [
    { who: 'when its model has answered', roles: ALL, dieAt: 'model_called' },
    { who: 'when its tool has answered', roles: ['turn'], dieAt: 'tool_called' },
    { who: 'when it has settled', roles: ['turn'], dieAt: 'turn_settled' },
  ];

  it.concurrent.for(deathsInTurns)(
    'after a worker is killed in a turn ($who), another worker continues without repeating a recorded step',
    async (death, context) => {
      const { expect } = context;
      const fixture = await useFixture(context);
      await enqueueTurns(fixture, ['t1', 't2']);
      await untilDead(await fixture.spawnMortal(death.roles, death.dieAt));
      const running = await fixture.startWorkers(createMortalAgent());
      for (const turn of ['t1', 't2']) {
        expect(await settled(fixture, 'c1', turn)).toMatchObject({ state: 'completed', answer: { content: 'done' } });
      }
      const log = await fixture.client.log('c1');
      expect(log.map(({ message }) => message.role)).toEqual([...TURN, ...TURN]);
      const answered = log.flatMap(({ message }) => message.toolCallId ?? []);
      expect(new Set(answered).size).toBe(4);
      expect(eventsOf(running, 'worker_failed')).toEqual([]);
    },
  );

  const deathsInPasses: readonly Death[] = [
    { who: 'the compaction worker, when it has parked', roles: ['compaction'], dieAt: 'pass_fanned_out' },
    { who: 'the summarization worker, when it has written', roles: ['summarization'], dieAt: 'summary_ended' },
    {
      who: 'the compaction worker, when it has committed',
      roles: ['compaction', 'summarization'],
      dieAt: 'pass_ended',
    },
  ];

  it.concurrent.for(deathsInPasses)(
    'after a worker is killed in a compaction pass ($who), another worker continues and creates one version',
    async (death, context) => {
      const { expect } = context;
      const fixture = await useFixture(context);
      const said = [
        { role: 'user' as const, content: 'look' },
        { role: 'assistant' as const, content: words(300) },
        { role: 'assistant' as const, content: `I will do it. ${words(300)}` },
      ];
      await fixture.client.append({
        conversation: 'c1',
        agent: 'guide',
        messages: [...said, ...said, ...said, ...said],
      });
      const dying = fixture.spawnMortal(death.roles, death.dieAt);
      const others = ALL.filter((role) => !death.roles.includes(role));
      const living = await fixture.startWorkers(createMortalAgent(), { roles: others });
      await untilDead(await dying);
      const next = await fixture.startWorkers(createMortalAgent());
      await eventually(
        () => fixture.client.describe('c1'),
        ({ size, passId }) => {
          expect(size.version).toBe(1);
          expect(passId).toBeUndefined();
        },
      );
      const versions = await fixture.client.versions('c1');
      expect(versions).toMatchObject([{ number: 1, strategy: 'summarize', archived: 6 }]);
      const written = [living, next].flatMap((workers) => eventsOf(workers, 'summary_ended'));
      const count = written.filter(({ outcome }) => outcome === 'written').length;
      // The dead worker's writes are known and not repeated.
      expect(count).toBe({ pass_fanned_out: 3, summary_ended: 2, pass_ended: 0 }[death.dieAt as 'pass_ended']);
      expect(await fixture.client.log('c1')).toHaveLength(12);
    },
  );
});
