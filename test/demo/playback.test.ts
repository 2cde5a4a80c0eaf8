import { describe, expect, test } from 'vitest';
import { maxResultTokens, TARGET_SHARE } from '../../src/cli/demo/demo-agent.ts';
import { loadPlaybackScript } from '../../src/cli/demo/load-script.ts';
import { type Playback, playBack } from '../../src/cli/demo/playback.ts';
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
  progress: () => undefined,
  emit: () => undefined,
};

async function runTool({ tools }: Playback, name: string, input: unknown): Promise<unknown> {
  return await tools.find((tool) => tool.name === name)?.run?.(input, context);
}

const play = (...messages: Message[]): Playback => playBack({ id: 'talk', messages });

describe('the playback of a recorded conversation as turns', () => {
  test('a playback sends text before tool calls together with the calls, and the text after them as the answer', () => {
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

  test('a playback of a recorded conversation starts with the texts of the assistant before the first user message', () => {
    const { opening, turns } = play(says('Welcome.'), says('How can I help?'), asks('hi'), says('hello'));
    expect(opening).toStrictEqual([says('Welcome.'), says('How can I help?')]);
    expect(turns).toHaveLength(1);
  });

  test('a playback of a recorded conversation replaces empty texts by placeholders', () => {
    const { turns } = play(asks(''), says(''), asks('x'), says(''), says('y'));
    expect(turns.map((turn) => [turn.ask, turn.answer([])])).toStrictEqual([
      ['(empty)', '(no answer was recorded)'],
      ['x', 'y'],
    ]);
  });

  test('a playback of a conversation without a user message has no turn', () => {
    expect(play(says('Welcome.')).turns).toStrictEqual([]);
    expect(play().turns).toStrictEqual([]);
  });
});

describe('the tools of a playback answer as recorded', () => {
  const playback = play(
    asks('look'),
    calls('', ['a', 'read', '{"path": "x"}'], ['b', 'read', '{"path":"y"}'], ['c', 'list', '{}']),
    result('b', 'of y'),
    result('a', 'first of x'),
    result('c', 'no such folder', true),
    calls('', ['a', 'read', '{"path":"x"}'], ['d', 'read', 'no json']),
    result('a', 'second of x'),
  );

  test('a playback of a recorded conversation has one tool for each recorded tool name', () => {
    expect(playback.tools.map(({ name }) => name)).toStrictEqual(['read', 'list']);
  });

  test('the tool of a playback finds its result by name and arguments, without regard to white space', async () => {
    expect(await runTool(playback, 'read', { path: 'y' })).toStrictEqual({ content: 'of y', isError: false });
    expect(await runTool(playback, 'list', {})).toStrictEqual({ content: 'no such folder', isError: true });
  });

  test('the tool of a playback fails for a call without a recorded result', async () => {
    await expect(runTool(playback, 'read', { path: 'z' })).rejects.toThrow('no result was recorded');
  });
});

test('a repeated call in a playback gets the recorded results in order, and then the last one', async () => {
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

  test('the model window of a playback is at most a quarter of the tokens of its log, with clipped tool results', async () => {
    const rounds = Array.from({ length: 40 }, (_, round) => [
      calls('', [`x${round}`, 'read', '{}']),
      result(`x${round}`, 'word '.repeat(4_000)),
    ]).flat();
    const { usable } = await loadPlaybackScript(line(asks('read all'), ...rounds, says('done')), 1);
    const clipped = Math.min(4_000, maxResultTokens(usable));
    expect(usable).toBeGreaterThan(1_000);
    expect(usable).toBeLessThanOrEqual((40 * (clipped + 20)) / 4);
  });

  test('the model window of a playback is so large that system prompt and question are below the compaction target', async () => {
    const system: Message = { role: 'system', content: 'rule '.repeat(1_000) };
    const { usable } = await loadPlaybackScript(line(system, asks('word '.repeat(500)), says('ok')), 1);
    expect(usable * TARGET_SHARE).toBeGreaterThanOrEqual(1_500);
  });

  test('a conversation without a user message is refused for playback', async () => {
    for (const messages of [[], [says('Welcome.')]]) {
      await expect(loadPlaybackScript(line(...messages), 1)).rejects.toMatchObject({
        code: 'invalid_input',
        field: 'messages',
      });
    }
  });
});
