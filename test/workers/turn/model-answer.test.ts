import { expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { PreparedAgent } from '../../../src/workers/prepared-agent.ts';
import { readModelAnswer } from '../../../src/workers/turn/model-answer.ts';

const { profile } = scriptedModel({ decide: () => ({}) });
const facts = {
  systemTokens: 7,
  toolTokens: 0,
  pinTokens: 0,
  windowTokens: 32_000,
  reservedTokens: 8_192,
  upperBoundFactor: 1,
};
const prepared = {
  agent: { model: { profile } } as PreparedAgent['agent'],
  facts,
  weigh: async (message: Message) => ({ message, tokens: 1, bytes: message.content.length }),
};

it('a model’s answer becomes the outcome of its step, which the store refuses if other messages were appended during the model call', async () => {
  const toolCalls = [{ id: 'call_1', name: 'read', arguments: '{}' }];
  const raw = { type: 'message' };
  const usage = { inputTotal: 100, output: 20, outputKept: 15 };
  const read = await readModelAnswer(
    { content: '', toolCalls, raw, usage },
    { key: 'model-3', head: 41, version: 2, fingerprint: 'a1b2' },
    prepared,
  );
  const call = { id: 'c42_0', providerId: 'call_1', name: 'read', arguments: '{}' };
  const message = { role: 'assistant', content: '', toolCalls: [call], raw };
  expect(read).toEqual({
    status: 'read',
    message,
    outcome: {
      key: 'model-3',
      messages: [{ message, tokens: 1, bytes: 0 }],
      expectedHead: 41,
      opens: [{ id: 'c42_0', providerId: 'call_1' }],
      closes: [],
      usage: { inputTokens: 100, outputTokens: 20 },
      answeredVersion: 2,
      requestFacts: facts,
      anchor: { tokens: 115, version: 2, fingerprint: 'a1b2' },
    },
  });
});

it('a model’s answer without token usage gives no provider count from which later context sizes are computed', async () => {
  const read = await readModelAnswer(
    { content: 'Hi', toolCalls: [] },
    { key: 'model-1', head: 1, version: 0 },
    prepared,
  );
  expect(read).toMatchObject({ status: 'read', message: { role: 'assistant', content: 'Hi' } });
  expect(read, 'the answer still counts').toHaveProperty('outcome.answeredVersion', 0);
  expect(read).not.toHaveProperty('outcome.anchor');
  expect(read).not.toHaveProperty('outcome.usage');
});

it.each(['cut_off', 'refusal'] as const)(
  'no tool call of an incomplete model answer (%s) is run, because truncated arguments may mean something else',
  async (end) => {
    const toolCalls = [
      { id: 'call_1', name: 'remove', arguments: '{"path":"/srv"}' },
      { id: 'call_2', name: 'read', arguments: '{}' },
    ];
    const usage = { inputTotal: 100, output: 20, outputKept: 15 };
    const answer = { content: '', toolCalls, end, usage };
    const read = await readModelAnswer(answer, { key: 'model-3', head: 41, version: 2 }, prepared);
    expect(read).toMatchObject({
      status: 'read',
      outcome: {
        opens: [],
        end,
        messages: [
          { message: { role: 'assistant' } },
          { message: { role: 'tool', toolCallId: 'c42_0', isError: true } },
          { message: { role: 'tool', toolCallId: 'c42_1', isError: true } },
        ],
      },
    });
    // The provider's count does not include these tool results.
    expect(read).not.toHaveProperty('outcome.anchor');
  },
);
