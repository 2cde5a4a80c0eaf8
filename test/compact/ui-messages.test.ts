import { convertToModelMessages, type UIMessage } from 'ai';
import { describe, expect, test } from 'vitest';
import { compactMessages } from '../../src/compact.ts';
import { page } from './dialects.ts';
import { countRequest, expectPaired, listCallIds } from './requests.ts';

const WINDOW = 8_000;

const user = (id: string, text: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] });

function stepParts(step: number): UIMessage['parts'] {
  return [
    { type: 'step-start' },
    { type: 'text', text: `I read page ${step}.` },
    {
      type: 'tool-read',
      toolCallId: `call-${step}`,
      state: 'output-available',
      input: { page: step },
      output: page(step),
    },
  ];
}

/** One answer with a number of steps. */
function answer(id: string, from: number, steps: number): UIMessage {
  const parts = Array.from({ length: steps }, (_, index) => stepParts(from + index)).flat();
  return { id, role: 'assistant', parts: [...parts, { type: 'step-start' }, { type: 'text', text: 'Read.' }] };
}

describe('compactMessages with UIMessages of the AI SDK', () => {
  test('compactMessages compacts one UIMessage with 40 steps from inside, and keeps its remaining parts as the given objects', async () => {
    const messages = [user('u1', 'Read all pages.'), answer('a1', 1, 40), user('u2', 'And now?')];
    const { messages: returned, report } = await compactMessages({ messages, window: WINDOW });
    const sent = await convertToModelMessages(returned);
    expect(countRequest(sent)).toBeLessThanOrEqual(WINDOW);
    expectPaired(sent);
    expect(listCallIds(sent).calls.length).toBeGreaterThan(1);
    expect(returned.at(-1)).toBe(messages[2]);
    const rest = returned.find(({ role }) => role === 'assistant');
    expect(rest?.id).toBe('a1');
    for (const part of rest?.parts ?? []) expect(messages[1]?.parts).toContain(part);
    expect(new Set(returned.map(({ id }) => id)).size).toBe(returned.length);
    expect(report.ranges[0]).toMatchObject({ kind: 'summary', from: 1, to: 1 });
  });

  test('compactMessages keeps a loop over 60 UIMessage answers inside the window, and changes its start only at compactions', async () => {
    let messages: UIMessage[] = [];
    let state: Awaited<ReturnType<typeof compactMessages>>['state'] | undefined;
    let before: string[] = [];
    let compactions = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      messages = [...messages, user(`u${turn}`, `Read part ${turn}.`)];
      const compacted = await compactMessages({ messages, window: WINDOW, ...(state && { state }) });
      state = compacted.state;
      const sent = await convertToModelMessages(compacted.messages);
      expect(countRequest(sent)).toBeLessThanOrEqual(WINDOW);
      if (turn > 0) expectPaired(sent);
      const now = compacted.messages.map((message) => JSON.stringify(message));
      if (compacted.report.kind === 'none') expect(now.slice(0, before.length)).toStrictEqual(before);
      else compactions += 1;
      before = now;
      messages = [...messages, answer(`a${turn}`, turn * 2, 2)];
    }
    expect(compactions).toBeGreaterThan(3);
    expect(compactions).toBeLessThan(30);
  });

  test('compactMessages returns an unchanged UIMessage as the given object', async () => {
    const messages = [user('u1', 'Read.'), answer('a1', 1, 3), user('u2', 'Thanks.')];
    const { messages: returned } = await compactMessages({ messages, window: 100_000 });
    expect(returned).toBe(messages);
    const forced = await compactMessages({
      messages: [...messages, answer('a2', 4, 3)],
      force: true,
      policy: { max_tokens: 4_000, retention_window: 20 },
    });
    expect(forced.messages.filter((message) => messages.includes(message)).length).toBeGreaterThan(0);
  });

  test('compactMessages adds a missing tool result to the part of its call in a UIMessage', async () => {
    const open = { type: 'tool-read', toolCallId: 'call-1', state: 'input-available', input: { page: 1 } };
    const asked: UIMessage = { id: 'a1', role: 'assistant', parts: [open as UIMessage['parts'][number]] };
    const messages = [user('u1', 'Read.'), asked, user('u2', 'Never mind.')];
    const { messages: returned, report } = await compactMessages({ messages, window: 100_000 });
    expect(returned[1]).toMatchObject({
      id: 'a1',
      parts: [{ toolCallId: 'call-1', output: expect.stringContaining('No result') as string }],
    });
    expect(report.notes).toMatchObject([{ kind: 'repaired' }]);
    expectPaired(await convertToModelMessages(returned));
  });

  test('compactMessages keeps the form of AI SDK 4 messages with tool invocations', async () => {
    const invocation = (step: number) => ({
      type: 'tool-invocation',
      toolInvocation: { state: 'result', toolCallId: `call-${step}`, toolName: 'read', args: {}, result: page(step) },
    });
    const messages = Array.from({ length: 20 }, (_, step) => [
      { id: `u${step}`, role: 'user', content: `Read ${step}.`, parts: [{ type: 'text', text: `Read ${step}.` }] },
      {
        id: `a${step}`,
        role: 'assistant',
        content: 'Read.',
        parts: [invocation(step), { type: 'text', text: 'Read.' }],
      },
    ]).flat();
    const { messages: returned } = await compactMessages({
      messages,
      window: WINDOW,
      policy: { mask_tool_results: true },
    });
    expect(countRequest(returned.map(({ parts }) => parts))).toBeLessThanOrEqual(WINDOW);
    expect(JSON.stringify(returned)).toContain('[result masked');
    for (const message of returned)
      expect(message).toMatchObject({ id: expect.any(String) as string, parts: expect.any(Array) as unknown[] });
  });
});
