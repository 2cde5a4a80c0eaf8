import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Prompt } from '../../src/cli/dev/prompt.ts';
import { Talk } from '../../src/cli/dev/talk.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';

const LONG = { timeout: 60_000 };
const input = z.object({ order: z.string() });
const never = new Promise<never>(() => undefined);

/** Calls the tool that the input names and repeats its result. The input `hang` never ends. */
const clerk: Agent = {
  name: 'clerk',
  system: '',
  policy: {},
  tools: [
    { name: 'ask', description: '', input },
    { name: 'refund', description: '', input, needsApproval: true, run: async () => 'paid back' },
  ],
  model: scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { content: `heard: ${last.content}` };
      if (last?.content === 'hang') return never;
      if (last?.content === 'ask' || last?.content === 'refund') {
        return { content: 'Let me see.', toolCalls: [{ name: last.content, arguments: { order: 'o-1' } }] };
      }
      return { content: `you said: ${last?.content}` };
    },
  }),
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([clerk]);
});
afterAll(() => fixture.close());

let talks = 0;

/** Starts a talk at a simulated terminal. */
function openTerminal(conversation = `dev-${(talks += 1)}`) {
  const keys = new PassThrough();
  const screen = new PassThrough();
  let shown = '';
  screen.on('data', (piece: Buffer) => void (shown += piece.toString()));
  const show = (text: string): void => void (shown += text);
  const output = { line: (text: string) => show(`${text}\n`), text: show, note: (text: string) => show(`${text}\n`) };
  const interrupted = new AbortController();
  const talk = new Talk({
    client: fixture.client,
    output,
    agent: 'clerk',
    conversation,
    interrupted: interrupted.signal,
  });
  const prompt = new Prompt({ input: keys, output: screen, onInterrupt: () => talk.interrupt() });
  const over = talk.run(prompt);
  onTestFinished(() => prompt.close());
  return {
    conversation,
    over,
    seen: () => shown,
    type: (line: string) => void keys.write(`${line}\r`),
    press: (key: string) => void keys.write(key),
    sees: async (text: string) => {
      await expect.poll(() => shown, LONG).toContain(text);
    },
  };
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

describe('dev at a terminal', () => {
  test('turnfold dev shows an answer, lists its slash commands and ends at Ctrl-D', async () => {
    const { type, press, sees, over, seen } = openTerminal();
    type('hello');
    await sees('you said: hello');
    type('/help');
    await sees('/compact');
    type('/bogus');
    await sees('unknown command /bogus. Type /help for the list of commands');
    await sees('clerk> ');
    press(CTRL_D);
    await over;
    expect(seen()).not.toContain('turnfold:');
  });

  test('turnfold dev shows a call that needs approval and asks until the user types y or n', async () => {
    const { type, sees, seen } = openTerminal();
    type('refund');
    await sees('Allow this call? y/n');
    expect(seen()).toContain('refund({"order":"o-1"})');
    type('perhaps');
    await sees('type y to allow the call or n to deny it');
    type('y');
    await sees('heard: paid back');
  });

  test('turnfold dev asks for decisions on the calls of an earlier turn that the typed message waits behind', async () => {
    const terminal = openTerminal();
    terminal.type('hang');
    await expect.poll(() => fixture.client.openTurns(terminal.conversation).catch(() => undefined), LONG).toBeDefined();
    const [hanging] = (await fixture.client.openTurns(terminal.conversation)).turns;
    await fixture.client.enqueueTurn({ conversation: terminal.conversation, agent: 'clerk', input: 'refund' });
    terminal.press(CTRL_C);
    await expect
      .poll(async () => (await fixture.client.result(terminal.conversation, hanging?.turn ?? '')).state, LONG)
      .toBe('canceled');
    terminal.type('hello');
    await terminal.sees('Allow this call? y/n');
    terminal.type('y');
    await terminal.sees('you said: hello');
  });

  test('turnfold dev denies the call if the user types n', async () => {
    const { type, sees, seen } = openTerminal();
    type('refund');
    await sees('Allow this call? y/n');
    type('n');
    await sees('heard: denied: ');
    expect(seen()).not.toContain('paid back');
  });

  test('turnfold dev asks for the result of a tool that runs outside turnfold', async () => {
    const { type, sees, seen } = openTerminal();
    type('ask');
    await sees('Result of this call?');
    expect(seen()).toContain('ask({"order":"o-1"})');
    type('blue');
    await sees('heard: blue');
  });

  test('turnfold dev ignores text that was typed before the approval question', async () => {
    const { type, sees, seen } = openTerminal();
    type('refund');
    type('y');
    await sees('Allow this call? y/n');
    expect(seen()).not.toContain('heard');
    type('n');
    await sees('heard: denied: ');
  });

  test('Ctrl-C in dev cancels the running turn, and the next message is answered', async () => {
    const { type, press, sees, conversation } = openTerminal();
    type('hang');
    await expect
      .poll(async () => (await fixture.client.conversations({ state: 'running' })).conversations, LONG)
      .toMatchObject([{ conversation }]);
    press(CTRL_C);
    await sees('canceled');
    type('still there?');
    await sees('you said: still there?');
  });

  test('Ctrl-C cancels the turn while turnfold dev asks for an approval', async () => {
    const { type, press, sees, conversation } = openTerminal();
    type('refund');
    await sees('Allow this call? y/n');
    press(CTRL_C);
    await sees('canceled');
    expect((await fixture.client.openTurns(conversation)).turns).toEqual([]);
  });

  test('a second Ctrl-C ends dev without an error, even in the middle of a turn', async () => {
    const idle = openTerminal();
    await idle.sees('clerk> ');
    idle.press(CTRL_C);
    await idle.sees('Ctrl-C again');
    idle.press(CTRL_C);
    await idle.over;
    const busy = openTerminal();
    busy.type('refund');
    await busy.sees('Allow this call? y/n');
    busy.press(CTRL_C);
    busy.press(CTRL_C);
    await busy.over;
    for (const { seen } of [idle, busy]) expect(seen()).not.toContain('turnfold:');
  });

  test('turnfold dev ends if its input ends at a question, and the next dev asks that question again', async () => {
    const first = openTerminal();
    first.type('refund');
    await first.sees('Allow this call? y/n');
    first.press(CTRL_D);
    await first.over;
    const second = openTerminal(first.conversation);
    await second.sees('an earlier turn is still open');
    await second.sees('Allow this call? y/n');
    second.type('y');
    await second.sees('heard: paid back');
    expect(first.seen()).not.toContain('turnfold:');
  });
});

test('turnfold dev with input from a pipe uses the next line as the answer to a question, and ends with its input', async () => {
  const lines = new PassThrough();
  lines.end('refund\ny\nask\ngreen\n');
  let shown = '';
  const show = (text: string): void => void (shown += `${text}\n`);
  const talk = new Talk({
    client: fixture.client,
    output: { line: show, text: (part) => void (shown += part), note: show },
    agent: 'clerk',
    conversation: 'dev-pipe',
    interrupted: new AbortController().signal,
  });
  const prompt = new Prompt({ input: lines, onInterrupt: () => talk.interrupt() });
  await talk.run(prompt);
  expect(shown).toMatch(/refund\(.*heard: paid back.*ask\(.*heard: green/s);
  prompt.close();
  if (!lines.closed) await once(lines, 'close');
});
