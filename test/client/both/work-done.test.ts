import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

function round(id: string, name: string, given: object, content: string) {
  return [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: JSON.stringify(given) }] },
    { role: 'tool' as const, content, toolCallId: id },
  ];
}

test('workDone returns changed files, the last test run, tasks, and calls that worked and failed', async () => {
  const { client } = fixture;
  const messages = [
    { role: 'user' as const, content: 'Mend the pump.' },
    ...round('a', 'edit', { path: 'src/pump.ts', text: 'x' }, 'done'),
    ...round('b', 'bash', { command: 'npm test' }, '1 failed, 4 passed\nexit code 1'),
    ...round('c', 'plan', { steps: [{ step: 'Mend the pump', status: 'in_progress' }] }, 'ok'),
  ];
  await client.append({ conversation: 'work', agent: 'coder', messages });
  const work = await client.workDone('work');
  expect(work).toMatchObject({
    from: 1,
    head: 7,
    calls: {
      worked: {
        count: 2,
        last: [
          { seq: 6, call: expect.stringMatching(/^plan /) as string },
          { seq: 2, call: expect.stringMatching(/^edit src\/pump\.ts/) as string },
        ],
      },
      failed: { count: 1, last: [{ seq: 4, call: 'bash npm test' }] },
      unanswered: 0,
    },
    files: { count: 1, last: [{ path: 'src/pump.ts', seq: 2, by: [{ name: 'edit', count: 1 }] }] },
    tests: { seq: 4, call: 'bash npm test', lines: ['1 failed, 4 passed'], isOld: false },
    tasks: { seq: 6, list: [{ text: 'Mend the pump', status: 'in_progress', isClosed: false }] },
  });
});

test('workDone of a conversation without calls has no tests and no tasks', async () => {
  const { client } = fixture;
  await client.append({ conversation: 'talk', agent: 'coder', messages: [{ role: 'user', content: 'Hello.' }] });
  const { files, calls, ...rest } = await client.workDone('talk');
  expect([files, calls.unanswered, rest]).toEqual([{ count: 0, last: [] }, 0, { from: 1, head: 1 }]);
  await expect(client.workDone('none')).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
});
