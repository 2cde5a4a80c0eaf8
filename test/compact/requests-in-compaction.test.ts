import { describe, expect, test } from 'vitest';
import { compactMessages } from '../../src/compact.ts';
import type { Message } from '../../src/domain/message.ts';

const LIMIT = 6_000;

/** A small random generator, so that each run tests the same texts. */
function hexNames(): () => string {
  let seed = 11;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed.toString(16).padStart(8, '0');
  };
}

function steps(count: number): string {
  return Array.from(
    { length: count },
    (_, index) => `${index + 1}. If K${(index * 7_919) % 9_973} is above ${(index * 31) % 97}, do not order iron.`,
  ).join('\n');
}

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });

/** Rounds whose results are full of names, which are worth more than the words of any runbook. */
function rounds(count: number): Message[] {
  const hex = hexNames();
  return Array.from({ length: count }, (_, index): Message[] => {
    const rows = Array.from({ length: 25 }, () => ({ id: `${hex()}-${hex()}`, source: `#${hex()}`, code: hex() }));
    const call = { id: `c${index}`, name: 'fetch_page', arguments: JSON.stringify({ page: index }) };
    return [
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: call.id, content: JSON.stringify(rows, null, 1) },
    ];
  }).flat();
}

async function compact(messages: readonly Message[]): Promise<readonly Message[]> {
  const compacted = await compactMessages({ messages, policy: { maxTokens: LIMIT }, force: true });
  expect(compacted.report.kind).not.toBe('none');
  expect(compacted.report.tokensAfter).toBeLessThanOrEqual(LIMIT);
  return compacted.messages;
}

function holds(messages: readonly Message[], text: string): boolean {
  return messages.some(({ content }) => content === text);
}

const runbook = `Follow these steps.\n${steps(140)}\nAnswer with DONE.`;

describe('the last request of a conversation, when a person compacts the conversation', () => {
  test.each<[string, readonly Message[]]>([
    ['the list ends with results that the agent has not read', rounds(5)],
    ['the agent has said what it will do next', [...rounds(5), says('Pages read. Next: write.')]],
    ['the turn has ended with an answer', [...rounds(5), says('DONE')]],
  ])('a request of half the budget stays whole if %s', async (_, behind) => {
    expect(holds(await compact([user(runbook), ...behind]), runbook)).toBe(true);
    const older = [user('Hello.'), ...rounds(3), says('Ready.')];
    expect(holds(await compact([...older, user(runbook), ...behind]), runbook)).toBe(true);
  });

  test('all messages of a request stay whole if the user wrote several in a row', async () => {
    const parts = [`The first part:\n${steps(70)}`, 'Then the second.', `And the third:\n${steps(50)}`];
    const messages = [user('Hello.'), ...rounds(3), says('Ready.'), ...parts.map(user), ...rounds(4), says('Read.')];
    const compacted = await compact(messages);
    expect(parts.filter((part) => !holds(compacted, part))).toEqual([]);
  });

  test('a request that is larger than its share of the budget keeps more than half of the budget', async () => {
    const request = `Follow these steps.\n${steps(260)}\nAnswer with DONE.`;
    const [first] = await compact([user(request), ...rounds(5), says('Pages read.')]);
    expect(first?.content).toMatch(/^\[excerpt of message 1\]/);
    const kept = request.split('\n').filter((line) => first?.content.includes(line));
    expect(kept.length).toBeGreaterThan(130);
  });
});
