import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { PIXEL } from '../fakes/contents.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines, writeTemporary } from './run-turnfold.ts';

const agent: Agent = {
  name: 'talker',
  system: '',
  tools: [],
  policy: {},
  model: scriptedModel({ decide: () => ({ content: 'heard', usage: { inputTotal: 50, output: 5, outputKept: 5 } }) }),
};

const own = useOwnWorkers(agent);
const { turnfold } = own;
const enqueue = (conversation: string, ...options: string[]) =>
  turnfold('enqueue', conversation, 'hello', '--agent', 'talker', '--json', ...options);

test('turnfold enqueue accepts options for delay, deadline, priority, token limit, queue limit and behaviour in a busy conversation', async () => {
  const later = await enqueue('o1', '--turn', 't1', '--delay', '2h', '--deadline', '3h', '--max-queued-turns', '5');
  expect(readJsonLines(later.stdout)).toMatchObject([{ turn: 't1', state: 'scheduled' }]);
  const { turns } = await own.client.openTurns('o1');
  expect((turns[0]?.dueAt ?? 0) - (turns[0]?.acceptedAt ?? 0)).toBe(7_200_000);
  const capped = await enqueue('o2', '--max-turn-tokens', '1', '--on-busy', 'interrupt', '--wait', '60');
  expect(capped.stdout).toContain('token_limit');
  const noted = ['--metadata', '{"request":"r-1"}'];
  const quick = await enqueue('o3', '--priority', '1', ...noted, '--wait', '60');
  expect(readJsonLines(quick.stdout)).toMatchObject([{ state: 'completed', metadata: { request: 'r-1' } }]);
});

test.each([
  ['--on-busy', ['--on-busy', 'wait']],
  ['--delay', ['--delay', 'soon']],
  ['--deadline', ['--deadline', '0s']],
  ['--priority', ['--priority', '1', '--delay', '1h']],
  ['--max-turn-tokens', ['--max-turn-tokens', '0']],
  ['--metadata', ['--metadata', '{']],
  ['--metadata', ['--metadata', '[1]']],
])('turnfold enqueue with a wrong value of %s fails with an error that names the option', async (option, options) => {
  const refused = await enqueue('o4', ...options);
  expect(refused.code).not.toBe(0);
  expect(refused.stdout + refused.stderr).toContain(option);
});

test('turnfold redrive accepts a priority for the new turn, but not for a compaction', async () => {
  await own.client.enqueueTurn({ conversation: 'o5', agent: 'talker', turn: 't1', input: 'x', maxTurnTokens: 1 });
  expect(await own.client.result('o5', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'failed' });
  const again = await turnfold('redrive', 'o5', 't1', '--priority', '1', '--wait', '60');
  expect(again).toMatchObject({ code: 0, stdout: 'heard\n' });
  expect((await turnfold('redrive', 'o5', '--priority', '1')).stderr).toContain('--priority');
});

test('turnfold enqueue --file attaches pictures and text files to the message, in the order of the options', async () => {
  const picture = await writeTemporary('pixel.png', '');
  await writeFile(picture, Buffer.from(PIXEL, 'base64'));
  const table = await writeTemporary('orders.csv', 'order,sum\n7,12\n');
  const sent = await enqueue('o6', '--turn', 't1', '--file', picture, '--file', table, '--wait', '60');
  expect(readJsonLines(sent.stdout)).toMatchObject([{ state: 'completed' }]);
  const [first] = await own.client.log('o6');
  expect(first?.message).toEqual({
    role: 'user',
    content: 'hello',
    parts: [
      { type: 'image', mediaType: 'image/png', data: PIXEL, name: 'pixel.png' },
      { type: 'file', mediaType: 'text/csv', data: btoa('order,sum\n7,12\n'), name: 'orders.csv' },
    ],
  });
  const missing = await turnfold('enqueue', 'o6', 'x', '--agent', 'talker', '--file', '/nowhere.png');
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('/nowhere.png') as string });
});
