import { describe, expect, it } from 'vitest';
import { normalize, normalizeOutcome } from './normal-form.ts';
import { seeded } from './random.ts';
import { STORIES } from './stories.ts';
import { type Acknowledged, MISHAPS, type Mishap, type Mishaps, type Story, tell } from './story.ts';

const PAIRS = 60;
const SEED = 20_261_121;

/** Of a story that goes on, every call and its number; what becomes of it must not differ. */
async function expectSame(
  story: Story,
  whole: Acknowledged,
  mishaps: Mishaps,
  form = formOf(story),
): Promise<Acknowledged> {
  const label = [...mishaps]
    .map(([number, mishap]) => `${mishap} ${number} ${whole.names[number - 1] ?? ''}`)
    .join(', ');
  const told = await tell(story, mishaps).catch((error: unknown) => {
    throw new Error(`${label}: ${String(error)}`, { cause: error });
  });
  expect(form(told.world), label).toEqual(form(whole.world));
  return told;
}

function formOf(story: Story): (world: Acknowledged['world']) => unknown {
  return story.isRacing ? normalizeOutcome : normalize;
}

describe.each(STORIES)('$name', (story) => {
  it.each(['before', 'after'] as const)(
    'ends as ever where a process dies at any call, %s its effect',
    async (when) => {
      const whole = await tell(story);
      for (let number = 1; number <= whole.calls; number += 1) {
        const { mishaps } = await expectSame(story, whole, new Map([[number, when]]));
        expect(mishaps).toBe(1);
      }
      expect(whole.calls).toBeGreaterThan(15);
    },
  );

  it('ends as ever where any call is answered to nobody and sent again: I5', async () => {
    const whole = await tell(story);
    for (let number = 1; number <= whole.calls; number += 1) {
      await expectSame(story, whole, new Map([[number, 'again']]));
    }
    expect(whole.world.db.ready.size).toBe(0);
  });

  it('loses and repeats nothing where any call is answered to nobody', async () => {
    const whole = await tell(story);
    for (let number = 1; number <= whole.calls; number += 1) {
      // A pass whose delivery ended early may miss the deadline of the turn that waits for it, and is taken over.
      await expectSame(story, whole, new Map([[number, 'unanswered']]), normalizeOutcome);
    }
    expect(whole.world.db.ready.size).toBe(0);
  });

  it(`loses and repeats nothing where two calls go wrong, seed ${SEED}`, async () => {
    const random = seeded(SEED);
    const whole = await tell(story);
    let both = 0;
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = 1 + Math.floor(random() * whole.calls);
      const second = first + 1 + Math.floor(random() * whole.calls);
      const [one, other] = [pick(random), pick(random)];
      const told = await expectSame(
        story,
        whole,
        new Map([
          [first, one],
          [second, other],
        ]),
        normalizeOutcome,
      );
      if (told.mishaps === 2) both += 1;
    }
    expect(both).toBeGreaterThan(PAIRS / 4);
  });
});

function pick(random: () => number): Mishap {
  return MISHAPS[Math.floor(random() * MISHAPS.length)] ?? 'before';
}
