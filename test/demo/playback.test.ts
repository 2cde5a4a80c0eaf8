import { describe, expect, test } from 'vitest';
import { maxResultTokens, TARGET_SHARE } from '../../src/demo/demo-agent.ts';
import { loadPlaybackScript } from '../../src/demo/load-script.ts';
import { type Playback, playBack } from '../../src/demo/playback.ts';
import type { ToolContext } from '../../src/domain/agent.ts';
import type { Message } from '../../src/domain/message.ts';

const says = (content: string): Message => ({ role: 'assistant', content });
const asks = (content: string): Message => ({ role: 'user', content });
const result = (toolCallId: string, content: string, isError = false): Message => ({
  role: 'tool',
  toolCallId,
  content,
  ...(isError ? { isError } : {}),
});
const calls = (content: string, ...made: [id: string, name: string, json: string][]): Message => ({
  role: 'assistant',
  content,
  toolCalls: made.map(([id, name, json]) => ({ id, name, arguments: json })),
});

const context: ToolContext = {
  tenant: '_',
  conversation: 'c1',
  turn: 't1',
  idempotencyKey: 'k1',
  context: {},
  signal: new AbortController().signal,
};

async function runTool({ tools }: Playback, name: string, input: unknown): Promise<unknown> {
  return await tools.find((tool) => tool.name === name)?.run?.(input, context);
}

const play = (...messages: Message[]): Playback => playBack({ id: 'talk', messages });

describe('a recorded conversation becomes turns', () => {
  test('with the text before a round beside its calls, and the rest as the answer', () => {
    const { system, opening, turns } = play(
      { role: 'system', content: 'Be brief.' },
      asks('look'),
      says('I will.'),
      calls('Here:', ['a', 'list', '{}']),
      result('a', 'x'),
      calls('', ['b', 'read', '{}'], ['c', 'read', '{"n":1}']),
      result('c', 'z'),
      result('b', 'y'),
      says('Seen.'),
      says('All of it.'),
      asks('thanks'),
    );
    expect(system).toBe('Be brief.');
    expect(opening).toStrictEqual([]);
    expect(turns.map(({ ask }) => ask)).toStrictEqual(['look', 'thanks']);
    expect(turns[0]?.rounds.map((round) => round.map(({ name }) => name))).toStrictEqual([['list'], ['read', 'read']]);
    expect(turns[0]?.remarks).toStrictEqual(['I will.\n\nHere:', '']);
    expect(turns.map((turn) => turn.answer([]))).toStrictEqual(['Seen.\n\nAll of it.', '(no answer was recorded)']);
  });

  test('text of the assistant before the first user message becomes the opening', () => {
    const { opening, turns } = play(says('Welcome.'), says('How can I help?'), asks('hi'), says('hello'));
    expect(opening).toStrictEqual([says('Welcome.'), says('How can I help?')]);
    expect(turns).toHaveLength(1);
  });

  test('empty texts are no obstacle', () => {
    const { turns } = play(asks(''), says(''), asks('x'), says(''), says('y'));
    expect(turns.map((turn) => [turn.ask, turn.answer([])])).toStrictEqual([
      ['(empty)', '(no answer was recorded)'],
      ['x', 'y'],
    ]);
  });

  test('without a question there is no turn', () => {
    expect(play(says('Welcome.')).turns).toStrictEqual([]);
    expect(play().turns).toStrictEqual([]);
  });
});

describe('its tools answer as recorded', () => {
  const playback = play(
    asks('look'),
    calls('', ['a', 'read', '{"path": "x"}'], ['b', 'read', '{"path":"y"}'], ['c', 'list', '{}']),
    result('b', 'of y'),
    result('a', 'first of x'),
    result('c', 'no such folder', true),
    calls('', ['a', 'read', '{"path":"x"}'], ['d', 'read', 'no json']),
    result('a', 'second of x'),
  );

  test('each name is one tool', () => {
    expect(playback.tools.map(({ name }) => name)).toStrictEqual(['read', 'list']);
  });

  test('by name and arguments, white space aside', async () => {
    expect(await runTool(playback, 'read', { path: 'y' })).toStrictEqual({ content: 'of y', isError: false });
    expect(await runTool(playback, 'list', {})).toStrictEqual({ content: 'no such folder', isError: true });
  });

  test('a call without a recorded result fails', async () => {
    await expect(runTool(playback, 'read', { path: 'z' })).rejects.toThrow('no result was recorded');
  });
});

test('the same call again gets the results in their order, then the last again', async () => {
  const again = play(
    asks('poll'),
    calls('', ['a', 'poll', '{}']),
    result('a', 'pending'),
    calls('', ['b', 'poll', '{}']),
    result('b', 'done'),
  );
  const seen = [];
  for (const _ of [1, 2, 3]) seen.push(await runTool(again, 'poll', {}));
  expect(seen).toMatchObject([{ content: 'pending' }, { content: 'done' }, { content: 'done' }]);
});

describe('the window of a playback', () => {
  const line = (...messages: Message[]): string => JSON.stringify({ id: 'talk', messages });

  test('is a quarter of what gets into the log, results clipped', async () => {
    const rounds = Array.from({ length: 40 }, (_, round) => [
      calls('', [`x${round}`, 'read', '{}']),
      result(`x${round}`, 'word '.repeat(4_000)),
    ]).flat();
    const { usable } = await loadPlaybackScript(line(asks('read all'), ...rounds, says('done')), 1);
    const clipped = Math.min(4_000, maxResultTokens(usable));
    expect(usable).toBeGreaterThan(1_000);
    expect(usable).toBeLessThanOrEqual((40 * (clipped + 20)) / 4);
  });

  test('is never so small that system prompt and question alone exceed what a pass may leave', async () => {
    const system: Message = { role: 'system', content: 'rule '.repeat(1_000) };
    const { usable } = await loadPlaybackScript(line(system, asks('word '.repeat(500)), says('ok')), 1);
    expect(usable * TARGET_SHARE).toBeGreaterThanOrEqual(1_500);
  });

  test('a conversation without a question cannot be played back', async () => {
    for (const messages of [[], [says('Welcome.')]]) {
      await expect(loadPlaybackScript(line(...messages), 1)).rejects.toMatchObject({
        code: 'invalid_input',
        field: 'messages',
      });
    }
  });
});
