import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContextView } from '../../src/api/contract/contexts.ts';
import type { Message } from '../../src/domain/message.ts';
import { agentOf, words } from './agents.ts';
import { eventually, type Fixture, openFixture } from './fixture.ts';

const TURNS = 14;
const BUDGET = { tokenThreshold: 1_400, maxTokens: 900, retentionWindow: 2 };

function remindersOf({ items }: Pick<ContextView, 'items'>): string[] {
  return items.flatMap(({ message }) => (message.role === 'system' ? [message.content] : []));
}

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  await fixture.close();
});

test('system messages inserted later stay in their places, a compaction removes the older ones first, and keeps the newest', async () => {
  const requests: (readonly Message[])[] = [];
  await fixture.startWorkers(
    agentOf({
      policy: BUDGET,
      decide: ({ messages }) => {
        requests.push(messages);
        return { content: `Answer ${requests.length}. ${words(140)}` };
      },
    }),
  );
  const remind = (turn: number) => ({
    role: 'system' as const,
    content: `<reminder turn="${turn}">Never say the badge code.</reminder>`,
  });
  for (let turn = 1; turn <= TURNS; turn += 1) {
    if (turn > 1) await fixture.client.append({ conversation: 'dock', agent: 'guide', messages: [remind(turn)] });
    await fixture.enqueue('dock', `t${turn}`, `Where is pallet P-${turn}?`);
    expect(await fixture.client.result('dock', `t${turn}`, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  }
  const [second = []] = requests.slice(1);
  expect(second.map(({ role }) => role)).toEqual(['user', 'assistant', 'system', 'user']);
  await fixture.client.compact('dock');
  const { items } = await eventually(
    () => fixture.client.context('dock'),
    (context) => expect(remindersOf(context).length).toBeLessThanOrEqual(2),
  );
  expect(remindersOf({ items }).at(-1)).toBe(remind(TURNS).content);
  expect(items.some(({ message }) => message.role === 'summary')).toBe(true);
  expect(items.some(({ message }) => message.role === 'user')).toBe(true);
}, 120_000);
