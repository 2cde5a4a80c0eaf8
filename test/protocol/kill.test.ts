import { describe, expect, it } from 'vitest';
import { STORIES } from './stories.ts';
import { MISHAPS, normalize, tell } from './story.ts';

describe.each(STORIES)('$name', (story) => {
  it('ends', async () => {
    const whole = await tell(story);
    console.log(story.name, whole.calls, whole.world.clock.now() - 1_700_000_000_000, whole.names.join(' '));
    console.log(JSON.stringify(normalize(whole.world)).slice(0, 3000));
  });
  it.each(MISHAPS)('ends as ever where at any call: %s', async (mishap) => {
    const whole = await tell(story);
    const expected = normalize(whole.world);
    const bad: string[] = [];
    for (let k = 1; k <= whole.calls; k += 1) {
      try {
        const { world } = await tell(story, new Map([[k, mishap]]));
        expect(normalize(world)).toEqual(expected);
      } catch (e) {
        bad.push(`${k} ${whole.names[k - 1]} ${String((e as Error).message).slice(0, 300)}`);
      }
    }
    expect(bad.join('\n')).toBe('');
  });
});
